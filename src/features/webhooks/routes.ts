/** `/webhooks`: where an account's events are posted to. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { WebhookId } from '../../domain/ids.ts'
import { auditOf } from '../../http/audit-origin.ts'
import { PAGE_QUERY, type PageBinding, pageSchema, readPageRequest, renderPage } from '../../http/page.ts'
import { webhookActivity } from './activity.ts'
import {
  type Asker,
  changeWebhook,
  createWebhook,
  removeWebhook,
  rotateSecret,
  unknownWebhook,
  type WebhooksDeps,
} from './manage.ts'
import { findWebhook, listWebhooks } from './queries.ts'
import {
  MAX_OVERLAP_SECONDS,
  Rotation,
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
const params = Type.Object({ id: Type.Unsafe<WebhookId>({ type: 'string' }) })
const createSchema = {
  summary: 'Create a webhook endpoint',
  description:
    'Answers at once; a `webhook.test` event is on its way, whatever `events` says. The secret that signs is in `secret`, and shown this once.',
  tags,
  body: WebhookCreate,
  response: { 201: WebhookWithSecretView },
}
const listSchema = {
  summary: 'List webhook endpoints',
  description: 'All of the account, disabled ones included.',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(WebhookWithActivityView) },
}
const oneSchema = { summary: 'Get a webhook endpoint', tags, params, response: { 200: WebhookWithActivityView } }
const changeSchema = {
  summary: 'Change a webhook endpoint',
  description: 'Only the fields that are sent. What is on its way already goes to the new address.',
  tags,
  params,
  body: WebhookPatch,
  response: { 200: WebhookView },
}
const removeSchema = {
  summary: 'Delete a webhook endpoint',
  description: 'With its deliveries; those that are pending are never sent.',
  tags,
  params,
  response: { 204: Type.Null() },
}
const rotateSchema = {
  summary: 'Rotate the secret of a webhook endpoint',
  description:
    'The new secret is in `secret`, and shown this once. The old one signs as well for 24 hours unless said.',
  tags,
  params,
  body: Rotation,
  response: { 200: WebhookWithSecretView },
}

export function webhooksRoutes(deps: WebhooksDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf } = deps
  const askerOf = (request: FastifyRequest): Asker => {
    const caller = callerOf(request)
    return { caller, audited: auditOf(request, caller) }
  }
  return async (app) => {
    app.post('/webhooks', { config, schema: createSchema }, async (request, reply) => {
      const { row, secret } = await createWebhook(deps, askerOf(request), request.body)
      return reply.code(201).send({ ...renderWebhook(row, now()), secret })
    })
    app.get('/webhooks', { config, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding: PageBinding = { key: deps.cursorKey, account: accountId, list: 'webhooks' }
      const page = readPageRequest(request.query, binding)
      const after = page.after as WebhookId | undefined // a cursor is signed: it is what we gave
      const rows = await listWebhooks(db, accountId, { order: page.order, limit: page.limit + 1, after })
      const activityOf = await webhookActivity(db, { accountId, webhookIds: rows.map(({ id }) => id), now: now() })
      const render = (row: (typeof rows)[number]) => renderWebhookWithActivity(row, activityOf(row.id), now())
      return renderPage(rows, { request: page, binding }, { position: ({ id }) => id, render })
    })
    app.get('/webhooks/:id', { config, schema: oneSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const row = await findWebhook(db, { accountId, id: request.params.id })
      if (row === undefined) throw unknownWebhook()
      const activityOf = await webhookActivity(db, { accountId, webhookIds: [row.id], now: now() })
      return renderWebhookWithActivity(row, activityOf(row.id), now())
    })
    app.patch('/webhooks/:id', { config, schema: changeSchema }, async (request) => {
      const row = await changeWebhook(deps, askerOf(request), { id: request.params.id, body: request.body })
      return renderWebhook(row, now())
    })
    app.delete('/webhooks/:id', { config, schema: removeSchema }, async (request, reply) => {
      await removeWebhook(deps, askerOf(request), request.params.id)
      return reply.code(204).send(null)
    })
    const rotation = { config, schema: rotateSchema, preValidation: withoutBody }
    app.post('/webhooks/:id/rotate_secret', rotation, async (request) => {
      const { overlap = MAX_OVERLAP_SECONDS } = request.body
      const { row, secret } = await rotateSecret(deps, askerOf(request), { id: request.params.id, overlap })
      return { ...renderWebhook(row, now()), secret }
    })
  }
}

/** No body is a body without fields. */
async function withoutBody(request: FastifyRequest): Promise<void> {
  request.body ??= {}
}
