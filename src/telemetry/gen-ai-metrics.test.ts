import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { type TestContext, test } from 'node:test'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { completionRecord } from '../../test/support/ledger/completions.ts'
import { COMPLETION_CHANNEL, type CompletionRecord, type CompletionSignal } from '../domain/completion.ts'
import type { AccountId, KeyId } from '../domain/ids.ts'
import { createMetrics, type Metrics } from './metrics.ts'

const RECORD = completionRecord({
  accountId: 'acc_secret' as AccountId,
  keyId: 'key_secret' as KeyId,
  provider: 'up',
  stream: true,
  costNanoUsd: 20_000n,
  durationMs: 700,
  firstByteMs: 300,
})
const TRACE = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  sampled: true,
  state: undefined,
  baggage: undefined,
}

function publish(over: Partial<CompletionRecord> = {}, trace: CompletionSignal['trace'] = undefined): void {
  channel(COMPLETION_CHANNEL).publish({
    record: { ...RECORD, ...over },
    overheadMs: 1,
    trace,
  } satisfies CompletionSignal)
}

function open(t: TestContext): Metrics {
  const metrics = createMetrics({ active: () => 0, unwritten: () => 0, providerName: (name) => `known ${name}` })
  t.after(() => metrics.close())
  return metrics
}

const LABELS =
  'gen_ai_operation_name="chat",gen_ai_provider_name="known up",gen_ai_request_model="m1",turnpike_provider="up"'

test('tokens, duration, first token and time for each token are histograms of the conventions', async (t) => {
  const metrics = open(t)
  publish()
  publish({ stream: false, status: 'failed', firstByteMs: undefined, completionTokens: 0 })
  const text = await metrics.render()
  for (const line of [
    `gen_ai_client_token_usage_sum{${LABELS},gen_ai_token_type="input"} 10`,
    `gen_ai_client_token_usage_sum{${LABELS},gen_ai_token_type="output"} 5`,
    `gen_ai_server_request_duration_seconds_count{${LABELS}} 1`,
    `gen_ai_server_request_duration_seconds_count{${LABELS},error_type="failed"} 1`,
    `gen_ai_server_time_to_first_token_seconds_sum{${LABELS}} 0.3`,
    `gen_ai_server_time_per_output_token_seconds_sum{${LABELS}} 0.1`,
    `gen_ai_client_token_usage_bucket{le="16",${LABELS},gen_ai_token_type="input"} 1`,
  ]) {
    assert.ok(text.includes(`\n${line}\n`), `${line} is missing`)
  }
})

test('their names in OpenTelemetry are those of the conventions', async (t) => {
  const { histograms } = await open(t).read()
  const names = histograms.map(({ name }) => name).filter((name) => name.startsWith('gen_ai'))
  assert.deepEqual(names, [
    conventions.METRIC_GEN_AI_CLIENT_TOKEN_USAGE,
    conventions.METRIC_GEN_AI_SERVER_REQUEST_DURATION,
    conventions.METRIC_GEN_AI_SERVER_TIME_TO_FIRST_TOKEN,
    conventions.METRIC_GEN_AI_SERVER_TIME_PER_OUTPUT_TOKEN,
  ])
})

test('OpenMetrics has exemplars that link to sampled traces; Prometheus text has none', async (t) => {
  const metrics = open(t)
  publish({}, TRACE)
  publish({ model: 'm2' }, { ...TRACE, sampled: false })
  const accept = 'application/openmetrics-text;version=1.0.0;q=0.75,text/plain;q=0.5'
  const text = await metrics.render(accept)
  assert.match(metrics.contentType(accept), /^application\/openmetrics-text/)
  const linked = text.split('\n').filter((line) => line.includes(' # {'))
  const link = `# {trace_id="${TRACE.traceId}",span_id="${TRACE.spanId}"} 0.7 `
  assert.ok(
    linked.some(
      (line) => line.startsWith('gen_ai_server_request_duration_seconds_bucket{le="1.28"') && line.includes(link),
    ),
  )
  assert.ok(linked.every((line) => !line.includes('"m2"')))
  assert.match(text, /\n# EOF\n$/)
  assert.doesNotMatch(text, /\n\n/)
  assert.match(text, /^# TYPE turnpike_completions counter$/m)
  const plain = await metrics.render()
  assert.doesNotMatch(plain, /trace_id|EOF/)
  assert.match(plain, /^# TYPE turnpike_completions_total counter$/m)
})

test('series are bounded: further models count as other [limit: metric-series]', async (t) => {
  const metrics = open(t)
  for (let model = 0; model < 1_500; model++) publish({ model: `m${model}` })
  const lines = (await metrics.render()).split('\n')
  const counts = lines.filter((line) => line.startsWith('gen_ai_server_request_duration_seconds_count'))
  assert.equal(counts.length, 1_001)
  assert.ok(counts.includes(`gen_ai_server_request_duration_seconds_count{${LABELS.replace('"m1"', '"other"')}} 500`))
  const models = new Set(lines.flatMap((line) => /^turnpike_completions_total\{model="([^"]+)"/.exec(line)?.[1] ?? []))
  assert.equal(models.size, 1_001)
})

test('no label names an account, a key, a request or a user', async (t) => {
  const metrics = open(t)
  publish({ clientRequestId: 'secret' })
  assert.doesNotMatch(await metrics.render('application/openmetrics-text'), /secret|chatcmpl/)
})

test('holds, budgets, spool and lag are read at each scrape, budgets at most the 20 fullest [limit: metric-budgets]', async (t) => {
  const budgets = Array.from({ length: 30 }, (_, at) => ({
    budget: `b${at}`,
    leftNanoUsd: BigInt(at) * 1_000_000_000n,
    limitNanoUsd: 100_000_000_000n,
  }))
  const metrics = createMetrics({
    active: () => 0,
    unwritten: () => 0,
    holds: () => [{ amountNanoUsd: 1_500_000_000n }, { amountNanoUsd: 500_000_000n }],
    budgets: () => budgets,
    spoolBytes: () => 77,
    ledgerLagMs: () => 1_500,
  })
  t.after(() => metrics.close())
  const lines = (await metrics.render()).split('\n')
  for (const line of [
    'turnpike_holds 2',
    'turnpike_held_usd 2',
    'turnpike_spool_bytes 77',
    'turnpike_ledger_lag_seconds 1.5',
  ])
    assert.ok(lines.includes(line), line)
  const left = lines.filter((line) => line.startsWith('turnpike_budget_left_usd{'))
  assert.equal(left.length, 20)
  assert.ok(left.includes('turnpike_budget_left_usd{budget="b19"} 19'))
})
