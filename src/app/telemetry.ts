/** Composes the export of traces. Without a receiver nothing is loaded, and requests have no trace. */
import type { Config } from '../config/schema.ts'
import type { RequestTrace, TracingSwitch } from '../domain/trace.ts'
import type { Log } from '../telemetry/log.ts'
import type { ExportCounts } from '../telemetry/metrics.ts'
import type { Runtime } from './runtime.ts'

export interface Telemetry {
  /** For whoever begins requests. */
  readonly tracing: TracingSwitch
  /** Of each signal that is exported. */
  readonly counts: () => readonly ExportCounts[]
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

/** How long a process that ends waits for receivers. */
const FLUSH_MS = 3_000

export async function createTelemetry(input: TelemetryInput): Promise<Telemetry> {
  const { otel } = input.config
  for (const warning of otel.warnings) input.log.warn({ warning }, 'a variable of OpenTelemetry was ignored')
  if (otel.exporters.traces === 'none')
    return { tracing: { current: undefined }, counts: () => [], close: async () => {} }
  return await startTracing(input)
}

async function startTracing({ config, log, version, instanceId, runtime }: TelemetryInput): Promise<Telemetry> {
  const { createResource, createTraceExport, createTracer, exportTrace, writeSpans } = await import(
    '../telemetry/otlp/tracer.ts'
  )
  const { otel, telemetry } = config
  const { serviceName, resourceAttributes: attributes, batch, sampler, samplerRatio } = otel
  const resource = createResource({ serviceName, version, instanceId, attributes })
  const onFailure = (reason: string): void => log.warn({ signal: 'traces', reason }, 'telemetry export failed')
  const isConsole = otel.exporters.traces === 'console'
  const target = otel.targets.traces
  const endpoint = isConsole ? ({ ...target, protocol: 'http/json' } as const) : target
  const queue = createTraceExport({
    endpoint,
    batch,
    resource,
    version,
    onFailure,
    ...(isConsole && { sender: writeSpans }),
  })
  const onEnd = (trace: RequestTrace): void => {
    if (trace.context.sampled) exportTrace(queue, trace)
  }
  const { accept_context: acceptContext, propagate } = telemetry
  const tracer = createTracer({
    sampler,
    samplerRatio,
    acceptContext,
    propagate,
    now: runtime.now,
    clock: runtime.clock,
    onEnd,
  })
  return {
    tracing: { current: tracer },
    counts: () => [{ signal: 'traces', ...queue.counts, waiting: queue.waiting }],
    close: () => queue.close(FLUSH_MS),
  }
}
