/** `/webhooks`: endpoints, their deliveries, and redelivery. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, DeliveryId, WebhookId } from '../../domain/ids.ts'
import { webhookTestData } from '../../domain/webhook-event.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { requesterOf } from '../../http/request-origin.ts'
import { withoutBody } from '../../http/validation.ts'
import { idParams } from '../../http/wire-fields.ts'
import { parseIsoTime } from '../../lib/time.ts'
import {
  countFailed,
  type DeliveryReference,
  findDeliveryOf,
  listDeliveries,
  redeliver,
  redeliverFailed,
  requireDelivery,
  webhookActivity,
} from './deliveries.ts'
import {
  assertEnabled,
  changeWebhook,
  createWebhook,
  listWebhooks,
  removeWebhook,
  requireWebhook,
  rotateSecret,
  type WebhooksDeps,
} from './endpoints.ts'
import { requireEvent, webhookEventOf } from './events.ts'
import {
  CreatedWebhookView,
  DeliveryQuery,
  DeliveryView,
  DeliveryWithPayloadView,
  MAX_OVERLAP_SECONDS,
  RedeliverAll,
  RedeliveredView,
  Rotation,
  renderDelivery,
  renderWebhook,
  renderWebhookWithActivity,
  WebhookCreate,
  WebhookPatch,
  WebhookView,
  WebhookWithActivityView,
  WebhookWithSecretView,
} from './shapes.ts'

const config = { scope: 'webhooks' } as const
const tags = ['Webhooks']
const params = idParams<WebhookId>()
const createSchema = {
  summary: 'Create a webhook endpoint',
  description:
    'Creates an endpoint and sends it a `webhook.test` event, whatever `events` contains. Returns the signing secret in `secret`, only this once. `slack` and `email` endpoints receive a message for people instead.',
  tags,
  body: WebhookCreate,
  response: { 201: CreatedWebhookView },
}
const listSchema = {
  summary: 'List webhook endpoints',
  description: 'Returns the endpoints of the account, including disabled ones.',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(WebhookWithActivityView) },
}
const oneSchema = { summary: 'Get a webhook endpoint', tags, params, response: { 200: WebhookWithActivityView } }
const changeSchema = {
  summary: 'Change a webhook endpoint',
  description: 'Changes only the fields that are sent. Pending deliveries go to the new address.',
  tags,
  params,
  body: WebhookPatch,
  response: { 200: WebhookView },
}
const removeSchema = {
  summary: 'Delete a webhook endpoint',
  description: 'Deletes the endpoint and its deliveries. Pending deliveries are not sent.',
  tags,
  params,
  response: { 204: Type.Null() },
}
const rotateSchema = {
  summary: 'Rotate the secret of a webhook endpoint',
  description: 'Returns the new secret in `secret`, only this once. The old secret also signs for 24 hours by default.',
  tags,
  params,
  body: Rotation,
  response: { 200: WebhookWithSecretView },
}

export function webhooksRoutes(deps: WebhooksDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf } = deps
  const requester = (request: FastifyRequest) => requesterOf(request, callerOf(request))
  return async (app) => {
    app.post('/webhooks', { config, schema: createSchema }, async (request, reply) => {
      const { row, secret } = await createWebhook(deps, requester(request), request.body)
      return reply.code(201).send({ ...renderWebhook(row, now()), ...(row.kind === 'webhook' && { secret }) })
    })
    app.get('/webhooks', { config, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding = { key: deps.cursorKey, account: accountId, list: 'webhooks' }
      const read = async (page: PageRequest<WebhookId>) => {
        const rows = await listWebhooks(db, accountId, page)
        const activityOf = await webhookActivity(db, { accountId, webhookIds: rows.map(({ id }) => id), now: now() })
        return rows.map((row) => renderWebhookWithActivity(row, activityOf(row.id), now()))
      }
      return listPage({ query: request.query, binding, read, position: byId, render: (view) => view })
    })
    app.get('/webhooks/:id', { config, schema: oneSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const row = await requireWebhook(db, { accountId, id: request.params.id })
      const activityOf = await webhookActivity(db, { accountId, webhookIds: [row.id], now: now() })
      return renderWebhookWithActivity(row, activityOf(row.id), now())
    })
    app.patch('/webhooks/:id', { config, schema: changeSchema }, async (request) => {
      const row = await changeWebhook(deps, requester(request), { id: request.params.id, body: request.body })
      return renderWebhook(row, now())
    })
    app.delete('/webhooks/:id', { config, schema: removeSchema }, async (request, reply) => {
      await removeWebhook(deps, requester(request), request.params.id)
      return reply.code(204).send(null)
    })
    const rotation = { config, schema: rotateSchema, preValidation: withoutBody }
    app.post('/webhooks/:id/rotate_secret', rotation, async (request) => {
      const { overlap = MAX_OVERLAP_SECONDS } = request.body
      const { row, secret } = await rotateSecret(deps, requester(request), { id: request.params.id, overlap })
      return { ...renderWebhook(row, now()), secret }
    })
  }
}

interface DeliveryDeps extends WebhooksDeps {
  /** Throws 429 for an account that sends too many events by request. */
  readonly pace: (accountId: AccountId) => void
}

const deliveryParams = Type.Object({
  id: Type.Unsafe<WebhookId>({ type: 'string' }),
  delivery_id: Type.Unsafe<DeliveryId>({ type: 'string' }),
})
const testSchema = {
  summary: 'Send a test event',
  description:
    'Sends a `webhook.test` event to this endpoint only, whatever `events` contains. Returns 409 while the endpoint is disabled.',
  tags,
  params,
  response: { 202: DeliveryView },
}
const listDeliveriesSchema = {
  summary: 'List deliveries',
  description: 'Returns the deliveries of the last 30 days to an endpoint, with the outcome of each attempt.',
  tags,
  params,
  querystring: Type.Object({ ...DeliveryQuery, ...PAGE_QUERY }),
  response: { 200: pageSchema(DeliveryView) },
}
const deliverySchema = {
  summary: 'Get a delivery',
  description: 'Returns a delivery with its body.',
  tags,
  params: deliveryParams,
  response: { 200: DeliveryWithPayloadView },
}
const redeliverSchema = {
  summary: 'Resend a delivery',
  description:
    'Sends the same event with the same `event_id` and a new series of attempts. Returns 409 while the delivery is pending.',
  tags,
  params: deliveryParams,
  response: { 202: DeliveryView },
}
const redeliverAllSchema = {
  summary: 'Resend all failed deliveries',
  description:
    'Resends the deliveries that have failed since a time, oldest first, at most 10 000 in one call. `dry_run` only counts them.',
  tags,
  params,
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
      return reply.code(202).send(renderDelivery(await requireDelivery(db, { ...reference, id })))
    })
    const one = '/webhooks/:id/deliveries/:delivery_id/redeliver'
    app.post(one, { config, schema: redeliverSchema }, async (request, reply) => {
      const reference = referenceOf(deps, request, request.params)
      await assertEnabled(db, { accountId: reference.accountId, id: reference.webhookId })
      pace(reference.accountId)
      await redeliver(deps, reference)
      return reply.code(202).send(renderDelivery(await requireDelivery(db, reference)))
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
  app.get('/webhooks/:id/deliveries', { config, schema: listDeliveriesSchema }, async (request) => {
    const { accountId } = callerOf(request)
    const { id: webhookId } = request.params
    const { status } = request.query
    await requireWebhook(db, { accountId, id: webhookId })
    const filter = JSON.stringify([webhookId, status])
    const binding = { key: deps.cursorKey, account: accountId, list: 'webhooks/deliveries', filter }
    const read = (page: PageRequest<DeliveryId>) => listDeliveries(db, { accountId, webhookId, status }, page)
    return listPage({ query: request.query, binding, read, position: byId, render: renderDelivery })
  })
  app.get('/webhooks/:id/deliveries/:delivery_id', { config, schema: deliverySchema }, async (request) => {
    const reference = referenceOf(deps, request, request.params)
    const delivery = await requireDelivery(db, reference)
    const event = await requireEvent(db, { accountId: reference.accountId, id: delivery.event_id })
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
