import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { CompletionRecord } from '../domain/completion.ts'
import type { PriceEnd } from '../domain/price-ends.ts'
import type { ProviderStatus } from '../domain/provider-status.ts'
import { COMPLETION_CHANNEL, type CompletionSignal, type LastAudit } from '../domain/signals.ts'
import { createHistogram } from './histogram.ts'
import { countAttempts, showPriceEnds, showProviders } from './provider-metrics.ts'

export interface MetricsInput {
  /** Completions under way. */
  readonly active: () => number
  /** Usage rows that wait for the database. */
  readonly unwritten: () => number
  /** What there is too little of, while new requests are turned away. */
  readonly strain?: () => string | undefined
  /** Of every configured provider; asked at each scrape. */
  readonly providers?: () => readonly ProviderStatus[]
  /** Runs of agents under way. */
  readonly agents?: () => number
  /** The last audit of the ledger; undefined: none has ended. Asked at each scrape. */
  readonly audit?: () => LastAudit | undefined
  /** Models whose price ends soon or has ended. */
  readonly priceEnds?: (() => readonly PriceEnd[]) | undefined
  /** Requests whose limits this process counted by itself although there is a Redis; absent: there is none. */
  readonly countedHere?: (() => number) | undefined
}

export interface Metrics {
  /** Prometheus text. */
  render(): Promise<string>
  readonly contentType: string
  close(): void
}

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const OVERHEAD_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1]

/** Counts what the gateway publishes; nothing on the hot path knows of it. */
export function createMetrics(input: MetricsInput): Metrics {
  const {
    active,
    unwritten,
    strain = () => undefined,
    providers = () => [],
    agents = () => 0,
    countedHere,
    priceEnds,
  } = input
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addGauge(registry, { name: 'turnpike_active_completions', help: 'Completions under way.', value: active })
  addGauge(registry, { name: 'turnpike_active_agents', help: 'Runs of agents under way.', value: agents })
  addGauge(registry, { name: 'turnpike_unwritten_usage_rows', help: 'Usage rows in memory.', value: unwritten })
  addGauge(registry, {
    name: 'turnpike_overloaded',
    help: '1 while new requests are turned away.',
    value: () => (strain() === undefined ? 0 : 1),
  })
  if (countedHere !== undefined) {
    addCounter(registry, {
      name: 'turnpike_limits_counted_here_total',
      help: 'Requests whose limits this process counted by itself, since Redis did not do so in time.',
      labelNames: [],
      collect: (counter) => counter.inc(countedHere()),
    })
  }
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

function showAudit(registry: Registry, audit: () => LastAudit | undefined): void {
  addGauge(registry, {
    name: 'turnpike_ledger_audit_findings',
    help: 'Findings of the last audit of the ledger.',
    value: () => audit()?.findings ?? 0,
  })
  addGauge(registry, {
    name: 'turnpike_ledger_audit_last_run_timestamp_seconds',
    help: 'When the last audit of the ledger ended; 0: none has.',
    value: () => (audit()?.endedAt ?? 0) / 1000,
  })
}

interface Counts {
  completions: number
  inputTokens: number
  outputTokens: number
  costNanoUsd: bigint
  /** Whole answers whose provider said nothing of usage. */
  counted: number
  /** Reports outside of what can have been used. */
  bounded: number
  readonly stream: boolean
  readonly labels: {
    readonly model: string
    readonly provider: string
    readonly status: string
    readonly stream: string
  }
}

/** Sums in numbers of ours, by what tells completions apart; they become metrics when somebody asks for them. */
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
    help: "Whole answers that were counted here: their provider's usage was missing.",
    labelNames: ['model', 'provider'],
    collect(counter) {
      for (const { labels, counted } of allOf(sums)) {
        if (counted > 0) counter.inc({ model: labels.model, provider: labels.provider }, counted)
      }
    },
  })
  addCounter(registry, {
    name: 'turnpike_usage_bounded_total',
    help: 'Answers whose provider reported usage outside of what can have been used; they are charged at the nearest bound.',
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

/** A model has a handful of sums; to go through them costs less than a text to look them up by. */
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
    help: 'From the request to the end of its answer.',
    bounds: SECONDS,
  })
  const firstByte = createHistogram({
    name: 'turnpike_first_byte_seconds',
    help: 'From the request to the first byte written to the client.',
    bounds: SECONDS,
  })
  const overhead = createHistogram({
    name: 'turnpike_overhead_seconds',
    help: 'The part of the time to the first byte that was not the provider’s.',
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

/** `GET /metrics`, for whom `allow` lets through: it throws otherwise. */
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
