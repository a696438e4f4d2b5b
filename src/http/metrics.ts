import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
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

function countCompletions(registry: Registry): (signal: CompletionSignal) => void {
  const registers = [registry]
  const completions = new Counter({
    name: 'turnpike_completions_total',
    help: 'Completions by outcome.',
    labelNames: ['model', 'provider', 'status', 'stream'],
    registers,
  })
  const tokens = new Counter({
    name: 'turnpike_tokens_total',
    help: 'Tokens metered.',
    labelNames: ['model', 'direction'],
    registers,
  })
  const cost = new Counter({
    name: 'turnpike_cost_usd_total',
    help: 'Charges in USD.',
    labelNames: ['model'],
    registers,
  })
  return ({ record }) => {
    const { model, provider, status } = record
    completions.inc({ model, provider, status, stream: String(record.stream) })
    tokens.inc({ model, direction: 'input' }, record.promptTokens)
    tokens.inc({ model, direction: 'output' }, record.completionTokens)
    cost.inc({ model }, Number(record.costNanoUsd) / 1e9)
  }
}

function timeCompletions(registry: Registry): (signal: CompletionSignal) => void {
  const registers = [registry]
  const duration = new Histogram({
    name: 'turnpike_completion_duration_seconds',
    help: 'From the request to the end of its answer.',
    labelNames: ['stream'],
    buckets: SECONDS,
    registers,
  })
  const firstByte = new Histogram({
    name: 'turnpike_first_byte_seconds',
    help: 'From the request to the first byte written to the client.',
    labelNames: ['stream'],
    buckets: SECONDS,
    registers,
  })
  const overhead = new Histogram({
    name: 'turnpike_overhead_seconds',
    help: 'The part of the time to the first byte that was not the provider’s.',
    buckets: OVERHEAD_SECONDS,
    registers,
  })
  return ({ record, overheadMs }) => {
    const stream = String(record.stream)
    duration.observe({ stream }, record.durationMs / 1000)
    if (record.firstByteMs !== undefined) firstByte.observe({ stream }, record.firstByteMs / 1000)
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
