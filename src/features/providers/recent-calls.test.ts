import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase, testIds } from '../../../test/support/database.ts'
import { type AttemptNote, COMPLETION_CHANNEL } from '../../domain/completion.ts'
import { ensureFirstAccount } from '../accounts/bootstrap.ts'
import type { RecordEvent } from '../deps.ts'
import { eventRecorder } from '../webhooks/events.ts'
import { startRefusalAlerts } from './recent-calls.ts'

const HOUR_MS = 3_600_000

/** A completion with these attempts, as the gateway publishes it. */
function publish(...notes: readonly Partial<AttemptNote>[]): void {
  const attempt = {
    provider: 'up',
    model: 'm',
    outcome: 'not_found',
    status: 404,
    startedMs: 0,
    durationMs: 1,
  } as const
  channel(COMPLETION_CHANNEL).publish({ record: { attemptLog: notes.map((note) => ({ ...attempt, ...note })) } })
}

async function setUp(t: TestContext) {
  const { db } = await temporaryDatabase(t)
  const clock = { now: Date.UTC(2026, 10, 24, 12) }
  const now = () => clock.now
  const accountId = await ensureFirstAccount(db, 'test', { now, ids: testIds })
  const recordEvent = eventRecorder({ now, ids: testIds })
  const warnings: object[] = []
  const errors: object[] = []
  let woken = 0
  const start = (over: { readonly recordEvent?: RecordEvent } = {}) =>
    startRefusalAlerts({
      db,
      now,
      recordEvent,
      isScripted: (name) => name === 'simulator',
      wake: () => void woken++,
      log: { warn: (fields) => void warnings.push(fields), error: (fields) => void errors.push(fields) },
      ...over,
    })
  const events = async () => {
    const rows = await db.selectFrom('event').select(['account_id', 'type', 'data']).orderBy('id').execute()
    assert.ok(rows.every(({ account_id, type }) => account_id === accountId && type === 'provider.refused'))
    return rows.map(({ data }) => JSON.parse(data) as object)
  }
  return { clock, start, events, recordEvent, warnings, errors, woken: () => woken }
}

const NOT_FOUND = { provider: 'up', model: 'm', reason: 'not_found', status: 404 }

test('a refusal is one event and one warning, however many requests meet it in how many processes', async (t) => {
  const { start, events, warnings, errors, woken } = await setUp(t)
  const processes = [start(), start(), start()]
  for (let request = 0; request < 20; request++) publish({}, { provider: 'other', outcome: 'answered', status: 200 })
  await Promise.all(processes.map(({ close }) => close()))
  assert.deepEqual(await events(), [NOT_FOUND])
  assert.deepEqual([warnings, errors, woken()], [[NOT_FOUND], [], 1])
})

test('each provider and model alerts for itself, with the reason; other outcomes and scripted providers do not', async (t) => {
  const { start, events } = await setUp(t)
  const alerts = start()
  publish({}, { model: 'n', outcome: 'credentials', status: 403 })
  publish({ provider: 'b', outcome: 'quota', status: 429 }, { provider: 'c', outcome: 'credentials', status: 0 })
  for (const outcome of ['answered', 'abandoned', 'rejected', 'rate_limited', 'overloaded', 'failed', 'cut'] as const) {
    publish({ provider: outcome, outcome })
  }
  publish({ provider: 'simulator', outcome: 'credentials', status: 401 })
  channel(COMPLETION_CHANNEL).publish({ record: { attemptLog: undefined } })
  await alerts.close()
  const found = new Set((await events()).map((event) => JSON.stringify(event)))
  const expected = [
    NOT_FOUND,
    { provider: 'up', model: 'n', reason: 'credentials', status: 403 },
    { provider: 'b', model: 'm', reason: 'quota', status: 429 },
    { provider: 'c', model: 'm', reason: 'credentials', status: null },
  ]
  assert.deepEqual(found, new Set(expected.map((event) => JSON.stringify(event))))
})

test('the alert is repeated after an hour, not before, also by another process', async (t) => {
  const { clock, start, events } = await setUp(t)
  const first = start()
  publish({})
  await first.close()
  clock.now += HOUR_MS - 1
  const second = start()
  publish({})
  await second.close()
  assert.equal((await events()).length, 1)
  clock.now += 1
  const third = start()
  publish({})
  publish({})
  await third.close()
  assert.equal((await events()).length, 2)
  publish({})
  assert.equal((await events()).length, 2, 'a closed watch counts nothing')
})

test('an alert that could not be written is written at the next refusal', async (t) => {
  const { start, events, recordEvent, errors } = await setUp(t)
  const failed = Promise.withResolvers<void>()
  let calls = 0
  const alerts = start({
    recordEvent: async (db, event) => {
      if (++calls > 1) return recordEvent(db, event)
      setImmediate(failed.resolve)
      throw new Error('no space')
    },
  })
  publish({})
  await failed.promise
  while (errors.length === 0) await new Promise((resolve) => setImmediate(resolve))
  publish({})
  await alerts.close()
  assert.deepEqual([await events(), calls, errors.length], [[NOT_FOUND], 2, 1])
})
