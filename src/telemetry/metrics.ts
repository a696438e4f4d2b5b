import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import {
  COMPLETION_CHANNEL,
  type CompletionRecord,
  type CompletionSignal,
  type LastAudit,
} from '../domain/completion.ts'
import type { PriceEnd } from '../domain/model.ts'
import type { ProviderStatus } from '../domain/provider-status.ts'
import { countAttempts, showPriceEnds, showProviders } from './provider-metrics.ts'

export interface MetricsInput {
  /** Completions in flight. */
  readonly active: () => number
  /** Usage rows not yet in the database. */
  readonly unwritten: () => number
  /** The exhausted resource while new requests are rejected. */
  readonly strain?: () => string | undefined
  /** Of every configured provider; called at each scrape. */
  readonly providers?: () => readonly ProviderStatus[]
  /** Agent runs in progress. */
  readonly agents?: () => number
  /** The last completed audit of the ledger; called at each scrape. */
  readonly audit?: () => LastAudit | undefined
  /** Models whose price ends soon or has ended. */
  readonly priceEnds?: (() => readonly PriceEnd[]) | undefined
  /** Requests whose rate limits were counted locally although Redis is configured; absent: it is not. */
  readonly localFallback?: (() => number) | undefined
}

export interface Metrics {
  /** Prometheus text. */
  render(): Promise<string>
  readonly contentType: string
  close(): void
}

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const OVERHEAD_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1]

/** Counts the completions that the gateway publishes on a diagnostics channel. */
export function createMetrics(input: MetricsInput): Metrics {
  const {
    active,
    unwritten,
    strain = () => undefined,
    providers = () => [],
    agents = () => 0,
    localFallback,
    priceEnds,
  } = input
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addGauge(registry, { name: 'turnpike_active_completions', help: 'Completions in flight.', value: active })
  addGauge(registry, { name: 'turnpike_active_agents', help: 'Agent runs in progress.', value: agents })
  addGauge(registry, { name: 'turnpike_unwritten_usage_rows', help: 'Usage rows in memory.', value: unwritten })
  addGauge(registry, {
    name: 'turnpike_overloaded',
    help: '1 while new requests are rejected.',
    value: () => (strain() === undefined ? 0 : 1),
  })
  if (localFallback !== undefined) addLocalFallback(registry, localFallback)
  if (input.audit !== undefined) showAudit(registry, input.audit)
  if (priceEnds !== undefined) showPriceEnds(registry, priceEnds)
  showProviders(registry, providers)
  const count = countCompletions(registry)
  const countCalls = countAttempts(registry)
  const times = timeCompletions()
  function observe(message: unknown): void {
    const signal = message as CompletionSignal
    count(signal)
    countCalls(signal.record)
    times.note(signal)
  }
  subscribe(COMPLETION_CHANNEL, observe)
  return {
    render: async () => `${await registry.metrics()}\n${times.render()}\n`,
    contentType: registry.contentType,
    close: () => void unsubscribe(COMPLETION_CHANNEL, observe),
  }
}

function addLocalFallback(registry: Registry, requests: () => number): void {
  const name = 'turnpike_limits_local_fallback_total'
  const help = 'Requests whose rate limits this process counted locally, since Redis did not answer in time.'
  const collect = (counter: Counter) => counter.inc(requests())
  addCounter(registry, { name, help, labelNames: [], collect })
  const alias = { name: 'turnpike_limits_counted_here_total', help: `Deprecated: use ${name}.` }
  addCounter(registry, { ...alias, labelNames: [], collect })
}

function showAudit(registry: Registry, audit: () => LastAudit | undefined): void {
  addGauge(registry, {
    name: 'turnpike_ledger_audit_findings',
    help: 'Findings of the last audit of the ledger.',
    value: () => audit()?.findings ?? 0,
  })
  addGauge(registry, {
    name: 'turnpike_ledger_audit_last_run_timestamp_seconds',
    help: 'End of the last audit of the ledger; 0: none yet.',
    value: () => (audit()?.endedAt ?? 0) / 1000,
  })
}

interface Counts {
  completions: number
  inputTokens: number
  outputTokens: number
  costNanoUsd: bigint
  /** Complete answers without usage from the provider. */
  counted: number
  /** Answers with reported usage outside the possible range. */
  bounded: number
  readonly stream: boolean
  readonly labels: {
    readonly model: string
    readonly provider: string
    readonly status: string
    readonly stream: string
  }
}

/** Sums completions by their labels; converted to metrics at each scrape. */
function countCompletions(registry: Registry): (signal: CompletionSignal) => void {
  const sums = new Map<string, Counts[]>()
  addCounter(registry, {
    name: 'turnpike_completions_total',
    help: 'Completions by outcome.',
    labelNames: ['model', 'provider', 'status', 'stream'],
    collect(counter) {
      for (const { labels, completions } of allOf(sums)) counter.inc(labels, completions)
    },
  })
  addCounter(registry, {
    name: 'turnpike_tokens_total',
    help: 'Tokens metered.',
    labelNames: ['model', 'direction'],
    collect(counter) {
      for (const { labels, inputTokens, outputTokens } of allOf(sums)) {
        counter.inc({ model: labels.model, direction: 'input' }, inputTokens)
        counter.inc({ model: labels.model, direction: 'output' }, outputTokens)
      }
    },
  })
  addCounter(registry, {
    name: 'turnpike_cost_usd_total',
    help: 'Charges in USD.',
    labelNames: ['model'],
    collect(counter) {
      for (const { labels, costNanoUsd } of allOf(sums)) counter.inc({ model: labels.model }, Number(costNanoUsd) / 1e9)
    },
  })
  addCounter(registry, {
    name: 'turnpike_usage_estimated_total',
    help: "Complete answers whose usage was estimated: the provider's was missing.",
    labelNames: ['model', 'provider'],
    collect(counter) {
      for (const { labels, counted } of allOf(sums)) {
        if (counted > 0) counter.inc({ model: labels.model, provider: labels.provider }, counted)
      }
    },
  })
  addCounter(registry, {
    name: 'turnpike_usage_bounded_total',
    help: 'Answers whose provider reported usage outside the possible range; they are charged at the nearest bound.',
    labelNames: ['model', 'provider'],
    collect(counter) {
      for (const { labels, bounded } of allOf(sums)) {
        if (bounded > 0) counter.inc({ model: labels.model, provider: labels.provider }, bounded)
      }
    },
  })
  return (signal) => addSignal(sums, signal)
}

function allOf(sums: ReadonlyMap<string, readonly Counts[]>): readonly Counts[] {
  return [...sums.values()].flat()
}

function addSignal(sums: Map<string, Counts[]>, { record, reported }: CompletionSignal): void {
  const sum = sumOf(sums, record)
  sum.completions += 1
  sum.inputTokens += record.promptTokens
  sum.outputTokens += record.completionTokens
  sum.costNanoUsd += record.costNanoUsd
  if (record.usageSource === 'estimated' && record.status === 'completed') sum.counted += 1
  if (reported !== undefined) sum.bounded += 1
}

/** A model has a handful of sums: scanning them costs less than building a key. */
function sumOf(sums: Map<string, Counts[]>, { model, provider, status, stream }: CompletionRecord): Counts {
  let ofModel = sums.get(model)
  if (ofModel === undefined) {
    ofModel = []
    sums.set(model, ofModel)
  }
  for (const sum of ofModel) {
    if (sum.stream === stream && sum.labels.provider === provider && sum.labels.status === status) return sum
  }
  const labels = { model, provider, status, stream: String(stream) }
  const sum: Counts = {
    completions: 0,
    inputTokens: 0,
    outputTokens: 0,
    costNanoUsd: 0n,
    counted: 0,
    bounded: 0,
    stream,
    labels,
  }
  ofModel.push(sum)
  return sum
}

interface Times {
  note(signal: CompletionSignal): void
  /** Prometheus text. */
  render(): string
}

function timeCompletions(): Times {
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
  const seriesOf = (labels: string) => ({ duration: duration.series(labels), firstByte: firstByte.series(labels) })
  const streamed = seriesOf('stream="true"')
  const whole = seriesOf('stream="false"')
  const addOverhead = overhead.series('')
  return {
    note({ record: { stream, durationMs, firstByteMs }, overheadMs }) {
      const times = stream ? streamed : whole
      times.duration(durationMs / 1000)
      if (firstByteMs !== undefined) times.firstByte(firstByteMs / 1000)
      if (overheadMs !== undefined) addOverhead(overheadMs / 1000)
    },
    render: () => [duration, firstByte, overhead].map((histogram) => histogram.render()).join('\n\n'),
  }
}

/** `GET /metrics`. @param allow Throws for unauthorized requests. */
export function metricsRoute(
  app: FastifyInstance,
  metrics: Metrics,
  allow: (request: FastifyRequest) => void | Promise<void>,
): void {
  app.get('/metrics', { schema: { hide: true } }, async (request, reply) => {
    await allow(request)
    return reply.type(metrics.contentType).send(await metrics.render())
  })
}

interface CounterInput {
  readonly name: string
  readonly help: string
  readonly labelNames: string[]
  readonly collect: (counter: Counter) => void
}

function addCounter(registry: Registry, { name, help, labelNames, collect }: CounterInput): void {
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset()
      collect(this)
    },
  })
}

interface GaugeInput {
  readonly name: string
  readonly help: string
  readonly value: () => number
}

function addGauge(registry: Registry, { name, help, value }: GaugeInput): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value())
    },
  })
}

/** A Prometheus histogram. The library's own look up their series by a text of its labels for every value. */
interface Histogram {
  /**
   * Creates a series, exported once it has a value; without labels always.
   * @param labels Without braces: `stream="true"`; '' for none.
   * @returns Adds a value.
   */
  series(labels: string): (value: number) => void
  /** Prometheus text. */
  render(): string
}

interface HistogramInput {
  readonly name: string
  readonly help: string
  /** Upper bounds, ascending. */
  readonly bounds: readonly number[]
}

interface Series {
  readonly labels: string
  /** Values by the first bound that they do not exceed; the last counts the rest. */
  readonly counts: number[]
  total: number
  sum: number
}

export function createHistogram({ name, help, bounds }: HistogramInput): Histogram {
  const all: Series[] = []
  return {
    series(labels) {
      const series = { labels, counts: new Array<number>(bounds.length + 1).fill(0), total: 0, sum: 0 }
      all.push(series)
      return (value) => addValue(series, bounds, value)
    },
    render() {
      const shown = all.filter(({ labels, total }) => labels === '' || total > 0)
      const lines = shown.flatMap((series) => renderSeries(name, bounds, series))
      return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines].join('\n')
    },
  }
}

function addValue(series: Series, bounds: readonly number[], value: number): void {
  let at = 0
  while (at < bounds.length && value > (bounds[at] ?? 0)) at++
  series.counts[at] = (series.counts[at] ?? 0) + 1
  series.total += 1
  series.sum += value
}

function renderSeries(name: string, bounds: readonly number[], { labels, counts, total, sum }: Series): string[] {
  const more = labels === '' ? '' : `,${labels}`
  const own = labels === '' ? '' : `{${labels}}`
  let upTo = 0
  const buckets = bounds.map((bound, at) => {
    upTo += counts[at] ?? 0
    return `${name}_bucket{le="${bound}"${more}} ${upTo}`
  })
  return [
    ...buckets,
    `${name}_bucket{le="+Inf"${more}} ${total}`,
    `${name}_sum${own} ${sum}`,
    `${name}_count${own} ${total}`,
  ]
}
