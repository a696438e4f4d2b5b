/**
 * Composes the export of traces, metrics and logs, and the accounts' own destinations of traces. Without a receiver no
 * exporter is loaded, and requests have no trace.
 */

import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.ts'
import { deriveKeys } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/database.ts'
import { createSealer } from '../db/sealed.ts'
import type { RequestTrace, Tracing, TracingSwitch } from '../domain/trace.ts'
import type { ListDeps, WriteAudit } from '../features/deps.ts'
import { createDestinationExporter, type DestinationExporter } from '../features/telemetry-destinations/exporter.ts'
import { telemetryDestinationsRoutes } from '../features/telemetry-destinations/routes.ts'
import { createGuardedAgent } from '../net/guarded-agent.ts'
import { forwardLines, type Log } from '../telemetry/log.ts'
import type { ExportCounts, Metrics } from '../telemetry/metrics.ts'
import { conversationOf } from './content.ts'
import type { Runtime } from './runtime.ts'

export interface Telemetry {
  /** The tracing switch for code that begins requests. */
  readonly tracing: TracingSwitch
  /** Returns the counts of each exported signal. */
  readonly counts: () => readonly ExportCounts[]
  /** Also exports metrics if that is configured. */
  exportMetrics(metrics: Pick<Metrics, 'read'>): Promise<void>
  /** Adds the routes of destinations, below `/v1`. */
  readonly addApiRoutes: TelemetryDestinations['addApiRoutes']
  /** Sends the queued data. */
  close(): Promise<void>
}

interface TelemetryInput extends DestinationsInput {
  /** The ID of this process. */
  readonly instanceId: string
  readonly runtime: Pick<Runtime, 'now' | 'clock'>
}

interface TraceReceiver {
  add(trace: RequestTrace): void
}

/** One exported signal. */
interface Exported {
  counts(): ExportCounts
  close(): Promise<void>
}

/** How long an exiting process waits for receivers. */
const FLUSH_MS = 3_000

export async function createTelemetry(input: TelemetryInput): Promise<Telemetry> {
  const { otel } = input.config
  for (const warning of otel.warnings) input.log.warn({ warning }, 'a variable of OpenTelemetry was ignored')
  const tracing: TracingSwitch = { current: undefined }
  const signals: Exported[] = []
  const receivers: TraceReceiver[] = []
  const isOwn = otel.exporters.traces !== 'none'
  if (isOwn) {
    const exported = await startTraceExport(input)
    signals.push(exported)
    receivers.push(exported)
    tracing.current = await createTracing(input, receivers)
  }
  if (otel.exporters.logs !== 'none') signals.push(await startLogs(input))
  const destinations = createTelemetryDestinations(input, async (isNeeded) => {
    if (isOwn || isNeeded === (tracing.current !== undefined)) return
    tracing.current = isNeeded ? await createTracing(input, receivers) : undefined
  })
  receivers.push(destinations)
  signals.push(destinations)
  return {
    tracing,
    counts: () => signals.map((signal) => signal.counts()),
    addApiRoutes: destinations.addApiRoutes,
    async exportMetrics(metrics) {
      if (otel.exporters.metrics !== 'none') signals.push(await startMetrics(input, metrics))
    },
    close: async () => void (await Promise.all(signals.map((signal) => signal.close()))),
  }
}

async function createTracing(
  { config: { otel, telemetry }, runtime: { now, clock } }: TelemetryInput,
  receivers: readonly TraceReceiver[],
): Promise<Tracing> {
  const { createTracer } = await import('../telemetry/otlp/tracer.ts')
  const { sampler, samplerRatio, propagators } = otel
  const acceptContext = telemetry.accept_context && propagators.context
  const propagate = telemetry.propagate && propagators.context
  const passBaggage = propagate && acceptContext && propagators.baggage
  const onEnd = (trace: RequestTrace): void => {
    for (const receiver of receivers) receiver.add(trace)
  }
  return createTracer({ sampler, samplerRatio, acceptContext, propagate, passBaggage, now, clock, onEnd })
}

function describe({ config: { otel }, version, instanceId }: TelemetryInput) {
  const { serviceName, resourceAttributes: attributes } = otel
  return { serviceName, version, instanceId, attributes }
}

async function startTraceExport(input: TelemetryInput): Promise<Exported & TraceReceiver> {
  const { config, log, version } = input
  const { createResource, createTraceExport, writeSpans } = await import('../telemetry/otlp/tracer.ts')
  const { batches, exporters, targets } = config.otel
  const resource = createResource(describe(input))
  const onFailure = (reason: string): void => log.warn({ signal: 'traces', reason }, 'telemetry export failed')
  const isConsole = exporters.traces === 'console'
  const endpoint = isConsole ? ({ ...targets.traces, protocol: 'http/json' } as const) : targets.traces
  const sender = isConsole ? { sender: writeSpans } : {}
  const queue = createTraceExport({ endpoint, batch: batches.traces, resource, version, onFailure, ...sender })
  return {
    add(trace) {
      if (trace.context.sampled) queue.add(trace)
    },
    counts: () => ({ signal: 'traces', ...queue.counts, waiting: queue.waiting }),
    close: () => queue.close(FLUSH_MS),
  }
}

async function startLogs(input: TelemetryInput): Promise<Exported> {
  const { config, log, version } = input
  const [{ createResource }, { createLogsExport }] = await Promise.all([
    import('../telemetry/otlp/tracer.ts'),
    import('../telemetry/otlp/logs-export.ts'),
  ])
  const { batches, targets } = config.otel
  const onFailure = (reason: string): void => log.warn({ signal: 'logs', reason }, 'telemetry export failed')
  const resource = createResource(describe(input))
  const queue = createLogsExport({ endpoint: targets.logs, batch: batches.logs, resource, version, onFailure })
  const stop = forwardLines(log, (line) => queue.add(line))
  return {
    counts: () => ({ signal: 'logs', ...queue.counts, waiting: queue.waiting }),
    close() {
      stop()
      return queue.close(FLUSH_MS)
    },
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
  // The next interval exports the same cumulative sums, so nothing is lost without retries.
  const endpoint = { ...targets.metrics, timeoutMs: Math.min(targets.metrics.timeoutMs, FLUSH_MS) }
  const sender = createSender(endpoint, undefined, 1)
  const onFailure = (reason: string): void => log.warn({ signal: 'metrics', reason }, 'telemetry export failed')
  const { now } = runtime
  const resource = createResource(describe(input))
  return startMetricsExport({ endpoint, sender, intervalMs, resource, version, read: metrics.read, now, onFailure })
}

/* Composes telemetry destinations: their API, and the export of accounts' traces. */

interface DestinationsInput {
  readonly database: Pick<OpenedDatabase, 'db'>
  readonly config: Config
  readonly log: Log
  readonly version: string
  /** The secret of the installation. */
  readonly secret: Uint8Array
}

interface TelemetryDestinations extends Pick<DestinationExporter, 'add' | 'counts'> {
  /** Adds the routes below `/v1`. */
  addApiRoutes(app: FastifyInstance, deps: ListDeps & { readonly writeAudit: WriteAudit }): Promise<void>
  close(): Promise<void>
}

/** @param onNeeded Called when the first destination is added and when the last one is removed. */
function createTelemetryDestinations(
  input: DestinationsInput,
  onNeeded: (isNeeded: boolean) => Promise<void>,
): TelemetryDestinations {
  const { database, config, log, version } = input
  const { db } = database
  const { allow_private_networks: allowPrivateNetworks } = config.telemetry
  const sealer = createSealer(deriveKeys(input, 'telemetry destinations'))
  const agent = createGuardedAgent({ allowPrivateNetworks, connections: 2 })
  const exporter = createDestinationExporter({
    ...{ db, sealer, version, agent, allowPrivateNetworks, log, onNeeded, conversationOf },
  })
  exporter.refresh().catch((error: unknown) => log.warn({ err: error }, 'telemetry destinations could not be read'))
  return {
    add: exporter.add,
    counts: exporter.counts,
    async addApiRoutes(app, deps) {
      await app.register(telemetryDestinationsRoutes({ ...deps, sealer, exporter, allowPrivateNetworks }))
    },
    async close() {
      await exporter.close()
      await agent.destroy()
    },
  }
}
