import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { type TestContext, test } from 'node:test'
import type { CompletionRecord } from '../domain/completion.ts'
import type { AccountId, CompletionId, KeyId } from '../domain/ids.ts'
import { COMPLETION_CHANNEL, type CompletionSignal } from '../domain/signals.ts'
import { createMetrics, type Metrics } from './metrics.ts'

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
    clientRequestId: undefined,
    ...over,
  }
  channel(COMPLETION_CHANNEL).publish({ record, overheadMs } satisfies CompletionSignal)
}

function open(t: TestContext, input: { active?: () => number; unwritten?: () => number } = {}): Metrics {
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
