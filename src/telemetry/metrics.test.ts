import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { Histogram, Registry } from 'prom-client'
import { completionRecord } from '../../test/support/ledger/completions.ts'
import {
  type AttemptNote,
  COMPLETION_CHANNEL,
  type CompletionRecord,
  type CompletionSignal,
  type ReportedTotals,
} from '../domain/completion.ts'
import type { AccountId, KeyId } from '../domain/ids.ts'
import type { DeploymentStatus, ProviderStatus } from '../domain/provider-status.ts'
import { createHistogram } from './histogram.ts'
import { createMetrics, type Metrics, type MetricsInput } from './metrics.ts'

function publish(over: Partial<CompletionRecord> = {}, overheadMs?: number, reported?: ReportedTotals): void {
  const record = completionRecord({
    accountId: 'acc_secret' as AccountId,
    keyId: 'key_secret' as KeyId,
    provider: 'up',
    stream: true,
    costNanoUsd: 20_000n,
    durationMs: 700,
    firstByteMs: 60,
    ...over,
  })
  channel(COMPLETION_CHANNEL).publish({ record, overheadMs, reported } satisfies CompletionSignal)
}

function open(t: TestContext, input: Partial<MetricsInput> = {}): Metrics {
  const metrics = createMetrics({ active: () => 0, unwritten: () => 0, ...input })
  t.after(() => metrics.close())
  return metrics
}

/** The value of a series, by its name and labels as they are written. */
async function value(metrics: Metrics, series: string): Promise<number | undefined> {
  const line = (await metrics.render()).split('\n').find((text) => text.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

test('completions, tokens and cost are summed by what tells them apart', async (t) => {
  const metrics = open(t)
  publish()
  publish({ promptTokens: 7, completionTokens: 1, costNanoUsd: 9_000n })
  publish({ provider: 'other', status: 'failed', stream: false, promptTokens: 0, completionTokens: 0, costNanoUsd: 0n })
  publish({ model: 'm2', costNanoUsd: 3_000_000_000n })
  const completions = 'turnpike_completions_total'
  assert.equal(await value(metrics, `${completions}{model="m1",provider="up",status="completed",stream="true"}`), 2)
  assert.equal(await value(metrics, `${completions}{model="m1",provider="other",status="failed",stream="false"}`), 1)
  assert.equal(await value(metrics, 'turnpike_tokens_total{model="m1",direction="input"}'), 17)
  assert.equal(await value(metrics, 'turnpike_tokens_total{model="m1",direction="output"}'), 6)
  assert.equal(await value(metrics, 'turnpike_cost_usd_total{model="m1"}'), 0.000029)
  assert.equal(await value(metrics, 'turnpike_cost_usd_total{model="m2"}'), 3)
})

test('TM15: whole answers that were counted here are told, by where they came from', async (t) => {
  const metrics = open(t)
  publish({ usageSource: 'estimated' })
  publish({ usageSource: 'estimated', status: 'client_left' })
  publish()
  assert.equal(await value(metrics, 'turnpike_usage_estimated_total{model="m1",provider="up"}'), 1)
})

test('TM15: reports outside of what can have been used are counted, by where they came from', async (t) => {
  const metrics = open(t)
  publish()
  publish({ usageSource: 'bounded' }, undefined, { promptTokens: 10, completionTokens: 1e9 })
  publish({ usageSource: 'bounded', provider: 'other' }, undefined, { promptTokens: 1e9, completionTokens: 5 })
  publish({ usageSource: 'bounded' }, undefined, { promptTokens: 10, completionTokens: 0 })
  assert.equal(await value(metrics, 'turnpike_usage_bounded_total{model="m1",provider="up"}'), 2)
  assert.equal(await value(metrics, 'turnpike_usage_bounded_total{model="m1",provider="other"}'), 1)
})

test('asking twice counts nothing twice', async (t) => {
  const metrics = open(t)
  publish({}, 0.4)
  const counted = (text: string): string[] => text.split('\n').filter((line) => /^turnpike_/.test(line))
  const first = counted(await metrics.render())
  assert.ok(first.length > 0)
  assert.deepEqual(counted(await metrics.render()), first)
})

test('times are in seconds, by whether the answer was streamed; one that never began has no first byte', async (t) => {
  const metrics = open(t)
  publish({}, 2)
  publish({ stream: false, firstByteMs: undefined, durationMs: 1500 })
  assert.equal(await value(metrics, 'turnpike_completion_duration_seconds_sum{stream="true"}'), 0.7)
  assert.equal(await value(metrics, 'turnpike_completion_duration_seconds_sum{stream="false"}'), 1.5)
  assert.equal(await value(metrics, 'turnpike_first_byte_seconds_sum{stream="true"}'), 0.06)
  assert.equal((await value(metrics, 'turnpike_first_byte_seconds_count{stream="false"}')) ?? 0, 0)
  assert.equal(await value(metrics, 'turnpike_overhead_seconds_sum'), 0.002)
  assert.equal(await value(metrics, 'turnpike_overhead_seconds_count'), 1)
})

test('gauges are read when somebody asks', async (t) => {
  let active = 3
  const metrics = open(t, { active: () => active, unwritten: () => 7 })
  assert.equal(await value(metrics, 'turnpike_active_completions'), 3)
  active = 0
  assert.equal(await value(metrics, 'turnpike_active_completions'), 0)
  assert.equal(await value(metrics, 'turnpike_unwritten_usage_rows'), 7)
})

test('no account and no key is named, and nothing is counted once it is closed', async (t) => {
  const metrics = open(t)
  publish()
  assert.doesNotMatch(await metrics.render(), /secret/)
  metrics.close()
  publish()
  const series = 'turnpike_completions_total{model="m1",provider="up",status="completed",stream="true"}'
  assert.equal(await value(metrics, series), 1)
})

test('UP-1: calls to providers are counted by what became of them; one that answered alone has no log', async (t) => {
  const metrics = open(t)
  const note = (provider: string, outcome: AttemptNote['outcome']): AttemptNote => {
    return { provider, model: 'm', outcome, status: 200, startedMs: 0, durationMs: 0 }
  }
  publish()
  publish()
  publish({ attempts: 3, attemptLog: [note('o', 'failed'), note('o', 'rate_limited'), note('up', 'answered')] })
  publish({ status: 'failed', attemptLog: [note('o', 'failed')] })
  publish({ attempts: 0, provider: '', status: 'failed' })
  const lines = (await metrics.render())
    .split('\n')
    .filter((line) => line.startsWith('turnpike_provider_attempts_total'))
  assert.deepEqual(lines.sort(), [
    'turnpike_provider_attempts_total{provider="o",outcome="failed"} 2',
    'turnpike_provider_attempts_total{provider="o",outcome="rate_limited"} 1',
    'turnpike_provider_attempts_total{provider="up",outcome="answered"} 3',
  ])
})

test('UP-4: providers are shown as they stand at each scrape, and what has gone is not shown', async (t) => {
  const deployment = (model: string, breaker: DeploymentStatus['breaker']): DeploymentStatus => {
    const counts = { failures: 0, inFlight: 0, calls: 0, failedCalls: 0 }
    const none = { openUntil: undefined, firstEventMs: undefined, wholeAnswerMs: undefined, lastFailure: undefined }
    return { model, breaker, ...counts, ...none }
  }
  const idle = {
    baseUrl: '',
    maxInFlight: undefined,
    inFlight: 0,
    queued: 0,
    credentials: [],
    deployments: [],
    unbilledNanoUsd: 0n,
  }
  const busy: ProviderStatus = {
    ...idle,
    name: 'a',
    maxInFlight: 5,
    inFlight: 4,
    queued: 3,
    unbilledNanoUsd: 1_500_000_000n,
    credentials: [
      { number: 1, coolingUntil: { m: 1, '*': 2 }, inFlight: 0 },
      { number: 2, coolingUntil: {}, inFlight: 4 },
    ],
    deployments: [deployment('m', 'open'), deployment('n', 'half_open'), deployment('o', 'closed')],
  }
  let providers: readonly ProviderStatus[] = [busy, { ...idle, name: 'b' }]
  const metrics = open(t, { providers: () => providers })
  const shown = async () => {
    const lines = (await metrics.render()).split('\n').filter((line) => line.startsWith('turnpike_provider_'))
    return lines.map((line) => line.replace('turnpike_provider_', '')).sort()
  }
  assert.deepEqual(await shown(), [
    'breaker_open{provider="a",model="m"} 1',
    'breaker_open{provider="a",model="n"} 0.5',
    'breaker_open{provider="a",model="o"} 0',
    'cooling_credentials{provider="a"} 1',
    'cooling_credentials{provider="b"} 0',
    'cost_unbilled_usd_total{provider="a"} 1.5',
    'cost_unbilled_usd_total{provider="b"} 0',
    'in_flight{provider="a"} 4',
    'in_flight{provider="b"} 0',
    'max_in_flight{provider="a"} 5',
    'queued{provider="a"} 3',
    'queued{provider="b"} 0',
  ])
  providers = [{ ...idle, name: 'b', queued: 1 }]
  assert.deepEqual(await shown(), [
    'cooling_credentials{provider="b"} 0',
    'cost_unbilled_usd_total{provider="b"} 0',
    'in_flight{provider="b"} 0',
    'queued{provider="b"} 1',
  ])
})

test('prices that end soon, or have ended, are gauges of their time, of as many models as there are now', async (t) => {
  let ends = [
    { model: 'soon', endsAt: 1_800_000_000_000, hasEnded: false },
    { model: 'over', endsAt: 1_700_000_000_000, hasEnded: true },
  ]
  const metrics = open(t, { priceEnds: () => ends })
  const gauge = 'turnpike_model_price_end_timestamp_seconds'
  assert.equal(await value(metrics, `${gauge}{model="soon"}`), 1_800_000_000)
  assert.equal(await value(metrics, `${gauge}{model="over"}`), 1_700_000_000)
  ends = []
  assert.equal(await value(metrics, `${gauge}{model="soon"}`), undefined)
})

const BOUNDS = [0.001, 0.5, 1, 30]

/** What the library writes of the same values. */
async function reference(values: readonly (readonly [label: string, value: number])[]): Promise<string> {
  const registry = new Registry()
  const histogram = new Histogram({
    name: 'times_seconds',
    help: 'Some times.',
    buckets: BOUNDS,
    labelNames: ['kind'],
    registers: [registry],
  })
  for (const [kind, value] of values) histogram.labels(kind).observe(value)
  return (await registry.metrics()).trimEnd()
}

test('what is written is what the library writes of the same values', async () => {
  const values = fc.double({ min: 0, max: 100, noNaN: true })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(values, fc.constantFrom(...BOUNDS))), fc.array(values), async (a, b) => {
      const histogram = createHistogram({ name: 'times_seconds', help: 'Some times.', bounds: BOUNDS })
      const [addA, addB] = [histogram.series({ kind: 'a' }), histogram.series({ kind: 'b' })]
      for (const value of a) addA(value)
      for (const value of b) addB(value)
      const expected = [...a.map((value) => ['a', value] as const), ...b.map((value) => ['b', value] as const)]
      assert.equal(histogram.render(), await reference(expected))
    }),
  )
})

test('a series without labels is there before it has a value', () => {
  const histogram = createHistogram({ name: 'x', help: 'X.', bounds: [1] })
  const add = histogram.series({})
  const zero = [
    '# HELP x X.',
    '# TYPE x histogram',
    'x_bucket{le="1"} 0',
    'x_bucket{le="+Inf"} 0',
    'x_sum 0',
    'x_count 0',
  ]
  assert.deepEqual(histogram.render().split('\n'), zero)
  add(1)
  add(2)
  assert.match(histogram.render(), /x_bucket\{le="1"\} 1\nx_bucket\{le="\+Inf"\} 2\nx_sum 3\nx_count 2$/)
})

test('locally counted rate limits are exported under their name and its deprecated alias', async (t) => {
  const metrics = open(t, { localFallback: () => 3 })
  assert.equal(await value(metrics, 'turnpike_limits_local_fallback_total'), 3)
  assert.equal(await value(metrics, 'turnpike_limits_counted_here_total'), 3)
  assert.match(
    await metrics.render(),
    /^# HELP turnpike_limits_counted_here_total Deprecated: use turnpike_limits_local/m,
  )
})

test('exports of completions are counted by their name; a process that exports nothing has no lag', async (t) => {
  const counts = { rows: 7, failures: 2 }
  const analyticsExports = () => [
    { ...counts, name: 'lake', lagMs: 90_500 },
    { ...counts, name: 'other', lagMs: undefined },
  ]
  const metrics = open(t, { analyticsExports })
  assert.equal(await value(metrics, 'turnpike_analytics_export_rows_total{export="lake"}'), 7)
  assert.equal(await value(metrics, 'turnpike_analytics_export_failures_total{export="other"}'), 2)
  assert.equal(await value(metrics, 'turnpike_analytics_export_lag_seconds{export="lake"}'), 90.5)
  assert.equal(await value(metrics, 'turnpike_analytics_export_lag_seconds{export="other"}'), undefined)
  assert.doesNotMatch(await open(t).render(), /analytics_export/)
})
