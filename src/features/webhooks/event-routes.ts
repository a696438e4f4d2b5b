/** `/events`: the events of an account, as a list and as a stream, whether or not an endpoint receives them. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, AgentId, EventId } from '../../domain/ids.ts'
import { spend } from '../../domain/limits.ts'
import { exampleWebhookEvent, WEBHOOK_EVENT_TYPES, type WebhookEventType } from '../../domain/webhook-event.ts'
import { type EventStreamDeps, type StreamEvent, StreamEventView, streamEvents } from '../../http/event-stream.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { oneOf } from '../../http/wire-fields.ts'
import { createLruCache } from '../../lib/collections.ts'
import type { FeatureDeps, ListDeps, RecordEvent } from '../deps.ts'
import {
  bornAt,
  deliveriesOfEvents,
  type EventRow,
  eventIdFloor,
  listEventIds,
  listEvents,
  listEventsOfAgent,
  readEvents,
  requireEvent,
  webhookBodyOf,
} from './events.ts'
import { EventView, ListedEventView, renderEvent, renderListedEvent, Trigger } from './shapes.ts'

export interface EventsDeps extends ListDeps {
  readonly recordEvent: RecordEvent
  /** Throws 429 for an account that sends too many events by request. */
  readonly pace: (accountId: AccountId) => void
}

const config = { scope: 'webhooks' } as const
const tags = ['Events']
const listSchema = {
  summary: 'List events',
  description: 'Returns the events of the last 30 days.',
  tags,
  querystring: Type.Object({
    type: Type.Optional(oneOf(WEBHOOK_EVENT_TYPES, { description: 'Only events of this type.' })),
    agent_id: Type.Optional(
      Type.Unsafe<AgentId>({
        type: 'string',
        description: 'Only events of the last 1 000 runs of this agent. Empty after the agent is deleted.',
      }),
    ),
    include: Type.Optional(oneOf(['deliveries'], { description: '`deliveries` adds the deliveries of each event.' })),
    ...PAGE_QUERY,
  }),
  response: { 200: pageSchema(ListedEventView) },
}
const triggerSchema = {
  summary: 'Trigger an event',
  description:
    'Creates a test event with sample data and sends it to every endpoint that subscribes to its type. Its `data` has `test: true`.',
  tags,
  body: Trigger,
  response: { 202: EventView },
}

export function eventsRoutes(deps: EventsDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, pace } = deps
  return async (app) => {
    app.get('/events', { config, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const { type, agent_id: agentId, include } = request.query
      const filter = agentId === undefined ? type : JSON.stringify([agentId, type])
      const binding = { key: deps.cursorKey, account: accountId, list: 'events', filter }
      const read = async (page: PageRequest<EventId>) => {
        const rows =
          agentId === undefined
            ? await listEvents(db, { accountId, type }, page)
            : await listEventsOfAgent(db, { accountId, agentId, type }, page)
        if (include === undefined) return rows.map(renderEvent)
        const deliveriesOf = await deliveriesOfEvents(
          db,
          accountId,
          rows.map(({ id }) => id),
        )
        return rows.map((row) => renderListedEvent(row, deliveriesOf(row.id)))
      }
      return listPage({ query: request.query, binding, read, position: byId, render: (view) => view })
    })
    app.post('/events/trigger', { config, schema: triggerSchema }, async (request, reply) => {
      const { accountId } = callerOf(request)
      const { type } = request.body
      pace(accountId)
      return reply.code(202).send(renderEvent(await trigger(deps, accountId, type)))
    })
  }
}

/** IDs of no event and no endpoint: a triggered `webhook.test` goes to all endpoints. */
const EXAMPLE = { eventId: 'evt_00000000exampleexample', webhookId: 'whk_00000000exampleexample' }

async function trigger(
  { db, now, recordEvent }: EventsDeps,
  accountId: AccountId,
  type: WebhookEventType,
): Promise<EventRow> {
  const createdAt = now()
  const example = exampleWebhookEvent(type, { ...EXAMPLE, accountId, createdAt })
  const data = { ...example.data, test: true }
  return db.transaction().execute(async (inside) => {
    const id = await recordEvent(inside, { accountId, type, data, createdAt })
    return requireEvent(inside, { accountId, id })
  })
}

const PER_MINUTE = { limit: 600, windowMs: 60_000, cost: 1 }
const MAX_ACCOUNTS = 10_000

/** @param clock Monotonic or Unix milliseconds. @returns A function that throws 429 beyond the limit. */
export function createPace(clock: () => number): (accountId: AccountId) => void {
  const rested = createLruCache<number>(MAX_ACCOUNTS)
  return (accountId) => {
    const { allowed, restedAt, retryAfterMs } = spend(PER_MINUTE, rested.get(accountId), clock())
    rested.set(accountId, restedAt)
    if (allowed) return
    const message = `An account can send at most ${PER_MINUTE.limit} events a minute by request; try again in ${Math.ceil(retryAfterMs / 1_000)} s.`
    throw new GatewayError('rate_limit_exceeded', message, { retryAfterMs })
  }
}

/*
 * `GET /events/stream`: an account's events as they happen. Event IDs sort by creation, but events are committed later
 * and in another order: each read goes some seconds back and skips what was found before.
 */

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
