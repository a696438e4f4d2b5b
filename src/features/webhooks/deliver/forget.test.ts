import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type Endpoint, openDeliveryDesk } from '../../../../test/support/deliveries.ts'
import type { OpenedDatabase } from '../../../db/open.ts'
import { createIdSource } from '../../../domain/ids.ts'
import { forgetEvents, KEEP_MS } from './forget.ts'

const DAY_MS = 24 * 3_600_000
const NOW = Date.UTC(2026, 10, 20)

/** A delivery with two attempts, of an event of that age. */
async function addDelivery({ db }: OpenedDatabase, { accountId, id: webhookId }: Endpoint, age: Ages): Promise<string> {
  const at = NOW - age.bornMs
  const ids = createIdSource(() => at, randomBytes)
  const [eventId, deliveryId] = [ids.event(), ids.delivery()]
  const own = { account_id: accountId, created_at: at }
  await db
    .insertInto('event')
    .values({ ...own, id: eventId, type: 'webhook.test', data: '{}' })
    .execute()
  const state = { round: 1, attempts: 2, next_attempt_at: null, error: null }
  const ended = age.endedMs === undefined ? null : NOW - age.endedMs
  const status = ended === null ? ('pending' as const) : ('failed' as const)
  const refs = { id: deliveryId, webhook_id: webhookId, event_id: eventId }
  await db
    .insertInto('delivery')
    .values({ ...own, ...refs, ...state, status, ended_at: ended })
    .execute()
  const answer = { status: 500, error: 'status 500', response: '' }
  const attempts = [1, 2].map((number) => ({ number, started_at: at, duration_ms: 1, ...answer }))
  await db
    .insertInto('delivery_attempt')
    .values(attempts.map((attempt) => ({ account_id: accountId, delivery_id: deliveryId, ...attempt })))
    .execute()
  return deliveryId
}

interface Ages {
  readonly bornMs: number
  /** Undefined: it waits. */
  readonly endedMs: number | undefined
}

test('[limit: webhook-log] deliveries go with their attempts 30 days after their end, events when nothing tells them any more', async (t) => {
  const desk = await openDeliveryDesk(t)
  const { database } = desk
  const { db } = database
  const endpoint = await desk.endpoint('https://example.com/')
  const [old, young] = [KEEP_MS + 1, KEEP_MS - 1]
  await addDelivery(database, endpoint, { bornMs: old, endedMs: old })
  const kept = [
    await addDelivery(database, endpoint, { bornMs: old, endedMs: young }),
    await addDelivery(database, endpoint, { bornMs: old + DAY_MS, endedMs: undefined }),
    await addDelivery(database, endpoint, { bornMs: young, endedMs: young }),
  ]
  const lonely = createIdSource(() => NOW - old, randomBytes).event()
  const own = { account_id: desk.accountId, created_at: NOW - old }
  await db
    .insertInto('event')
    .values({ ...own, id: lonely, type: 'webhook.test', data: '{}' })
    .execute()
  assert.equal(await forgetEvents({ db, now: () => NOW }), 3)
  const deliveries = await desk.deliveries(endpoint)
  assert.deepEqual(deliveries.map(({ id }) => id).sort(), [...kept].sort())
  const attempts = await db.selectFrom('delivery_attempt').select('delivery_id').execute()
  assert.deepEqual(attempts.map((row) => row.delivery_id).sort(), [...kept, ...kept].sort())
  const events = await db.selectFrom('event').select('id').execute()
  assert.deepEqual(events.map(({ id }) => id).sort(), deliveries.map((row) => row.event_id).sort())
  assert.equal(await forgetEvents({ db, now: () => NOW + 2 * DAY_MS }), 4)
})

test('more than one transaction takes are all deleted', async (t) => {
  const desk = await openDeliveryDesk(t)
  const { db } = desk.database
  const ids = createIdSource(() => NOW - 2 * KEEP_MS, randomBytes)
  const row = { account_id: desk.accountId, type: 'webhook.test' as const, data: '{}', created_at: NOW - 2 * KEEP_MS }
  await db
    .insertInto('event')
    .values(Array.from({ length: 1_100 }, () => ({ ...row, id: ids.event() })))
    .execute()
  assert.equal(await forgetEvents({ db, now: () => NOW }), 1_100)
})
