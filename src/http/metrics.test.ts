import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { type TestContext, test } from 'node:test'
import type { AttemptNote, CompletionRecord } from '../domain/completion.ts'
import type { AccountId, CompletionId, KeyId } from '../domain/ids.ts'
import type { DeploymentStatus, ProviderStatus } from '../domain/provider-status.ts'
import { COMPLETION_CHANNEL, type CompletionSignal } from '../domain/signals.ts'
import { createMetrics, type Metrics, type MetricsInput } from './metrics.ts'

function publish(over: Partial<CompletionRecord> = {}, overheadMs?: number): void {
  const record: CompletionRecord = {
    id: 'chatcmpl-1' as CompletionId,
    accountId: 'acc_secret' as AccountId,
    keyId: 'key_secret' as KeyId,
    model: 'm1',
    provider: 'up',
    status: 'completed',
    stream: true,
    finishReason: 'stop',
    promptTokens: 10,
    completionTokens: 5,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    costNanoUsd: 20_000n,
    priceVersion: 'pv_1',
    usageSource: 'provider',
    createdAt: 0,
    durationMs: 700,
    firstByteMs: 60,
    attempts: 1,
    attemptLog: undefined,
    clientRequestId: undefined,
    ...over,
  }
  channel(COMPLETION_CHANNEL).publish({ record, overheadMs } satisfies CompletionSignal)
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
  const idle = { baseUrl: '', maxInFlight: undefined, inFlight: 0, queued: 0, credentials: [], deployments: [] }
  const busy: ProviderStatus = {
    ...idle,
    name: 'a',
    maxInFlight: 5,
    inFlight: 4,
    queued: 3,
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
    'in_flight{provider="a"} 4',
    'in_flight{provider="b"} 0',
    'max_in_flight{provider="a"} 5',
    'queued{provider="a"} 3',
    'queued{provider="b"} 0',
  ])
  providers = [{ ...idle, name: 'b', queued: 1 }]
  assert.deepEqual(await shown(), [
    'cooling_credentials{provider="b"} 0',
    'in_flight{provider="b"} 0',
    'queued{provider="b"} 1',
  ])
})
