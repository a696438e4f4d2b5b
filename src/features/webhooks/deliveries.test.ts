import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openWebhookApi, type WebhookApi } from '../../../test/support/webhooks/webhook-api.ts'
import type { DeliveryStatus } from '../../db/schema/schema.ts'
import { createIdSource, type WebhookId } from '../../domain/ids.ts'
import { MAX_COUNTED_DELIVERIES } from './deliveries.ts'

const HOUR_MS = 3_600_000

interface Row {
  readonly status: DeliveryStatus
  readonly ageMs: number
  readonly count?: number
}

/** Deliveries of the endpoint's one event, beside the one that there is. */
async function addDeliveries({ db, clock }: WebhookApi, webhookId: WebhookId, rows: readonly Row[]): Promise<void> {
  const pattern = await db
    .selectFrom('delivery')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .executeTakeFirstOrThrow()
  const all = rows.flatMap(({ status, ageMs, count = 1 }) => {
    const createdAt = clock.now - ageMs
    const ids = createIdSource(() => createdAt, randomBytes)
    const endedAt = status === 'pending' ? null : createdAt
    const row = { ...pattern, status, created_at: createdAt, ended_at: endedAt }
    return Array.from({ length: count }, () => ({ ...row, id: ids.delivery() }))
  })
  for (let at = 0; at < all.length; at += 500)
    await db
      .insertInto('delivery')
      .values(all.slice(at, at + 500))
      .execute()
}

test('a list and one endpoint tell the newest delivery, and what became of those of the last 24 hours', async (t) => {
  const api = await openWebhookApi(t)
  const busy = await api.create()
  api.clock.now += 1
  const quiet = await api.create()
  const made = api.clock.now
  api.clock.now += 30 * HOUR_MS
  await addDeliveries(api, busy.id, [
    { status: 'failed', ageMs: 24 * HOUR_MS + 1 },
    { status: 'failed', ageMs: 24 * HOUR_MS, count: 2 },
    { status: 'delivered', ageMs: HOUR_MS, count: 3 },
    { status: 'pending', ageMs: 2 * HOUR_MS },
    { status: 'delivered', ageMs: 1000 },
  ])
  const rows = (await api.ask('GET', '/webhooks?order=asc')).body.data
  const newest = await api.db.selectFrom('delivery').select('id').orderBy('id', 'desc').executeTakeFirstOrThrow()
  const createdAt = new Date(api.clock.now - 1000).toISOString()
  assert.deepEqual(rows[0].last_delivery, {
    id: newest.id,
    type: 'webhook.test',
    status: 'delivered',
    created_at: createdAt,
  })
  assert.deepEqual(rows[0].deliveries_24h, { delivered: 4, failed: 2, pending: 1 })
  assert.equal(rows[1].last_delivery.created_at, new Date(made).toISOString(), 'however old it is')
  assert.deepEqual(rows[1].deliveries_24h, { delivered: 0, failed: 0, pending: 0 })
  assert.deepEqual((await api.ask('GET', `/webhooks/${busy.id}`)).body, rows[0])
  await api.db.deleteFrom('delivery').where('webhook_id', '=', quiet.id).execute()
  assert.equal((await api.ask('GET', `/webhooks/${quiet.id}`)).body.last_delivery, null)
})

test('[limit: counted-deliveries] of the deliveries of 24 hours the newest 1 000 are counted', async (t) => {
  const api = await openWebhookApi(t)
  const { id } = await api.create()
  api.clock.now += HOUR_MS
  await addDeliveries(api, id, [
    { status: 'failed', ageMs: 2000, count: 5 },
    { status: 'delivered', ageMs: 1000, count: MAX_COUNTED_DELIVERIES - 1 },
  ])
  const { deliveries_24h: counts } = (await api.ask('GET', `/webhooks/${id}`)).body
  assert.deepEqual(counts, { delivered: 999, failed: 1, pending: 0 })
})

test('an account without endpoints has an empty list', async (t) => {
  const { ask } = await openWebhookApi(t)
  assert.deepEqual((await ask('GET', '/webhooks')).body.data, [])
})
