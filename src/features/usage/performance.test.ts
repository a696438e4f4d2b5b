import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { testIds } from '../../../test/support/database.ts'
import { completionRecord, recordCompletions } from '../../../test/support/ledger/completions.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { performanceDays, performanceHours } from '../../db/migrations/0027-0044.ts'
import { COMPLETION_CHANNEL, type CompletionRecord, type CompletionSignal } from '../../domain/completion.ts'
import type { AccountId } from '../../domain/ids.ts'
import { callerOf } from '../../http/caller.ts'
import { deleteTraces } from '../retention/jobs.ts'
import { addPerformance, startPerformanceRecorder } from './performance.ts'
import { DAY_MS, HOUR_MS } from './period.ts'
import { usageRoutes } from './routes.ts'

async function setUp(t: TestContext) {
  const fixture = await openCreditFixture(t)
  const ask = await serveRoutes(t, fixture, [
    usageRoutes({ ...fixture, ids: testIds, callerOf, cursorKey: Buffer.alloc(32, 1) }),
  ])
  const get = (query = '', credential = 'acc_a') => ask(`/usage/performance?${query}`, credential)
  /** So many hours ago. */
  const ago = (hours: number, over: Partial<CompletionRecord> = {}) =>
    completionRecord({ createdAt: fixture.clock.now - hours * HOUR_MS, ...over })
  return { ...fixture, get, ago }
}

const iso = (time: number) => new Date(time).toISOString()
const streamed = (firstByteMs: number, durationMs: number) => ({ stream: true, firstByteMs, durationMs })

test('each model has its requests, failures and times, and each hour its times to the first byte', async (t) => {
  const { database, clock, get, ago } = await setUp(t)
  const times = Array.from({ length: 20 }, (_, index) => ago(1, streamed(10 * (index + 1), 100 * (index + 1))))
  await recordCompletions(database, [
    ...times.toReversed(),
    ago(2, { ...streamed(500, 4_000), status: 'incomplete' }),
    ago(2, { status: 'failed', durationMs: 9_000 }),
    ago(2, { status: 'client_left', durationMs: 9_000 }),
    ago(3, { model: 'whole', provider: 'q', durationMs: 70, firstByteMs: 70 }),
    ago(3, { model: 'left', provider: 'q', status: 'client_left' }),
    ago(25),
    ago(1, { accountId: 'acc_b' as AccountId }),
  ])
  const { status, body } = await get()
  assert.equal(status, 200)
  const hour = (hours: number) => iso(clock.now - hours * HOUR_MS)
  assert.deepEqual(body, {
    period_start: hour(24),
    period_end: hour(0),
    sampled: false,
    groups: [
      {
        key: 'm1',
        requests: 23,
        failed: 2,
        success_rate: 20 / 22,
        first_byte_ms: { p50: 107, p95: 199 }, // the middles of the buckets of 110 and 200
        duration_ms: { p50: 991, p95: 1_855 }, // of 1,000 and 1,900
      },
      { key: 'left', requests: 1, failed: 0, success_rate: null, first_byte_ms: null, duration_ms: null },
      { key: 'whole', requests: 1, failed: 0, success_rate: 1, first_byte_ms: null, duration_ms: { p50: 67, p95: 67 } },
    ],
    series: [
      { at: hour(3), first_byte_ms_p50: null, first_byte_ms_p95: null, requests: 2 },
      { at: hour(2), first_byte_ms_p50: 495, first_byte_ms_p95: 495, requests: 3 },
      { at: hour(1), first_byte_ms_p50: 99, first_byte_ms_p95: 183, requests: 20 },
    ],
  })
  const providers = (await get('group_by=provider')).body.groups
  assert.deepEqual(
    providers.map(({ key, requests }: { key: string; requests: number }) => [key, requests]),
    [
      ['p', 23],
      ['q', 2],
    ],
  )
  const day = await get(`period_end=${hour(24)}`)
  assert.deepEqual([day.body.groups[0].requests, day.body.period_start], [1, hour(48)])
})

test('what a provider rejected for its content is a request, and no failure of the model', async (t) => {
  const { database, get, ago } = await setUp(t)
  const note = { provider: 'p', model: 'rejected', startedMs: 0, durationMs: 1 }
  await recordCompletions(database, [
    ago(1, { status: 'failed', attemptLog: [{ ...note, outcome: 'rejected', status: 400 }] }),
    ago(1, { status: 'failed', attemptLog: [{ ...note, outcome: 'overloaded', status: 529 }] }),
    ago(1),
  ])
  const [{ requests, failed, success_rate }] = (await get()).body.groups
  assert.deepEqual([requests, failed, success_rate], [3, 1, 0.5])
})

test('with include=hours each group has its requests and failures by hour, of the same completions', async (t) => {
  const { database, clock, get, ago } = await setUp(t)
  await recordCompletions(database, [
    ago(1),
    ago(1, { status: 'failed' }),
    ago(1, { provider: 'q', status: 'client_left' }),
    ago(5, { status: 'incomplete' }),
    ago(5, { provider: 'q' }),
    ago(25, { status: 'failed' }),
    ago(1, { accountId: 'acc_b' as AccountId, status: 'failed' }),
  ])
  const { groups } = (await get('group_by=provider&include=hours')).body
  const hour = (hours: number) => iso(clock.now - hours * HOUR_MS)
  assert.deepEqual(
    groups.map(({ key, hours }: { key: string; hours: unknown }) => [key, hours]),
    [
      [
        'p',
        [
          { at: hour(5), requests: 1, failed: 1 },
          { at: hour(1), requests: 2, failed: 1 },
        ],
      ],
      [
        'q',
        [
          { at: hour(5), requests: 1, failed: 0 },
          { at: hour(1), requests: 1, failed: 0 },
        ],
      ],
    ],
  )
  assert.equal('hours' in (await get('group_by=provider')).body.groups[0], false)
  const other = await get('include=days')
  assert.deepEqual([other.status, other.body.error.param], [400, 'include'])
})

test('all completions are counted, however many there are, once they are published', async (t) => {
  const { database, clock, get, ago } = await setUp(t)
  const warnings: string[] = []
  const recorder = startPerformanceRecorder({
    db: database.db,
    log: { warn: (_, message) => void warnings.push(message) },
  })
  const publish = (record: CompletionRecord) =>
    channel(COMPLETION_CHANNEL).publish({ record, overheadMs: undefined } satisfies CompletionSignal)
  for (let count = 0; count < 5_100; count++) publish(ago(1, { model: 'new' }))
  await recorder.write()
  publish(ago(2, { model: 'old' }))
  publish(ago(1, { model: 'new' }))
  await recorder.close()
  publish(ago(1, { model: 'new' }))
  const { body } = await get()
  const counts = body.groups.map(({ key, requests }: { key: string; requests: number }) => [key, requests])
  assert.deepEqual(counts, [
    ['new', 5_101],
    ['old', 1],
  ])
  assert.deepEqual([body.sampled, body.series.length, warnings], [false, 2, []])
  const month = (await get(`period_start=${iso(clock.now - 31 * DAY_MS)}`)).body
  assert.equal(month.groups[0].requests, 5_101)
})

test('the migration counts what was there before as the recorder does', async (t) => {
  const { database, get, ago } = await setUp(t)
  const note = { provider: 'p', model: 'm', startedMs: 0, durationMs: 1, status: 400 }
  await recordCompletions(database, [
    ago(1, streamed(321, 4_321)),
    ago(1, { ...streamed(33, 77), provider: 'q' }),
    ago(2, { status: 'failed', attemptLog: [{ ...note, outcome: 'rejected' }] }),
    ago(2, { status: 'failed', attemptLog: [{ ...note, outcome: 'overloaded' }] }),
    ago(3, { status: 'incomplete' }),
  ])
  const before = (await get('include=hours')).body
  await database.db.deleteFrom('performance_hour').execute()
  assert.deepEqual((await get()).body.groups, [])
  for (const statement of performanceHours.slice(1)) await sql.raw(statement).execute(database.db)
  assert.deepEqual((await get('include=hours')).body, before)
})

/** The same ones for each seed: of ten days, models, providers, outcomes and times. */
function mixed(seed: number, count: number, until: number): readonly CompletionRecord[] {
  const statuses = ['completed', 'completed', 'completed', 'failed', 'incomplete', 'client_left'] as const
  return Array.from({ length: count }, (_, index) => {
    const spread = ((seed * 7_919 + index + 1) * 2_654_435_761) % 4_294_967_296
    const firstByteMs = spread % 3 === 0 ? undefined : spread % 1_013
    return completionRecord({
      createdAt: until - (spread % (10 * DAY_MS)),
      model: `m${(spread >>> 7) % 3}`,
      provider: `p${(spread >>> 11) % 2}`,
      status: statuses[(spread >>> 5) % statuses.length] ?? 'completed',
      stream: firstByteMs !== undefined,
      firstByteMs,
      durationMs: (spread >>> 3) % 9_001,
    })
  })
}

/** Midnights of some time zones, single hours, and what begins or ends within an hour. */
function periods(now: number): readonly string[] {
  const midnight = now - (now % DAY_MS)
  const offsets = [0, -8, 5.5, 14].map((hours) => hours * HOUR_MS)
  const lengths = [31, 4, 1].map((days) => days * DAY_MS)
  return offsets.flatMap((offset) =>
    [midnight + DAY_MS, midnight - 3 * DAY_MS].flatMap((end) =>
      lengths.map((length) => `period_start=${iso(end - offset - length)}&period_end=${iso(end - offset)}`),
    ),
  )
}

test('groups of days are exactly those of their hours, late completions and deleted hours included', async (t) => {
  const { database, clock, get } = await setUp(t)
  const { db } = database
  const answers = async () => {
    const bodies: unknown[] = []
    for (const period of periods(clock.now)) {
      for (const rest of ['group_by=model', 'group_by=provider&include=hours']) {
        const { status, body } = await get(`${period}&${rest}`)
        assert.equal(status, 200)
        bodies.push(body)
      }
    }
    return bodies
  }
  const fromHoursAlone = async () => {
    const days = await db.selectFrom('performance_day').selectAll().execute()
    assert.notEqual(days.length, 0)
    await db.deleteFrom('performance_day').execute()
    const bodies = await answers()
    for (let at = 0; at < days.length; at += 500) {
      await db
        .insertInto('performance_day')
        .values(days.slice(at, at + 500))
        .execute()
    }
    return bodies
  }
  await recordCompletions(database, mixed(1, 400, clock.now))
  assert.deepEqual(await answers(), await fromHoursAlone())
  await addPerformance(db, mixed(2, 60, clock.now)) // late ones, of days that are long over
  assert.deepEqual(await answers(), await fromHoursAlone())
  const later = clock.now + 30 * DAY_MS
  await deleteTraces({ db, now: () => later, signal: new AbortController().signal })
  const { day } = await db.selectFrom('performance_day').select('day').orderBy('day').executeTakeFirstOrThrow()
  assert.ok(day >= Math.floor(later / DAY_MS) - 35, `day ${day} is deleted with its hours`)
  assert.deepEqual(await answers(), await fromHoursAlone())
})

test('whole days are read from their sums, and from their hours where the sums lack something', async (t) => {
  const { database, clock, get } = await setUp(t)
  const { db } = database
  const midnight = clock.now - (clock.now % DAY_MS)
  const at = (hours: number, model: string) =>
    completionRecord({ createdAt: midnight + hours * HOUR_MS, model, durationMs: 10 })
  await recordCompletions(database, [at(-47, 'a'), at(-23, 'a'), at(-22, 'a'), at(1, 'a')])
  const durations = async (start: number, end: number) => {
    const period = `period_start=${iso(midnight + start * HOUR_MS)}&period_end=${iso(midnight + end * HOUR_MS)}`
    const { groups } = (await get(period)).body
    return groups.map(({ key, requests, duration_ms }: { key: string; requests: number; duration_ms: unknown }) => [
      key,
      requests,
      duration_ms === null ? 'none' : 'known',
    ])
  }
  await db.deleteFrom('performance_hour').where('measure', '=', 'duration').execute()
  assert.deepEqual(await durations(-48, 0), [['a', 3, 'known']])
  assert.deepEqual(await durations(-47, 0), [['a', 3, 'known']])
  assert.deepEqual(await durations(-23, 1), [['a', 2, 'none']])
  assert.deepEqual(await durations(0, 2), [['a', 1, 'none']])
  const row = { account_id: 'acc_a' as AccountId, provider: 'p', measure: 'requests', bucket: 0, count: 1 } as const
  const hour = Math.floor(midnight / HOUR_MS) - 5
  await db // as a process of the release before `performance_day` does
    .insertInto('performance_hour')
    .values({ ...row, hour, model: 'b' })
    .execute()
  assert.deepEqual(await durations(-24, 0), [
    ['a', 2, 'none'],
    ['b', 1, 'none'],
  ])
  assert.deepEqual(await durations(-48, -24), [['a', 1, 'known']])
})

test('the migration sums the days that were there before as the recorder does', async (t) => {
  const { database, clock } = await setUp(t)
  const { db } = database
  const days = () =>
    db
      .selectFrom('performance_day')
      .selectAll()
      .orderBy('day')
      .orderBy('model')
      .orderBy('provider')
      .orderBy('measure')
      .orderBy('bucket')
      .execute()
  await recordCompletions(database, mixed(3, 100, clock.now))
  const recorded = await days()
  await db.deleteFrom('performance_day').execute()
  for (const statement of performanceDays.slice(1)) await sql.raw(statement).execute(db)
  assert.deepEqual(await days(), recorded)
})

test('a period is at most 31 days, and the scope is usage:read [limit: performance-period]', async (t) => {
  const { clock, get } = await setUp(t)
  const longest = iso(clock.now - 31 * DAY_MS)
  assert.deepEqual((await get(`period_start=${longest}`)).body.groups, [])
  const longer = await get(`period_start=${iso(clock.now - 31 * DAY_MS - 1)}`)
  assert.deepEqual([longer.status, longer.body.error.param], [400, 'period_start'])
  assert.equal((await get('', 'acc_a models:read')).status, 403)
  assert.equal((await get('', 'acc_a usage:read')).status, 200)
})
