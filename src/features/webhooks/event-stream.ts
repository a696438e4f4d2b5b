/**
 * `GET /events/stream`: an account's events as they happen. Event IDs sort by creation, but events are committed later and in
 * another order: each read goes some seconds back and skips what was found before.
 */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, EventId } from '../../domain/ids.ts'
import { type EventStreamDeps, type StreamEvent, StreamEventView, streamEvents } from '../../http/event-stream.ts'
import type { FeatureDeps } from '../deps.ts'
import { bornAt, type EventRow, eventIdFloor, listEventIds, readEvents, webhookBodyOf } from './events.ts'

interface Deps extends EventStreamDeps, Pick<FeatureDeps, 'db' | 'now' | 'callerOf'> {
  /** Default: one second. */
  readonly pollIntervalMs?: number
}

const POLL_INTERVAL_MS = 1_000
const SCOPE = 'webhooks'

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
  response: { 200: { description: 'Events.', content: { 'text/event-stream': { schema: StreamEventView } } } },
}

export function eventStreamRoute(deps: Deps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, listeners, pollIntervalMs = POLL_INTERVAL_MS } = deps
  return async (app) => {
    app.addHook('preClose', async () => listeners.endAll())
    app.get('/events/stream', { config: { scope: SCOPE }, schema, exposeHeadRoute: false }, async (request, reply) => {
      const { accountId } = callerOf(request)
      const next = createEventReader({ db, accountId, now, last: lastEventIdOf(request) })
      const source = { read: async () => (await next()).map(streamEventOf) }
      return streamEvents(request, reply, { ...deps, accountId, source, pollIntervalMs, scope: SCOPE })
    })
  }
}

function streamEventOf(event: EventRow): StreamEvent {
  return { id: event.id, event: event.type, data: webhookBodyOf(event) }
}

function lastEventIdOf({ headers }: FastifyRequest): EventId | undefined {
  const value = headers['last-event-id']
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string' && isEventId(value)) return value
  const message = 'Last-Event-ID must be the ID of an event: evt_ and 22 letters and digits.'
  throw new GatewayError('invalid_header', message, { param: 'Last-Event-ID' })
}

interface EventReaderInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly accountId: AccountId
  /**
   * The last event that the client received. Events created in the `LOOK_BACK_MS` before it are read again, because some
   * may have been committed after it. Undefined: from now on.
   */
  readonly last: EventId | undefined
}

/** Reads the next events, at most `EVENTS_AT_ONCE`, the oldest first; empty when there are none for now. */
type EventReader = () => Promise<readonly EventRow[]>

export const EVENTS_AT_ONCE = 100
/** Exceeds the duration of our transactions and the clock difference between machines. */
export const LOOK_BACK_MS = 10_000
/** With more events in that time, the look-back is shorter. */
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
    // `ids` has all events in order, so everything up to an event that was returned has been returned
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
