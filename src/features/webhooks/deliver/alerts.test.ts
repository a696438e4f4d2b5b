import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testIds } from '../../../../test/support/database.ts'
import { openDeliveryDesk } from '../../../../test/support/deliveries.ts'
import type { UsageAlertTable } from '../../../db/schema.ts'
import type { RecordEvent } from '../../deps.ts'
import { eventRecorder } from '../record-event.ts'
import { tellAlerts } from './alerts.ts'

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
  const desk = await openDeliveryDesk(t)
  const { db } = desk.database
  const endpoint = await desk.endpoint('https://example.com/')
  const { accountId } = desk
  const rows = [ALERT, EXHAUSTED, { ...ALERT, threshold: 50, told: 1 as const }]
  await db
    .insertInto('usage_alert')
    .values(rows.map((row) => ({ ...row, account_id: accountId })))
    .execute()
  assert.equal(await tellAlerts({ db, recordEvent }), 2)
  assert.equal(await tellAlerts({ db, recordEvent }), 0)
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
  assert.equal((await desk.deliveries(endpoint)).length, 2)
})

test('WH-3: an event that cannot be written leaves its alert untold, and so does all that came with it', async (t) => {
  const desk = await openDeliveryDesk(t)
  const { db } = desk.database
  const rows = [1, 2, 3].map((threshold) => ({ ...ALERT, threshold, account_id: desk.accountId }))
  await db.insertInto('usage_alert').values(rows).execute()
  let written = 0
  const failing: RecordEvent = async (inside, event) => {
    if (++written === 3) throw new Error('the third is refused')
    return recordEvent(inside, event)
  }
  await assert.rejects(tellAlerts({ db, recordEvent: failing }), /the third is refused/)
  assert.equal((await db.selectFrom('event').select('id').execute()).length, 0)
  assert.equal(await tellAlerts({ db, recordEvent }), 3)
})

test('more alerts than one transaction takes are all told, also by two processes at once', async (t) => {
  const desk = await openDeliveryDesk(t)
  const { db } = desk.database
  const rows = Array.from({ length: 90 }, (_, threshold) => ({
    ...ALERT,
    threshold: threshold + 1,
    account_id: desk.accountId,
  }))
  await db.insertInto('usage_alert').values(rows).execute()
  const [one, other] = await Promise.all([tellAlerts({ db, recordEvent }), tellAlerts({ db, recordEvent })])
  assert.equal(one + other, 90)
  assert.equal((await db.selectFrom('event').select('id').execute()).length, 90)
})
