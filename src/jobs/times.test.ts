import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase, testIds } from '../../test/support/database.ts'
import { timedDatabase } from '../../test/support/timed-database.ts'
import { afterDelays, GiveUp, type JobHandler, type JobKind, TryAgainIn, weekly } from './job.ts'
import { enqueue } from './queue.ts'
import { createJobRunner } from './runner.ts'

const BEGINNING = Date.UTC(2026, 0, 1)
const SECOND_MS = 1_000
const DELAYS_MS = [60, 300, 1_800, 7_200, 43_200].map((seconds) => seconds * SECOND_MS)

interface Stage {
  readonly times: readonly number[]
  /** Lets the time be one, and the runner look. */
  at(ms: number): Promise<void>
  row(): Promise<{ outcome: string | null; run_at: number; failures: number; last_error: string | null }>
}

/** One job whose starts are noted, in milliseconds since it was enqueued. */
async function staged(t: TestContext, kindOf: (handler: JobHandler) => JobKind, handler: JobHandler): Promise<Stage> {
  let now = BEGINNING
  const database = timedDatabase(await temporaryDatabase(t), () => now)
  const times: number[] = []
  const kind = kindOf(async (job, context) => {
    times.push(now - BEGINNING)
    await handler(job, context)
  })
  const silent = { warn: () => undefined, error: () => undefined }
  const clock = () => performance.now()
  const base = { db: database.db, ids: testIds, log: silent, clock, pollMs: 3_600_000 }
  if (kind.nextAt === undefined) await enqueue(database.db, { kind: 'mail', name: 'ada', payload: null }, testIds)
  return {
    times,
    async at(ms) {
      now = BEGINNING + ms
      const runner = createJobRunner({ ...base, owner: `at ${ms}`, kinds: { mail: kind } })
      const before = times.length
      runner.start()
      await runner.looked()
      await runner.stop()
      assert.ok(times.length - before <= 1)
    },
    row: () =>
      database.db.selectFrom('job').select(['outcome', 'run_at', 'failures', 'last_error']).executeTakeFirstOrThrow(),
  }
}

for (const [random, factor] of [
  [0, 1],
  [0.5, 1.01],
  [0.999_999_999, 1.02],
] as const) {
  test(`WH-2: with the random number ${random} each delay of the schedule is ${factor} times as long, to the millisecond`, async (t) => {
    const failing = async () => Promise.reject(new Error('refused'))
    const stage = await staged(
      t,
      (handler) => ({ handler, concurrency: 1, ...afterDelays(DELAYS_MS, () => random) }),
      failing,
    )
    await stage.at(0)
    let due = 0
    const dues = [0]
    for (const delayMs of DELAYS_MS) {
      due += Math.round(delayMs * factor)
      assert.equal((await stage.row()).run_at, BEGINNING + due)
      await stage.at(due - 1)
      assert.deepEqual(stage.times, dues)
      await stage.at(due)
      dues.push(due)
      assert.deepEqual(stage.times, dues)
    }
    const { outcome, failures } = await stage.row()
    assert.deepEqual([outcome, failures], ['failed', 6])
    await stage.at(due * 2)
    assert.deepEqual(stage.times, dues)
  })
}

test('a handler says itself when to try again, and that nothing helps any more', async (t) => {
  const stage = await staged(
    t,
    (handler) => ({ handler, concurrency: 1, ...afterDelays(DELAYS_MS, () => 0) }),
    async ({ attempt }) => {
      if (attempt === 1) throw new TryAgainIn(7_000, 'Retry-After: 7')
      if (attempt === 2) throw new Error('no')
      throw new GiveUp('410 Gone')
    },
  )
  await stage.at(0)
  assert.deepEqual((await stage.row()).run_at, BEGINNING + 7_000)
  await stage.at(7_000)
  assert.equal((await stage.row()).run_at, BEGINNING + 7_000 + 300_000) // the second delay: the first was replaced
  await stage.at(307_000)
  const { outcome, last_error } = await stage.row()
  assert.deepEqual([outcome, last_error, stage.times], ['failed', '410 Gone', [0, 7_000, 307_000]])
})

test('a start that was interrupted uses up none of the delays', async (t) => {
  const stage = await staged(
    t,
    (handler) => ({ handler, concurrency: 1, ...afterDelays(DELAYS_MS, () => 0) }),
    async ({ attempt }, { signal }) => {
      if (attempt > 1) throw new Error('refused')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      signal.throwIfAborted()
    },
  )
  await stage.at(0)
  assert.deepEqual([(await stage.row()).run_at, (await stage.row()).failures], [BEGINNING, 0])
  await stage.at(1)
  assert.deepEqual([(await stage.row()).run_at, (await stage.row()).failures], [BEGINNING + 60_001, 1])
})

test('a schedule by the calendar runs at its times, and once for all that it missed', async (t) => {
  const HOUR_MS = 3_600_000
  const period = 6 * HOUR_MS
  const everySixHours = (afterMs: number) => (Math.floor((afterMs - HOUR_MS / 2) / period) + 1) * period + HOUR_MS / 2
  const stage = await staged(
    t,
    (handler) => ({ handler, backoff: () => 60_000, maxAttempts: 2, concurrency: 1, nextAt: everySixHours }),
    async () => {},
  )
  await stage.at(0)
  await stage.at(HOUR_MS / 2 - 1)
  assert.deepEqual(stage.times, [])
  await stage.at(HOUR_MS / 2)
  assert.equal((await stage.row()).run_at, BEGINNING + 6.5 * HOUR_MS)
  await stage.at(20 * HOUR_MS)
  assert.deepEqual(stage.times, [HOUR_MS / 2, 20 * HOUR_MS])
  assert.equal((await stage.row()).run_at, BEGINNING + 24.5 * HOUR_MS)
})

test('a weekly time is the next one after a given time, never that time itself', () => {
  const nextAt = weekly({ weekday: 0, hour: 3, minute: 17 }, async () => {}).nextAt ?? assert.fail()
  const sunday = Date.UTC(2026, 10, 29, 3, 17)
  assert.equal(nextAt(Date.UTC(2026, 10, 23)), sunday)
  assert.equal(nextAt(sunday - 1), sunday)
  assert.equal(nextAt(sunday), sunday + 7 * 86_400_000)
  assert.equal(nextAt(Date.UTC(2026, 10, 29)), sunday)
})
