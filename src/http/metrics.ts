import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { CompletionRecord } from '../domain/completion.ts'
import { COMPLETION_CHANNEL, type CompletionSignal } from '../domain/signals.ts'

export interface MetricsInput {
  /** Completions under way. */
  readonly active: () => number
  /** Usage rows that wait for the database. */
  readonly unwritten: () => number
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
export function createMetrics({ active, unwritten }: MetricsInput): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addGauge(registry, { name: 'turnpike_active_completions', help: 'Completions under way.', value: active })
  addGauge(registry, { name: 'turnpike_unwritten_usage_rows', help: 'Usage rows in memory.', value: unwritten })
  const count = countCompletions(registry)
  const time = timeCompletions(registry)
  function observe(message: unknown): void {
    const signal = message as CompletionSignal
    count(signal)
    time(signal)
  }
  subscribe(COMPLETION_CHANNEL, observe)
  return {
    render: () => registry.metrics(),
    contentType: registry.contentType,
    close: () => void unsubscribe(COMPLETION_CHANNEL, observe),
  }
}

interface Counts {
  completions: number
  inputTokens: number
  outputTokens: number
  costNanoUsd: bigint
  readonly labels: {
    readonly model: string
    readonly provider: string
    readonly status: string
    readonly stream: string
  }
}

/** Sums in numbers of ours, by what tells completions apart; they become metrics when somebody asks for them. */
function countCompletions(registry: Registry): (signal: CompletionSignal) => void {
  const sums = new Map<string, Counts>()
  addCounter(registry, {
    name: 'turnpike_completions_total',
    help: 'Completions by outcome.',
    labelNames: ['model', 'provider', 'status', 'stream'],
    collect(counter) {
      for (const { labels, completions } of sums.values()) counter.inc(labels, completions)
    },
  })
  addCounter(registry, {
    name: 'turnpike_tokens_total',
    help: 'Tokens metered.',
    labelNames: ['model', 'direction'],
    collect(counter) {
      for (const { labels, inputTokens, outputTokens } of sums.values()) {
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
      for (const { labels, costNanoUsd } of sums.values())
        counter.inc({ model: labels.model }, Number(costNanoUsd) / 1e9)
    },
  })
  return ({ record }) => addRecord(sums, record)
}

function addRecord(sums: Map<string, Counts>, record: CompletionRecord): void {
  const { model, provider, status, stream } = record
  const key = `${model}\n${provider}\n${status}\n${stream}`
  let sum = sums.get(key)
  if (sum === undefined) {
    const labels = { model, provider, status, stream: String(stream) }
    sum = { completions: 0, inputTokens: 0, outputTokens: 0, costNanoUsd: 0n, labels }
    sums.set(key, sum)
  }
  sum.completions += 1
  sum.inputTokens += record.promptTokens
  sum.outputTokens += record.completionTokens
  sum.costNanoUsd += record.costNanoUsd
}

function timeCompletions(registry: Registry): (signal: CompletionSignal) => void {
  const duration = addHistogram(registry, {
    name: 'turnpike_completion_duration_seconds',
    help: 'From the request to the end of its answer.',
    buckets: SECONDS,
  })
  const firstByte = addHistogram(registry, {
    name: 'turnpike_first_byte_seconds',
    help: 'From the request to the first byte written to the client.',
    buckets: SECONDS,
  })
  const overhead = new Histogram({
    name: 'turnpike_overhead_seconds',
    help: 'The part of the time to the first byte that was not the provider’s.',
    buckets: OVERHEAD_SECONDS,
    registers: [registry],
  })
  return ({ record: { stream, durationMs, firstByteMs }, overheadMs }) => {
    duration(stream, durationMs)
    if (firstByteMs !== undefined) firstByte(stream, firstByteMs)
    if (overheadMs !== undefined) overhead.observe(overheadMs / 1000)
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

interface HistogramInput {
  readonly name: string
  readonly help: string
  readonly buckets: number[]
}

/** By whether the answer was streamed; takes milliseconds. */
function addHistogram(registry: Registry, input: HistogramInput): (stream: boolean, ms: number) => void {
  const histogram = new Histogram({ ...input, labelNames: ['stream'], registers: [registry] })
  const streamed = histogram.labels('true')
  const whole = histogram.labels('false')
  return (stream, ms) => (stream ? streamed : whole).observe(ms / 1000)
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
