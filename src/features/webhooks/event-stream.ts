/**
 * `GET /events/stream`: an account's events as they happen. Event IDs sort by creation, but events are committed later and in
 * another order: each read goes some seconds back and skips what was found before.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, EventId } from '../../domain/ids.ts'
import type { Authenticate } from '../../http/caller.ts'
import { type HttpConnection, openConnection } from '../../http/connection.ts'
import type { EventStream, EventStreams } from '../../http/event-stream.ts'
import { type Log, logError } from '../../telemetry/log.ts'
import type { FeatureDeps } from '../deps.ts'
import { bornAt, type EventRow, eventIdFloor, listEventIds, readEvents, webhookBodyOf } from './events.ts'

export interface EventStreamDeps extends Pick<FeatureDeps, 'db' | 'now' | 'callerOf'> {
  readonly listeners: EventStreams
  /** Asked again all the time: who is not let in any more hears nothing more. */
  readonly authenticate: Authenticate
  readonly log: Log
  /** Between two looks into the database; a second unless set. */
  readonly lookEveryMs?: number
}

const LOOK_EVERY_MS = 1_000
/** Asked of clients that lose the connection. */
const RECONNECT_AFTER_MS = 2_000
const SCOPE = 'webhooks'
/** A server that stops has nothing to wait for when the stream is over. */
const HEAD = { connection: 'close' }

const schema = {
  summary: 'Stream events',
  description:
    'Sends events as they are recorded, as an event stream: `id` is the ID of the event, `event` its type, `data` the body that endpoints receive. Comments keep an idle stream open. `Last-Event-ID` resumes after that event; events of the seconds before it may be repeated, so compare `event_id`.',
  tags: ['Events'],
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Type.String({ pattern: '^(?:evt_[0-9A-Za-z]{22})?$', description: 'ID of the last event received.' }),
    ),
  }),
  response: {
    200: {
      description: 'Events.',
      content: { 'text/event-stream': { schema: Type.String() } },
    },
  },
}

export function eventStreamRoute(deps: EventStreamDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, listeners, lookEveryMs = LOOK_EVERY_MS } = deps
  return async (app) => {
    app.addHook('preClose', async () => listeners.endAll())
    app.get('/events/stream', { config: { scope: SCOPE }, schema, exposeHeadRoute: false }, async (request, reply) => {
      const { accountId } = callerOf(request)
      const last = lastEventIdOf(request)
      const listener = listeners.open(accountId)
      const client = openConnection(reply)
      client.onLeave(listener.end)
      try {
        const read = createEventReader({ db, accountId, now, last })
        await follow({ read, client, listener, lookEveryMs, isAllowed: () => isAllowed(deps, request) })
      } catch (error) {
        if (!client.streaming()) throw error
        logError(deps.log, GatewayError.from(error), request.id)
      } finally {
        listener.close()
        if (client.streaming() && !client.over()) client.endStream()
        client.release()
      }
      return reply
    })
  }
}

interface Following {
  readonly read: EventReader
  readonly client: HttpConnection
  readonly listener: EventStream
  readonly lookEveryMs: number
  readonly isAllowed: () => Promise<boolean>
}

async function follow({ read, client, listener: { signal }, lookEveryMs, isAllowed }: Following): Promise<void> {
  client.expectStream(() => HEAD)
  await client.write(`retry: ${RECONNECT_AFTER_MS}\n\n`)
  while (!client.over() && !signal.aborted) {
    const events = await read().catch(noneFromDatabase)
    if (events.length > 0) await client.write(events.map(renderBlock).join(''))
    else await pause(lookEveryMs, undefined, { signal }).catch(() => undefined)
    if (!(await isAllowed())) return
  }
}

/** A database that is away comes back; what happened meanwhile is told then. */
function noneFromDatabase(error: unknown): readonly EventRow[] {
  if (GatewayError.from(error).code === 'database_unavailable') return []
  throw error
}

function renderBlock(event: EventRow): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${webhookBodyOf(event)}\n\n`
}

async function isAllowed({ authenticate }: EventStreamDeps, request: FastifyRequest): Promise<boolean> {
  try {
    const { accountId, scopes } = await authenticate(request.headers.authorization, request.ip)
    return scopes.has(SCOPE) && accountId === request.caller?.accountId
  } catch (error) {
    return GatewayError.from(error).retryable
  }
}

function lastEventIdOf({ headers }: FastifyRequest): EventId | undefined {
  const value = headers['last-event-id']
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string' && isEventId(value)) return value
  const message = 'Last-Event-ID must be the id of an event: evt_ and 22 letters and digits.'
  throw new GatewayError('invalid_header', message, { param: 'Last-Event-ID' })
}

interface EventReaderInput {
  readonly db: Kysely<Database>
  readonly accountId: AccountId
  /** Unix milliseconds. */
  readonly now: () => number
  /**
   * The last one that the reader has. What was born in the seconds before it is found once more, since a part of it may
   * have been committed later. Undefined: from now on.
   */
  readonly last: EventId | undefined
}

/** The next events, at most `EVENTS_AT_ONCE`, the oldest first; none: there are no others for now. */
type EventReader = () => Promise<readonly EventRow[]>

export const EVENTS_AT_ONCE = 100
/** Longer than any of our transactions takes, and than clocks of machines differ. */
export const LOOK_BACK_MS = 10_000
/** Where more were born in that time, it is shorter. */
const MAX_REMEMBERED = 10_000

export function createEventReader({ db, accountId, now, last }: EventReaderInput): EventReader {
  let after = last === undefined ? eventIdFloor(now()) : eventIdFloor(bornAt(last) - LOOK_BACK_MS)
  const found = new Set<EventId>(last === undefined ? [] : [last])
  return async () => {
    const settled = eventIdFloor(now() - LOOK_BACK_MS)
    const ids = await listEventIds(db, accountId, { after, limit: found.size + EVENTS_AT_ONCE })
    const fresh = ids.filter((id) => !found.has(id)).slice(0, EVENTS_AT_ONCE)
    const rows = fresh.length === 0 ? [] : await readEvents(db, accountId, fresh)
    for (const id of fresh) found.add(id)
    // Nothing but what is found comes before the newest of these: `ids` are all that there are, in their order.
    for (const id of ids) {
      if (!found.has(id) || (id >= settled && found.size <= MAX_REMEMBERED)) break
      after = id
      found.delete(id)
    }
    return rows
  }
}

/** The form of an id. */
export function isEventId(text: string): text is EventId {
  return /^evt_[0-9A-Za-z]{22}$/.test(text)
}
