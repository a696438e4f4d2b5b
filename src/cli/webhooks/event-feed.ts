/**
 * An account's events as they happen, over one connection after another: what is recorded while there is none comes with
 * the next one. It knows nothing of what becomes of an event.
 */
import { isRecord, parseJson, textOf } from '../../lib/json.ts'
import type { Client } from '../remote/client.ts'
import { readStream, type StreamWatcher } from '../remote/event-stream.ts'

export interface FeedEvent {
  readonly id: string
  readonly type: string
  /** Of a webhook, byte for byte. */
  readonly body: string
}

export interface Feed extends StreamWatcher {
  readonly client: Client
  /** The next event is read when this resolves. */
  readonly onEvent: (event: FeedEvent) => Promise<void>
}

/** IDs of recent events, which a server may repeat after a reconnect. */
const REMEMBERED_IDS = 20_000

/** Ids sort by time: where there are no events yet, all of them come after this one. */
const BEFORE_ALL = `evt_${'0'.repeat(22)}`

interface Position {
  lastId: string
  /** Up to and with it everything had happened before. */
  readonly firstId: string
  readonly known: Set<string>
}

/** Resolves when `signal` aborts. Rejects when the first connection cannot be made, or the server refuses a later one. */
export async function followEvents(feed: Feed): Promise<void> {
  try {
    const position = await startingPosition(feed.client)
    await readStream({
      ...feed,
      path: '/events/stream',
      lastEventId: () => position.lastId,
      onFrame: async ({ data }) => take(feed, position, data),
    })
  } catch (error) {
    if (!feed.signal.aborted) throw error
  }
}

/**
 * What happened before is over, and what happens from now on is heard through every connection, also if the first one is
 * lost before anything came. A server that goes on sends again what was born shortly before: ids sort by time.
 */
async function startingPosition(client: Client): Promise<Position> {
  const page = await client.get('/events?limit=1')
  const events: readonly unknown[] = isRecord(page) && Array.isArray(page['data']) ? page['data'] : []
  const [newest] = events
  const firstId = (isRecord(newest) ? idOf(newest['id']) : undefined) ?? BEFORE_ALL
  return { lastId: firstId, firstId, known: new Set() }
}

/** What a header can carry. */
function idOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value) ? value : undefined
}

async function take({ onEvent }: Feed, position: Position, body: string): Promise<undefined> {
  const event = parseJson(body)
  const id = isRecord(event) ? idOf(event['event_id']) : undefined
  if (!isRecord(event) || id === undefined) return
  // one that was committed late is older than what came before it
  if (id > position.lastId) position.lastId = id
  if (id <= position.firstId || position.known.has(id)) return
  position.known.add(id)
  const [oldest] = position.known
  if (position.known.size > REMEMBERED_IDS && oldest !== undefined) position.known.delete(oldest)
  await onEvent({ id, type: textOf(event['type']), body })
}
