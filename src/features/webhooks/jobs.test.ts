import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { testIds } from '../../../test/support/database.ts'
import { type Endpoint, openDeliveryFixture } from '../../../test/support/webhooks/deliveries.ts'
import type { OpenedDatabase } from '../../db/database.ts'
import type { UsageAlertTable } from '../../db/schema/schema.ts'
import { createIdSource } from '../../domain/ids.ts'
import type { RecordEvent } from '../deps.ts'
import { eventRecorder } from './events.ts'
import { forgetEvents, KEEP_MS, recordAlertEvents, recordBudgetAlerts } from './jobs.ts'

/** December 2026. */
const MONTH = (2026 - 1970) * 12 + 11
const recordEvent = eventRecorder({ now: Date.now, ids: testIds })

type NewAlert = Omit<UsageAlertTable, 'account_id'>

const ALERT: NewAlert = {
  ...{ month: MONTH, event: 'usage.alert', basis: 'credit', threshold: 80, told: 0, created_at: 1_796_000_000_000 },
  ...{ spent_nano_usd: 4_000_000_001n, limit_nano_usd: 5_000_000_000n },
}
const EXHAUSTED: NewAlert = { ...ALERT, event: 'credit.exhausted', threshold: 100, spent_nano_usd: 5_000_000_001n }

test('alerts of the ledger become events, each once, with what was spent to the nano-dollar', async (t) => {
  const fixture = await openDeliveryFixture(t)
  const { db } = fixture.database
  const endpoint = await fixture.endpoint('https://example.com/')
  const { accountId } = fixture
  const rows = [ALERT, EXHAUSTED, { ...ALERT, threshold: 50, told: 1 as const }]
  await db
    .insertInto('usage_alert')
    .values(rows.map((row) => ({ ...row, account_id: accountId })))
    .execute()
  assert.equal(await recordAlertEvents({ db, recordEvent }), 2)
  assert.equal(await recordAlertEvents({ db, recordEvent }), 0)
  const events = await db.selectFrom('event').selectAll().orderBy('type').execute()
  const month = { period_start: '2026-12-01T00:00:00.000Z', period_end: '2027-01-01T00:00:00.000Z' }
  const common = { account_id: accountId, ...month, limit_usd: 5 }
  assert.deepEqual(
    events.map(({ type, data, created_at }) => [type, JSON.parse(data), created_at]),
    [
      ['credit.exhausted', { ...common, spent_usd: 5.000000001, credit_remaining_usd: -1e-9 }, ALERT.created_at],
      ['usage.alert', { ...common, spent_usd: 4.000000001, basis: 'credit', threshold_percent: 80 }, ALERT.created_at],
    ],
  )
  assert.equal((await fixture.deliveries(endpoint)).length, 2)
})

test('WH-3: an event that cannot be written leaves its alert untold, and so does all that came with it', async (t) => {
  const fixture = await openDeliveryFixture(t)
  const { db } = fixture.database
  const rows = [1, 2, 3].map((threshold) => ({ ...ALERT, threshold, account_id: fixture.accountId }))
  await db.insertInto('usage_alert').values(rows).execute()
  let written = 0
  const failing: RecordEvent = async (inside, event) => {
    if (++written === 3) throw new Error('the third is refused')
    return recordEvent(inside, event)
  }
  await assert.rejects(recordAlertEvents({ db, recordEvent: failing }), /the third is refused/)
  assert.equal((await db.selectFrom('event').select('id').execute()).length, 0)
  assert.equal(await recordAlertEvents({ db, recordEvent }), 3)
})

test('more alerts than one transaction takes are all told, also by two processes at once', async (t) => {
  const fixture = await openDeliveryFixture(t)
  const { db } = fixture.database
  const rows = Array.from({ length: 90 }, (_, threshold) => ({
    ...ALERT,
    threshold: threshold + 1,
    account_id: fixture.accountId,
  }))
  await db.insertInto('usage_alert').values(rows).execute()
  const [one, other] = await Promise.all([
    recordAlertEvents({ db, recordEvent }),
    recordAlertEvents({ db, recordEvent }),
  ])
  assert.equal(one + other, 90)
  assert.equal((await db.selectFrom('event').select('id').execute()).length, 90)
})

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
  const fixture = await openDeliveryFixture(t)
  const { database } = fixture
  const { db } = database
  const endpoint = await fixture.endpoint('https://example.com/')
  const [old, young] = [KEEP_MS + 1, KEEP_MS - 1]
  await addDelivery(database, endpoint, { bornMs: old, endedMs: old })
  const kept = [
    await addDelivery(database, endpoint, { bornMs: old, endedMs: young }),
    await addDelivery(database, endpoint, { bornMs: old + DAY_MS, endedMs: undefined }),
    await addDelivery(database, endpoint, { bornMs: young, endedMs: young }),
  ]
  const lonely = createIdSource(() => NOW - old, randomBytes).event()
  const own = { account_id: fixture.accountId, created_at: NOW - old }
  await db
    .insertInto('event')
    .values({ ...own, id: lonely, type: 'webhook.test', data: '{}' })
    .execute()
  assert.equal(await forgetEvents({ db, now: () => NOW }), 3)
  const deliveries = await fixture.deliveries(endpoint)
  assert.deepEqual(deliveries.map(({ id }) => id).sort(), [...kept].sort())
  const attempts = await db.selectFrom('delivery_attempt').select('delivery_id').execute()
  assert.deepEqual(attempts.map((row) => row.delivery_id).sort(), [...kept, ...kept].sort())
  const events = await db.selectFrom('event').select('id').execute()
  assert.deepEqual(events.map(({ id }) => id).sort(), deliveries.map((row) => row.event_id).sort())
  assert.equal(await forgetEvents({ db, now: () => NOW + 2 * DAY_MS }), 4)
})

test('more than one transaction takes are all deleted', async (t) => {
  const fixture = await openDeliveryFixture(t)
  const { db } = fixture.database
  const ids = createIdSource(() => NOW - 2 * KEEP_MS, randomBytes)
  const row = {
    account_id: fixture.accountId,
    type: 'webhook.test' as const,
    data: '{}',
    created_at: NOW - 2 * KEEP_MS,
  }
  await db
    .insertInto('event')
    .values(Array.from({ length: 1_100 }, () => ({ ...row, id: ids.event() })))
    .execute()
  assert.equal(await forgetEvents({ db, now: () => NOW }), 1_100)
})

test('alerts of budgets become events, each once, with the end of the window and the forecast', async (t) => {
  const fixture = await openDeliveryFixture(t)
  const { db } = fixture.database
  const endpoint = await fixture.endpoint('https://example.com/')
  const { accountId } = fixture
  const start = Date.UTC(2026, 10, 30, 23) // midnight of 1 December in Berlin
  const id = testIds.budget()
  const budget = { account_id: accountId, id, level: 'tag', subject: 'customer=acme', period: 'day' } as const
  const terms = { limit_nano_usd: 10n, timezone: 'Europe/Berlin', action: 'warn', position: 0, created_at: 1 } as const
  await db
    .insertInto('budget')
    .values({ ...budget, ...terms })
    .execute()
  const alert = { account_id: accountId, budget_id: id, starts_at: start, limit_nano_usd: 2_000_000_000n }
  const at = { created_at: start + 6 * 3_600_000, told: 0 } as const
  await db
    .insertInto('budget_alert')
    .values({ ...alert, ...at, threshold: 50, spent_nano_usd: 1_000_000_000n })
    .execute()
  assert.equal(await recordBudgetAlerts({ db, recordEvent }), 1)
  assert.equal(await recordBudgetAlerts({ db, recordEvent }), 0)
  const event = await db.selectFrom('event').selectAll().executeTakeFirstOrThrow()
  assert.deepEqual(
    [event.type, JSON.parse(event.data)],
    [
      'budget.alert',
      {
        account_id: accountId,
        budget_id: id,
        level: 'tag',
        subject: 'customer=acme',
        window: 'day',
        action: 'warn',
        window_start: '2026-11-30T23:00:00.000Z',
        resets_at: '2026-12-01T23:00:00.000Z',
        spent_usd: 1,
        limit_usd: 2,
        threshold_percent: 50,
        forecast_exhausted_at: '2026-12-01T11:00:00.000Z',
      },
    ],
  )
  assert.equal((await fixture.deliveries(endpoint)).length, 1)
})
