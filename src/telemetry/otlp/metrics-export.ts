/** Exports the same metrics that `/metrics` has over OTLP: those of the GenAI conventions by their names, others by Prometheus'. */
import { type HrTime, ValueType } from '@opentelemetry/api'
import { JsonMetricsSerializer, ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer'
import type { Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics'
import type { HistogramReading, Labels } from '../histogram.ts'
import type { ExportCounts, MetricsReading, PlainMetric } from '../metrics.ts'
import type { OtlpEndpoint, Sender } from './sender.ts'

export interface MetricsExportOptions {
  readonly endpoint: OtlpEndpoint
  readonly sender: Sender
  readonly intervalMs: number
  readonly resource: Resource
  readonly version: string
  readonly read: () => Promise<MetricsReading>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly onFailure: (reason: string) => void
}

export interface MetricsExport {
  /** In data points. */
  counts(): ExportCounts
  /** Exports once more. */
  close(): Promise<void>
}

export function startMetricsExport(options: MetricsExportOptions): MetricsExport {
  const { endpoint, sender, intervalMs, read, now, onFailure } = options
  const counts = { exported: 0, dropped: 0 }
  const startedAt = hrTime(now())
  const serializer = endpoint.protocol === 'http/json' ? JsonMetricsSerializer : ProtobufMetricsSerializer
  let isFailing = false
  let running: Promise<void> | undefined
  const exportNow = async (): Promise<void> => {
    const data = resourceMetrics(await read(), { ...options, startTime: startedAt, endTime: hrTime(now()) })
    const points = data.scopeMetrics
      .flatMap(({ metrics }) => metrics)
      .reduce((sum, { dataPoints }) => sum + dataPoints.length, 0)
    const result = await sender.send(serializer.serializeRequest(data) ?? new Uint8Array())
    counts[result.ok ? 'exported' : 'dropped'] += points
    if (!result.ok && !isFailing) onFailure(result.reason)
    isFailing = !result.ok
  }
  const run = (): Promise<void> => {
    running ??= exportNow()
      .catch((error: unknown) => onFailure(String(error)))
      .finally(() => (running = undefined))
    return running
  }
  const timer = setInterval(() => void run(), intervalMs).unref()
  return {
    counts: () => ({ signal: 'metrics', ...counts, waiting: 0 }),
    async close() {
      clearInterval(timer)
      await running
      await run()
    },
  }
}

interface Collected {
  readonly resource: Resource
  readonly version: string
  readonly startTime: HrTime
  readonly endTime: HrTime
}

function resourceMetrics({ plain, histograms }: MetricsReading, collected: Collected): ResourceMetrics {
  const { resource, version } = collected
  const metrics = [
    ...plain.map((metric) => plainData(metric, collected)),
    ...histograms.map((histogram) => histogramData(histogram, collected)),
  ].filter(({ dataPoints }) => dataPoints.length > 0)
  return { resource, scopeMetrics: [{ scope: { name: 'turnpike', version }, metrics }] }
}

type Times = Pick<Collected, 'startTime' | 'endTime'>

function plainData({ name, help, type, values }: PlainMetric, { startTime, endTime }: Times): MetricData {
  const shared = {
    descriptor: { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    // NaN, as of a mean without values, is null in JSON, for which receivers reject all metrics.
    dataPoints: values
      .filter(({ value }) => Number.isFinite(value))
      .map(({ value, labels }) => ({ startTime, endTime, attributes: { ...labels }, value })),
  }
  if (type === 'counter') return { ...shared, dataPointType: DataPointType.SUM, isMonotonic: true }
  return { ...shared, dataPointType: DataPointType.GAUGE }
}

function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return 's'
  return /_bytes$/.test(name) ? 'By' : ''
}

function histogramData(
  { name, unit, help, bounds, series }: HistogramReading,
  { startTime, endTime }: Times,
): MetricData {
  return {
    descriptor: { name, description: help, unit, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: series.map(({ labels, counts, total, sum }) => ({
      startTime,
      endTime,
      attributes: attributesOf(labels),
      value: { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count: total },
    })),
  }
}

/** Labels of the conventions are their attributes with underscores for dots. */
const ATTRIBUTES: Readonly<Record<string, string>> = {
  gen_ai_operation_name: 'gen_ai.operation.name',
  gen_ai_provider_name: 'gen_ai.provider.name',
  gen_ai_request_model: 'gen_ai.request.model',
  gen_ai_token_type: 'gen_ai.token.type',
  error_type: 'error.type',
  turnpike_provider: 'turnpike.provider',
}

function attributesOf(labels: Labels): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [ATTRIBUTES[label] ?? label, value]))
}

function hrTime(unixMs: number): HrTime {
  return [Math.floor(unixMs / 1000), (unixMs % 1000) * 1e6]
}
