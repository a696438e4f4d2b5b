/** Composes the export of traces and metrics. Without a receiver nothing is loaded, and requests have no trace. */
import type { Config } from '../config/schema.ts'
import type { RequestTrace, TracingSwitch } from '../domain/trace.ts'
import type { Log } from '../telemetry/log.ts'
import type { ExportCounts, Metrics } from '../telemetry/metrics.ts'
import type { Runtime } from './runtime.ts'

export interface Telemetry {
  /** For whoever begins requests. */
  readonly tracing: TracingSwitch
  /** Of each signal that is exported. */
  readonly counts: () => readonly ExportCounts[]
  /** Exports metrics too, if the configuration says so. */
  exportMetrics(metrics: Pick<Metrics, 'read'>): Promise<void>
  /** Sends what waits. */
  close(): Promise<void>
}

interface TelemetryInput {
  readonly config: Config
  readonly log: Log
  readonly version: string
  /** Of this process. */
  readonly instanceId: string
  readonly runtime: Pick<Runtime, 'now' | 'clock'>
}

/** One signal that is exported. */
interface Exported {
  counts(): ExportCounts
  close(): Promise<void>
}

/** How long a process that ends waits for receivers. */
const FLUSH_MS = 3_000

export async function createTelemetry(input: TelemetryInput): Promise<Telemetry> {
  const { otel } = input.config
  for (const warning of otel.warnings) input.log.warn({ warning }, 'a variable of OpenTelemetry was ignored')
  const tracing: TracingSwitch = { current: undefined }
  const signals: Exported[] = []
  if (otel.exporters.traces !== 'none') signals.push(await startTracing(input, tracing))
  return {
    tracing,
    counts: () => signals.map((signal) => signal.counts()),
    async exportMetrics(metrics) {
      if (otel.exporters.metrics !== 'none') signals.push(await startMetrics(input, metrics))
    },
    close: async () => void (await Promise.all(signals.map((signal) => signal.close()))),
  }
}

function describe({ config: { otel }, version, instanceId }: TelemetryInput) {
  const { serviceName, resourceAttributes: attributes } = otel
  return { serviceName, version, instanceId, attributes }
}

async function startTracing(input: TelemetryInput, tracing: TracingSwitch): Promise<Exported> {
  const { config, log, version, runtime } = input
  const { createResource, createTraceExport, createTracer, exportTrace, writeSpans } = await import(
    '../telemetry/otlp/tracer.ts'
  )
  const { otel, telemetry } = config
  const { batch, sampler, samplerRatio } = otel
  const resource = createResource(describe(input))
  const onFailure = (reason: string): void => log.warn({ signal: 'traces', reason }, 'telemetry export failed')
  const isConsole = otel.exporters.traces === 'console'
  const target = otel.targets.traces
  const endpoint = isConsole ? ({ ...target, protocol: 'http/json' } as const) : target
  const sender = isConsole ? { sender: writeSpans } : {}
  const queue = createTraceExport({ endpoint, batch, resource, version, onFailure, ...sender })
  const onEnd = (trace: RequestTrace): void => {
    if (trace.context.sampled) exportTrace(queue, trace)
  }
  const { accept_context: acceptContext, propagate } = telemetry
  const { now, clock } = runtime
  tracing.current = createTracer({ sampler, samplerRatio, acceptContext, propagate, now, clock, onEnd })
  return {
    counts: () => ({ signal: 'traces', ...queue.counts, waiting: queue.waiting }),
    close: () => queue.close(FLUSH_MS),
  }
}

async function startMetrics(input: TelemetryInput, metrics: Pick<Metrics, 'read'>): Promise<Exported> {
  const { config, log, version, runtime } = input
  const [{ createResource }, { startMetricsExport }, { createSender }] = await Promise.all([
    import('../telemetry/otlp/tracer.ts'),
    import('../telemetry/otlp/metrics-export.ts'),
    import('../telemetry/otlp/sender.ts'),
  ])
  const { targets, metricIntervalMs: intervalMs } = config.otel
  // The next interval exports the same sums again: nothing is lost without retries.
  const endpoint = { ...targets.metrics, timeoutMs: Math.min(targets.metrics.timeoutMs, FLUSH_MS) }
  const sender = createSender(endpoint, undefined, 1)
  const onFailure = (reason: string): void => log.warn({ signal: 'metrics', reason }, 'telemetry export failed')
  const { now } = runtime
  const resource = createResource(describe(input))
  return startMetricsExport({ endpoint, sender, intervalMs, resource, version, read: metrics.read, now, onFailure })
}
