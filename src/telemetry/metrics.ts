/** Prometheus metrics: completions, counted as the gateway publishes them; the state of the process and its providers, read at each scrape. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import {
  type AttemptNote,
  COMPLETION_CHANNEL,
  type CompletionRecord,
  type CompletionSignal,
  type LastAudit,
} from '../domain/completion.ts'
import type { Hold } from '../domain/credit.ts'
import type { PriceEnd } from '../domain/model.ts'
import type { ProviderStatus } from '../domain/provider-status.ts'
import { countGenAi, OTHER_MODEL } from './gen-ai-metrics.ts'
import { createHistogram, type HistogramReading, type RenderedHistogram } from './histogram.ts'

/** Except `active` and `unwritten`, absent ones are not exported. */
export interface MetricsInput {
  /** Completions in flight. */
  readonly active: () => number
  /** Usage rows not yet in the database. */
  readonly unwritten: () => number
  /** The exhausted resource while new requests are rejected. */
  readonly strain?: () => string | undefined
  /** Of every configured provider. */
  readonly providers?: () => readonly ProviderStatus[]
  /** Agent runs in progress. */
  readonly agents?: () => number
  /** The last completed audit of the ledger. */
  readonly audit?: () => LastAudit | undefined
  /** Models whose price ends soon or has ended. */
  readonly priceEnds?: (() => readonly PriceEnd[]) | undefined
  /** Requests whose rate limits were counted locally although Redis is configured; absent: it is not. */
  readonly localFallback?: (() => number) | undefined
  /** What is held for requests in flight. */
  readonly holds?: (() => readonly Pick<Hold, 'amountNanoUsd'>[]) | undefined
  /** Of budgets in use; the fullest are exported. */
  readonly budgets?: (() => readonly BudgetLevel[]) | undefined
  /** Bytes of the spool that the ledger does not have yet. */
  readonly spoolBytes?: (() => number) | undefined
  /** Milliseconds that the oldest settlement waits for its commit. */
  readonly ledgerLagMs?: (() => number) | undefined
  /** `gen_ai.provider.name` of a configured provider. */
  readonly providerName?: ((configured: string) => string) | undefined
  /** Signals that are exported to OpenTelemetry receivers. */
  readonly exports?: (() => readonly ExportCounts[]) | undefined
  /** Exports of completions that are configured. */
  readonly analyticsExports?: (() => readonly AnalyticsExportCounts[]) | undefined
}

/** Of one export of completions, since the start of the process. */
export interface AnalyticsExportCounts {
  readonly name: string
  readonly rows: number
  readonly failures: number
  /** Milliseconds of completions that are not exported yet; undefined: another process exports. */
  readonly lagMs: number | undefined
}

/** Of one signal that is exported. */
export interface ExportCounts {
  readonly signal: string
  readonly exported: number
  readonly dropped: number
  readonly waiting: number
}

/** How much of a budget is left in its current period. */
export interface BudgetLevel {
  readonly budget: string
  readonly leftNanoUsd: bigint
  readonly limitNanoUsd: bigint
}

export interface Metrics {
  /**
   * All metrics as text, in the format that a client prefers: OpenMetrics, which has exemplars, or Prometheus'.
   * @param accept Its `Accept` header.
   */
  render(accept?: string): Promise<string>
  contentType(accept?: string): string
  /** The same, for another format. */
  read(): Promise<MetricsReading>
  close(): void
}

export interface MetricsReading {
  readonly plain: readonly PlainMetric[]
  readonly histograms: readonly HistogramReading[]
}

/** A counter or a gauge. */
export interface PlainMetric {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly { readonly value: number; readonly labels: Readonly<Record<string, string | number>> }[]
}

/** Whether a client asks for OpenMetrics; others get Prometheus' text. */
function wantsOpenMetrics(accept: string | undefined): boolean {
  return accept?.includes('application/openmetrics-text') === true
}

/** Counts the completions that the gateway publishes on a diagnostics channel. */
export function createMetrics(input: MetricsInput): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addProcessMetrics(registry, input)
  addMoneyMetrics(registry, input)
  addProviderMetrics(registry, input.providers ?? (() => []))
  addExportMetrics(registry, input.exports ?? (() => []))
  if (input.analyticsExports !== undefined) addAnalyticsExportMetrics(registry, input.analyticsExports)
  const count = countCompletions(registry)
  const countCalls = countAttempts(registry)
  const times = timeCompletions()
  const genAi = countGenAi(input.providerName ?? ((name) => name))
  function observe(message: unknown): void {
    const signal = message as CompletionSignal
    count(signal)
    countCalls(signal.record)
    times.note(signal)
    genAi.note(signal)
  }
  subscribe(COMPLETION_CHANNEL, observe)
  const histograms: readonly RenderedHistogram[] = [...times.histograms, ...genAi.histograms]
  return {
    render: (accept) => render(registry, histograms, wantsOpenMetrics(accept)),
    contentType: (accept) => (wantsOpenMetrics(accept) ? OPEN_METRICS : PROMETHEUS),
    read: async () => ({
      plain: ((await registry.getMetricsAsJSON()) as unknown as PlainMetric[]).filter(
        ({ type }) => type !== 'histogram',
      ),
      histograms: histograms.map((histogram) => histogram.read()),
    }),
    close: () => void unsubscribe(COMPLETION_CHANNEL, observe),
  }
}

const PROMETHEUS = Registry.PROMETHEUS_CONTENT_TYPE
const OPEN_METRICS = Registry.OPENMETRICS_CONTENT_TYPE

async function render(registry: Registry, histograms: readonly RenderedHistogram[], isOpen: boolean): Promise<string> {
  const text = await registry.metrics()
  const own = histograms.map((histogram) => histogram.render(isOpen)).join('\n')
  return isOpen ? `${openMetrics(text)}\n${own}\n# EOF\n` : `${text}\n${own}\n`
}

/** The registry's own OpenMetrics renames its counters for good, so that the next scrape in the other format is wrong. */
function openMetrics(text: string): string {
  const lines = text.split('\n').filter((line) => line !== '')
  const counters = new Set(lines.flatMap((line) => /^# TYPE (\S+_total) counter$/.exec(line)?.[1] ?? []))
  const families = lines.map((line) => {
    const [, start = '', name = '', rest = ''] = /^(# (?:HELP|TYPE) )(\S+)(.*)$/.exec(line) ?? []
    return counters.has(name) ? `${start}${name.slice(0, -'_total'.length)}${rest}` : line
  })
  return families.map((line) => line.replace(/ Nan$/, ' NaN')).join('\n')
}

type Sample = readonly [value: number, labels?: Readonly<Record<string, string>>]

interface Metric {
  readonly help: string
  readonly labels?: string[]
  /** Called at each scrape. Samples with the same labels add up. */
  readonly read: () => readonly Sample[]
}

/** By name; those that end in `_total` are counters, the others gauges. */
function addMetrics(registry: Registry, metrics: Readonly<Record<string, Metric>>): void {
  for (const [name, { help, labels = [], read }] of Object.entries(metrics)) {
    const collect = (): void => {
      metric.reset()
      for (const [value, given = {}] of read()) metric.inc(given, value)
    }
    const options = { name, help, labelNames: labels, registers: [registry], collect }
    const metric: Counter | Gauge = name.endsWith('_total') ? new Counter(options) : new Gauge(options)
  }
}

function addProcessMetrics(registry: Registry, input: MetricsInput): void {
  const { active, unwritten, strain, agents, audit, priceEnds, localFallback } = input
  addMetrics(registry, {
    turnpike_active_completions: { help: 'Completions in flight.', read: () => [[active()]] },
    turnpike_active_agents: { help: 'Agent runs in progress.', read: () => [[agents?.() ?? 0]] },
    turnpike_unwritten_usage_rows: { help: 'Usage rows in memory.', read: () => [[unwritten()]] },
    turnpike_overloaded: {
      help: '1 while new requests are rejected.',
      read: () => [[strain?.() === undefined ? 0 : 1]],
    },
    ...(localFallback && {
      turnpike_limits_local_fallback_total: {
        help: 'Requests whose rate limits this process counted locally, since Redis did not answer in time.',
        read: () => [[localFallback()]],
      },
      turnpike_limits_counted_here_total: {
        help: 'Deprecated: use turnpike_limits_local_fallback_total.',
        read: () => [[localFallback()]],
      },
    }),
    ...(audit && {
      turnpike_ledger_audit_findings: {
        help: 'Findings of the last audit of the ledger.',
        read: () => [[audit()?.findings ?? 0]],
      },
      turnpike_ledger_audit_last_run_timestamp_seconds: {
        help: 'End of the last audit of the ledger; 0: none yet.',
        read: () => [[(audit()?.endedAt ?? 0) / 1000]],
      },
    }),
    ...(priceEnds && {
      turnpike_model_price_end_timestamp_seconds: {
        help: 'When the price of a model ends without a successor, from a week before it on, as Unix time.',
        labels: ['model'],
        read: () => priceEnds().map(({ model, endsAt }): Sample => [endsAt / 1000, { model }]),
      },
    }),
  })
}

/** At most, the fullest ones. */
const MAX_BUDGETS = 20

function addMoneyMetrics(registry: Registry, input: MetricsInput): void {
  const { holds, budgets, spoolBytes, ledgerLagMs } = input
  const inUsd = (nanoUsd: bigint): number => Number(nanoUsd) / 1e9
  const one = (help: string, value: () => number): Metric => ({ help, read: () => [[value()]] })
  addMetrics(registry, {
    ...(holds && {
      turnpike_holds: one('Requests in flight with credit on hold.', () => holds().length),
      turnpike_held_usd: one('Credit on hold for requests in flight, in USD.', () =>
        inUsd(holds().reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n)),
      ),
    }),
    ...(spoolBytes && {
      turnpike_spool_bytes: one('Records of money on disk that the ledger does not have yet, in bytes.', spoolBytes),
    }),
    ...(ledgerLagMs && {
      turnpike_ledger_lag_seconds: one(
        'How long the oldest settlement waits for its commit.',
        () => ledgerLagMs() / 1000,
      ),
    }),
    ...(budgets && {
      turnpike_budget_left_usd: {
        help: `Left of a budget in its period, of the ${MAX_BUDGETS} that are fullest, in USD.`,
        labels: ['budget'],
        read: () => fullest(budgets()).map(({ budget, leftNanoUsd }): Sample => [inUsd(leftNanoUsd), { budget }]),
      },
    }),
  })
}

function fullest(budgets: readonly BudgetLevel[]): readonly BudgetLevel[] {
  const share = ({ leftNanoUsd, limitNanoUsd }: BudgetLevel): number =>
    Number(leftNanoUsd) / Math.max(1, Number(limitNanoUsd))
  return budgets.toSorted((one, other) => share(one) - share(other)).slice(0, MAX_BUDGETS)
}

function addExportMetrics(registry: Registry, exports: () => readonly ExportCounts[]): void {
  const each = (value: (counts: ExportCounts) => number) => () =>
    exports().map((counts): Sample => [value(counts), { signal: counts.signal }])
  addMetrics(registry, {
    turnpike_telemetry_exported_total: {
      help: 'Spans and records that OpenTelemetry receivers accepted.',
      labels: ['signal'],
      read: each(({ exported }) => exported),
    },
    turnpike_telemetry_dropped_total: {
      help: 'Spans and records that were dropped: the queue was full, or the receiver did not take them.',
      labels: ['signal'],
      read: each(({ dropped }) => dropped),
    },
    turnpike_telemetry_queued: {
      help: 'Spans and records that wait for their export.',
      labels: ['signal'],
      read: each(({ waiting }) => waiting),
    },
  })
}

function addAnalyticsExportMetrics(registry: Registry, exports: () => readonly AnalyticsExportCounts[]): void {
  const labels = ['export']
  addMetrics(registry, {
    turnpike_analytics_export_rows_total: {
      help: 'Rows of completions that this process exported.',
      labels,
      read: () => exports().map(({ name, rows }): Sample => [rows, { export: name }]),
    },
    turnpike_analytics_export_failures_total: {
      help: 'Failed runs of an export in this process; each is repeated.',
      labels,
      read: () => exports().map(({ name, failures }): Sample => [failures, { export: name }]),
    },
    turnpike_analytics_export_lag_seconds: {
      help: 'How long ago the oldest completion that is not exported may have been created, where this process exports.',
      labels,
      read: () =>
        exports().flatMap(({ name, lagMs }) =>
          lagMs === undefined ? [] : [[lagMs / 1000, { export: name }] as const],
        ),
    },
  })
}

const OPENNESS = { closed: 0, half_open: 0.5, open: 1 } as const

function addProviderMetrics(registry: Registry, status: () => readonly ProviderStatus[]): void {
  const labels = ['provider']
  /** @param value Undefined: not exported. */
  const each = (value: (provider: ProviderStatus) => number | undefined) => () =>
    status().flatMap((provider): Sample[] => {
      const shown = value(provider)
      return shown === undefined ? [] : [[shown, { provider: provider.name }]]
    })
  addMetrics(registry, {
    turnpike_provider_cost_unbilled_usd_total: {
      help: 'Estimated cost of attempts that ended before their first event, which the operator pays.',
      labels,
      read: each(({ unbilledNanoUsd }) => Number(unbilledNanoUsd) / 1e9),
    },
    turnpike_provider_in_flight: {
      help: 'Requests in flight at the provider.',
      labels,
      read: each(({ inFlight }) => inFlight),
    },
    turnpike_provider_max_in_flight: {
      help: 'Concurrency limit of the provider, where there is one.',
      labels,
      read: each(({ maxInFlight }) => maxInFlight),
    },
    turnpike_provider_queued: {
      help: 'Requests queued for the concurrency limit of the provider.',
      labels,
      read: each(({ queued }) => queued),
    },
    turnpike_provider_cooling_credentials: {
      help: 'Credentials in cooldown for some or all models, since the provider limited or rejected them.',
      labels,
      read: each(({ credentials: all }) => all.filter((one) => Object.keys(one.coolingUntil).length > 0).length),
    },
    turnpike_provider_breaker_open: {
      help: 'Circuit breaker of a model at a provider: 1 open, 0.5 half open, 0 closed.',
      labels: ['provider', 'model'],
      read: () =>
        status().flatMap(({ name: provider, deployments }) =>
          deployments.map(({ model, breaker }): Sample => [OPENNESS[breaker], { provider, model }]),
        ),
    },
  })
}

/** By provider; the configuration bounds their number. */
type OutcomeCounts = Map<AttemptNote['provider'], Map<AttemptNote['outcome'], number>>

/** @returns Counts the attempts of a completion. */
function countAttempts(registry: Registry): (record: CompletionRecord) => void {
  const sums: OutcomeCounts = new Map()
  addMetrics(registry, {
    turnpike_provider_attempts_total: {
      help: 'Attempts at providers by outcome.',
      labels: ['provider', 'outcome'],
      read: () =>
        [...sums].flatMap(([provider, counts]) =>
          [...counts].map(([outcome, count]): Sample => [count, { provider, outcome }]),
        ),
    },
  })
  return ({ attemptLog, attempts, provider }) => {
    if (attemptLog !== undefined) for (const attempt of attemptLog) addAttempt(sums, attempt.provider, attempt.outcome)
    else if (attempts > 0) addAttempt(sums, provider, 'answered')
  }
}

function addAttempt(sums: OutcomeCounts, provider: string, outcome: AttemptNote['outcome']): void {
  let counts = sums.get(provider)
  if (counts === undefined) {
    counts = new Map()
    sums.set(provider, counts)
  }
  counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
}

interface Counts {
  completions: number
  inputTokens: number
  outputTokens: number
  costNanoUsd: bigint
  /** Complete answers without usage from the provider. */
  estimated: number
  /** Answers with reported usage outside the possible range. */
  bounded: number
  readonly stream: boolean
  readonly labels: Readonly<Record<'model' | 'provider' | 'status' | 'stream', string>>
}

/** Sums completions by their labels; converted to metrics at each scrape. */
function countCompletions(registry: Registry): (signal: CompletionSignal) => void {
  const sums = new Map<string, Counts[]>()
  const each = (samples: (counts: Counts) => Sample[]) => () => [...sums.values()].flat().flatMap(samples)
  addMetrics(registry, {
    turnpike_completions_total: {
      help: 'Completions by outcome.',
      labels: ['model', 'provider', 'status', 'stream'],
      read: each(({ completions, labels }) => [[completions, labels]]),
    },
    turnpike_tokens_total: {
      help: 'Tokens metered.',
      labels: ['model', 'direction'],
      read: each(({ inputTokens, outputTokens, labels: { model } }) => [
        [inputTokens, { model, direction: 'input' }],
        [outputTokens, { model, direction: 'output' }],
      ]),
    },
    turnpike_cost_usd_total: {
      help: 'Charges in USD.',
      labels: ['model'],
      read: each(({ costNanoUsd, labels: { model } }) => [[Number(costNanoUsd) / 1e9, { model }]]),
    },
    turnpike_usage_estimated_total: {
      help: "Complete answers whose usage was estimated: the provider's was missing.",
      labels: ['model', 'provider'],
      read: each(({ estimated, labels: { model, provider } }) =>
        estimated > 0 ? [[estimated, { model, provider }]] : [],
      ),
    },
    turnpike_usage_bounded_total: {
      help: 'Answers whose provider reported usage outside the possible range; they are charged at the nearest bound.',
      labels: ['model', 'provider'],
      read: each(({ bounded, labels: { model, provider } }) => (bounded > 0 ? [[bounded, { model, provider }]] : [])),
    },
  })
  return (signal) => addCompletion(sums, signal)
}

function addCompletion(sums: Map<string, Counts[]>, { record, reported }: CompletionSignal): void {
  const sum = sumOf(sums, record)
  sum.completions += 1
  sum.inputTokens += record.promptTokens
  sum.outputTokens += record.completionTokens
  sum.costNanoUsd += record.costNanoUsd
  if (record.usageSource === 'estimated' && record.status === 'completed') sum.estimated += 1
  if (reported !== undefined) sum.bounded += 1
}

/** Named in metrics; further ones count as `other`. */
const MAX_MODELS = 1_000

/** A model has a handful of sums: scanning them costs less than building a key. */
function sumOf(sums: Map<string, Counts[]>, record: CompletionRecord): Counts {
  const { provider, status, stream } = record
  let { model } = record
  let ofModel = sums.get(model)
  if (ofModel === undefined && sums.size >= MAX_MODELS) {
    model = OTHER_MODEL
    ofModel = sums.get(model)
  }
  if (ofModel === undefined) {
    ofModel = []
    sums.set(model, ofModel)
  }
  for (const sum of ofModel) {
    if (sum.stream === stream && sum.labels.provider === provider && sum.labels.status === status) return sum
  }
  const labels = { model, provider, status, stream: String(stream) }
  const none = { completions: 0, inputTokens: 0, outputTokens: 0, costNanoUsd: 0n, estimated: 0, bounded: 0 }
  const sum: Counts = { ...none, stream, labels }
  ofModel.push(sum)
  return sum
}

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const OVERHEAD_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1]

/** `note` takes the times of a completion, `render` returns Prometheus text. */
function timeCompletions() {
  const duration = createHistogram({
    name: 'turnpike_completion_duration_seconds',
    help: 'From the request to the end of its response.',
    bounds: SECONDS,
  })
  const firstByte = createHistogram({
    name: 'turnpike_first_byte_seconds',
    help: 'From the request to the first byte written to the client.',
    bounds: SECONDS,
  })
  const overhead = createHistogram({
    name: 'turnpike_overhead_seconds',
    help: 'The part of the time to the first byte that the gateway spent.',
    bounds: OVERHEAD_SECONDS,
  })
  const seriesOf = (labels: { readonly stream: string }) => ({
    duration: duration.series(labels),
    firstByte: firstByte.series(labels),
  })
  const streamed = seriesOf({ stream: 'true' })
  const whole = seriesOf({ stream: 'false' })
  const addOverhead = overhead.series({})
  return {
    note({ record: { stream, durationMs, firstByteMs }, overheadMs, trace }: CompletionSignal): void {
      const times = stream ? streamed : whole
      times.duration(durationMs / 1000, trace)
      if (firstByteMs !== undefined) times.firstByte(firstByteMs / 1000, trace)
      if (overheadMs !== undefined) addOverhead(overheadMs / 1000)
    },
    histograms: [duration, firstByte, overhead],
  }
}
