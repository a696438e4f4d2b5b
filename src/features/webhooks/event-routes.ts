/** `/events`: the events of an account, whether or not an endpoint receives them. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, AgentId, EventId } from '../../domain/ids.ts'
import { spend } from '../../domain/limits.ts'
import { exampleWebhookEvent, WEBHOOK_EVENT_TYPES, type WebhookEventType } from '../../domain/webhook-event.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { oneOf } from '../../http/wire-fields.ts'
import { createLruCache } from '../../lib/collections.ts'
import type { ListDeps, RecordEvent } from '../deps.ts'
import { deliveriesOfEvents, type EventRow, listEvents, listEventsOfAgent, requireEvent } from './events.ts'
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
