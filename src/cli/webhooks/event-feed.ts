/** Receives an account's events across reconnects, without gaps. It does not know how events are used. */
import { isRecord, parseJson, textOf } from '../../lib/json.ts'
import type { Client } from '../remote/client.ts'
import { readStream, type StreamWatcher } from '../remote/event-stream.ts'

export interface FeedEvent {
  readonly id: string
  readonly type: string
  /** Body of the webhook, unchanged. */
  readonly body: string
}

export interface Feed extends StreamWatcher {
  readonly client: Client
  /** The next event is read when this resolves. */
  readonly onEvent: (event: FeedEvent) => Promise<void>
}

/** IDs of recent events, which a server may repeat after a reconnect. */
const REMEMBERED_IDS = 20_000

/** Sorts before every ID of an event: the starting position of an account without events. */
const BEFORE_ALL = `evt_${'0'.repeat(22)}`

interface Position {
  lastId: string
  /** The newest event before the start; it and older ones are skipped. */
  readonly firstId: string
  readonly known: Set<string>
}

/** Resolves when `signal` aborts. Rejects when the first connection fails, or the server rejects a later one. */
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

/** Starts after the newest event, so that no event is missed even if the first connection is lost before any arrives. */
async function startingPosition(client: Client): Promise<Position> {
  const page = await client.get('/events?limit=1')
  const events: readonly unknown[] = isRecord(page) && Array.isArray(page['data']) ? page['data'] : []
  const [newest] = events
  const firstId = (isRecord(newest) ? idOf(newest['id']) : undefined) ?? BEFORE_ALL
  return { lastId: firstId, firstId, known: new Set() }
}

/** Returns an ID that fits into a header. */
function idOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value) ? value : undefined
}

async function take({ onEvent }: Feed, position: Position, body: string): Promise<undefined> {
  const event = parseJson(body)
  const id = isRecord(event) ? idOf(event['event_id']) : undefined
  if (!isRecord(event) || id === undefined) return
  // an event that was committed late has an older ID than the events before it
  if (id > position.lastId) position.lastId = id
  if (id <= position.firstId || position.known.has(id)) return
  position.known.add(id)
  const [oldest] = position.known
  if (position.known.size > REMEMBERED_IDS && oldest !== undefined) position.known.delete(oldest)
  await onEvent({ id, type: textOf(event['type']), body })
}
