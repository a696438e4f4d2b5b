/** What was sent to an endpoint, and sending it again. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, DeliveryId, WebhookId } from '../../domain/ids.ts'
import { webhookTestData } from '../../domain/webhook-example.ts'
import { PAGE_QUERY, type PageBinding, pageSchema, readPageRequest, renderPage } from '../../http/page.ts'
import { parseIsoTime } from '../../lib/iso-time.ts'
import { type DeliveryReference, findDelivery, findDeliveryOf, findEventOf, listDeliveries } from './deliveries.ts'
import { webhookEventOf } from './events.ts'
import { assertEnabled, unknownWebhook, type WebhooksDeps } from './manage.ts'
import { findWebhook } from './queries.ts'
import { countFailed, redeliver, redeliverFailed, unknownDelivery } from './redeliver.ts'
import {
  DeliveryQuery,
  DeliveryView,
  DeliveryWithPayloadView,
  RedeliverAll,
  RedeliveredView,
  renderDelivery,
} from './shapes.ts'

export interface DeliveryDeps extends WebhooksDeps {
  /** Throws 429 for who has too much sent by hand. */
  readonly pace: (accountId: AccountId) => void
}

const config = { scope: 'webhooks' } as const
const tags = ['Webhooks']
const webhookParams = Type.Object({ id: Type.Unsafe<WebhookId>({ type: 'string' }) })
const deliveryParams = Type.Object({
  id: Type.Unsafe<WebhookId>({ type: 'string' }),
  delivery_id: Type.Unsafe<DeliveryId>({ type: 'string' }),
})
const testSchema = {
  summary: 'Send a test event',
  description: 'A `webhook.test` for this endpoint alone, whatever `events` says. 409 while it is disabled.',
  tags,
  params: webhookParams,
  response: { 202: DeliveryView },
}
const listSchema = {
  summary: 'List deliveries',
  description: 'What was sent to an endpoint in the last 30 days, and what came of each attempt.',
  tags,
  params: webhookParams,
  querystring: Type.Object({ ...DeliveryQuery, ...PAGE_QUERY }),
  response: { 200: pageSchema(DeliveryView) },
}
const oneSchema = {
  summary: 'Get a delivery',
  description: 'With the body that is sent.',
  tags,
  params: deliveryParams,
  response: { 200: DeliveryWithPayloadView },
}
const redeliverSchema = {
  summary: 'Send a delivery again',
  description: 'The same event with the same `event_id`, with all attempts anew. 409 while it is pending.',
  tags,
  params: deliveryParams,
  response: { 202: DeliveryView },
}
const redeliverAllSchema = {
  summary: 'Send all failed deliveries again',
  description:
    'Those that have failed since a time, the oldest first, at most 10 000 in one call. With `dry_run` it only says how many there are.',
  tags,
  params: webhookParams,
  body: RedeliverAll,
  response: { 202: RedeliveredView },
}

export function deliveryRoutes(deps: DeliveryDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, pace } = deps
  return async (app) => {
    addLogRoutes(app, deps)
    app.post('/webhooks/:id/test', { config, schema: testSchema }, async (request, reply) => {
      const reference = { accountId: callerOf(request).accountId, webhookId: request.params.id }
      pace(reference.accountId)
      const id = await sendTest(deps, reference)
      return reply.code(202).send(renderDelivery(await deliveryOrThrow(deps, { ...reference, id })))
    })
    const one = '/webhooks/:id/deliveries/:delivery_id/redeliver'
    app.post(one, { config, schema: redeliverSchema }, async (request, reply) => {
      const reference = referenceOf(deps, request, request.params)
      await assertEnabled(db, { accountId: reference.accountId, id: reference.webhookId })
      pace(reference.accountId)
      await redeliver(deps, reference)
      return reply.code(202).send(renderDelivery(await deliveryOrThrow(deps, reference)))
    })
    app.post('/webhooks/:id/redeliver', { config, schema: redeliverAllSchema }, async (request, reply) => {
      const reference = { accountId: callerOf(request).accountId, webhookId: request.params.id }
      await assertEnabled(db, { accountId: reference.accountId, id: reference.webhookId })
      const since = parseSince(request.body.failed_since)
      const send = request.body.dry_run === true ? countFailed : redeliverFailed
      return reply.code(202).send({ redelivered: await send(deps, reference, since) })
    })
  }
}

type TypedApp = Parameters<FastifyPluginAsyncTypebox>[0]

function addLogRoutes(app: TypedApp, deps: DeliveryDeps): void {
  const { db, callerOf } = deps
  app.get('/webhooks/:id/deliveries', { config, schema: listSchema }, async (request) => {
    const { accountId } = callerOf(request)
    const { id: webhookId } = request.params
    const { status } = request.query
    if ((await findWebhook(db, { accountId, id: webhookId })) === undefined) throw unknownWebhook()
    const binding: PageBinding = {
      key: deps.cursorKey,
      account: accountId,
      list: 'webhooks/deliveries',
      filter: JSON.stringify([webhookId, status]),
    }
    const page = readPageRequest(request.query, binding)
    const after = page.after as DeliveryId | undefined // a cursor is signed: it is what we gave
    const asked = { order: page.order, limit: page.limit + 1, after }
    const rows = await listDeliveries(db, { accountId, webhookId, status }, asked)
    return renderPage(rows, { request: page, binding }, { position: ({ id }) => id, render: renderDelivery })
  })
  app.get('/webhooks/:id/deliveries/:delivery_id', { config, schema: oneSchema }, async (request) => {
    const reference = referenceOf(deps, request, request.params)
    const [delivery, event] = await Promise.all([deliveryOrThrow(deps, reference), findEventOf(db, reference)])
    if (event === undefined) throw unknownDelivery()
    return { ...renderDelivery(delivery), payload: webhookEventOf(event) }
  })
}

function referenceOf(
  { callerOf }: DeliveryDeps,
  request: FastifyRequest,
  params: { readonly id: WebhookId; readonly delivery_id: DeliveryId },
): DeliveryReference {
  return { accountId: callerOf(request).accountId, webhookId: params.id, id: params.delivery_id }
}

async function deliveryOrThrow({ db }: DeliveryDeps, reference: DeliveryReference) {
  const delivery = await findDelivery(db, reference)
  if (delivery === undefined) throw unknownDelivery()
  return delivery
}

async function sendTest(
  { db, recordEvent }: DeliveryDeps,
  { accountId, webhookId }: Omit<DeliveryReference, 'id'>,
): Promise<DeliveryId> {
  return db.transaction().execute(async (inside) => {
    await assertEnabled(inside, { accountId, id: webhookId })
    const data = webhookTestData(webhookId)
    const eventId = await recordEvent(inside, { accountId, type: 'webhook.test', data, only: webhookId })
    return findDeliveryOf(inside, { accountId, webhookId, eventId })
  })
}

function parseSince(text: string): number {
  const time = parseIsoTime(text)
  if (time !== undefined) return time
  const message = "'failed_since' must be an ISO 8601 time, such as 2026-01-31T00:00:00Z."
  throw new GatewayError('invalid_value', message, { param: 'failed_since' })
}
