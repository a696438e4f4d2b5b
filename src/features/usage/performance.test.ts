import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../test/support/database.ts'
import { completionRecord, recordCompletions } from '../../../test/support/ledger/completions.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { AccountId } from '../../domain/ids.ts'
import { callerOf } from '../../http/caller.ts'
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
        first_byte_ms: { p50: 110, p95: 200 },
        duration_ms: { p50: 1_000, p95: 1_900 },
      },
      { key: 'left', requests: 1, failed: 0, success_rate: null, first_byte_ms: null, duration_ms: null },
      { key: 'whole', requests: 1, failed: 0, success_rate: 1, first_byte_ms: null, duration_ms: { p50: 70, p95: 70 } },
    ],
    series: [
      { at: hour(3), first_byte_ms_p50: null, first_byte_ms_p95: null, requests: 2 },
      { at: hour(2), first_byte_ms_p50: 500, first_byte_ms_p95: 500, requests: 3 },
      { at: hour(1), first_byte_ms_p50: 100, first_byte_ms_p95: 190, requests: 20 },
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

test('no more than the newest 5 000 completions are looked at, and it is said [limit: performance-rows]', async (t) => {
  const { database, get, ago } = await setUp(t)
  const many = Array.from({ length: 5_000 }, () => ago(1, { model: 'new' }))
  await recordCompletions(database, [ago(2, { model: 'old' })])
  for (let from = 0; from < many.length; from += 500) await recordCompletions(database, many.slice(from, from + 500))
  const { body } = await get()
  assert.deepEqual([body.sampled, body.groups.length, body.groups[0].requests], [true, 1, 5_000])
  assert.equal(body.series.length, 1)
  const before = await get(`period_end=${body.series[0].at}`)
  assert.deepEqual([before.body.sampled, before.body.groups[0].key], [false, 'old'])
})

test('a period is at most 7 days, and the scope is usage:read [limit: performance-period]', async (t) => {
  const { clock, get } = await setUp(t)
  const week = iso(clock.now - 7 * DAY_MS)
  assert.deepEqual((await get(`period_start=${week}`)).body.groups, [])
  const longer = await get(`period_start=${iso(clock.now - 7 * DAY_MS - 1)}`)
  assert.deepEqual([longer.status, longer.body.error.param], [400, 'period_start'])
  assert.equal((await get('', 'acc_a models:read')).status, 403)
  assert.equal((await get('', 'acc_a usage:read')).status, 200)
})
