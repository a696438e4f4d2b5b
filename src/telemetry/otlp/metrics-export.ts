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
import type { Exemplar, HistogramReading, Labels } from '../histogram.ts'
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
  const serialize = endpoint.protocol === 'http/json' ? serializeJson : serializeProtobuf
  let isFailing = false
  let running: Promise<void> | undefined
  const exportNow = async (): Promise<void> => {
    const reading = await read()
    const data = resourceMetrics(reading, { ...options, startTime: startedAt, endTime: hrTime(now()) })
    const points = data.scopeMetrics
      .flatMap(({ metrics }) => metrics)
      .reduce((sum, { dataPoints }) => sum + dataPoints.length, 0)
    const result = await sender.send(serialize(data, exemplarsOf(reading)))
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

/* Exemplars, which OpenTelemetry's serializers leave out, are added to what these have made. */

/** Of each data point of a histogram, in the order of the request. */
type PointExemplars = readonly (readonly Exemplar[])[]

function exemplarsOf({ histograms }: MetricsReading): PointExemplars {
  const points = histograms.flatMap(({ series }) => series)
  return points.map(({ exemplars }) => exemplars.filter((exemplar) => exemplar !== undefined))
}

interface JsonRequest {
  readonly resourceMetrics: readonly { readonly scopeMetrics: readonly { readonly metrics: readonly JsonMetric[] }[] }[]
}
interface JsonMetric {
  readonly histogram?: { readonly dataPoints: { exemplars?: readonly object[] }[] }
}

function serializeJson(data: ResourceMetrics, exemplars: PointExemplars): Uint8Array {
  const text = Buffer.from(JsonMetricsSerializer.serializeRequest(data) ?? []).toString('utf8')
  const request = JSON.parse(text) as JsonRequest
  const metrics = request.resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  const points = metrics.flatMap(({ histogram }) => histogram?.dataPoints ?? [])
  for (const [at, point] of points.entries()) {
    point.exemplars = (exemplars[at] ?? []).map(({ traceId, spanId, value, at: seconds }) => ({
      ...{ timeUnixNano: String(unixNano(seconds)), asDouble: value, spanId, traceId },
    }))
  }
  return Buffer.from(JSON.stringify(request))
}

/** Numbers of the fields that lead from a request to the data points of its histograms, in `metrics.proto`. */
const POINTS_PATH = [1, 2, 2, 9, 1] as const

function serializeProtobuf(data: ResourceMetrics, exemplars: PointExemplars): Uint8Array {
  const request = Buffer.from(ProtobufMetricsSerializer.serializeRequest(data) ?? [])
  let next = 0
  return extended(request, POINTS_PATH, () => Buffer.concat((exemplars[next++] ?? []).map(encodeExemplar)))
}

/** Appends fields to each message below a path. @param message Of protobuf, as the serializer has made it. */
function extended(message: Buffer, [field, ...path]: readonly number[], more: () => Buffer): Buffer {
  if (field === undefined) return Buffer.concat([message, more()])
  const parts: Buffer[] = []
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++] ?? 0
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }
  while (at < message.length) {
    const start = at
    const key = varint()
    const length = lengthOf(key & 7, varint)
    const content = message.subarray(at, at + length)
    at += length
    if (key !== field * 8 + 2) parts.push(message.subarray(start, at))
    else {
      const inner = extended(content, path, more)
      parts.push(encodeVarint(key), encodeVarint(inner.length), inner)
    }
  }
  return Buffer.concat(parts)
}

/** Returns the bytes of a value after what `varint` reads of it. */
function lengthOf(wireType: number, varint: () => number): number {
  if (wireType === 1) return 8
  if (wireType === 5) return 4
  const value = varint()
  return wireType === 2 ? value : 0
}

function encodeVarint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
  return Buffer.from([...bytes, rest])
}

/** Field 8 of a data point: time, value, and the IDs of span and trace, with their tags. */
function encodeExemplar({ traceId, spanId, value, at }: Exemplar): Buffer {
  const time = Buffer.alloc(8)
  time.writeBigUInt64LE(unixNano(at))
  const number = Buffer.alloc(8)
  number.writeDoubleLE(value)
  const ids = [Buffer.from([0x22, 8]), Buffer.from(spanId, 'hex'), Buffer.from([0x2a, 16]), Buffer.from(traceId, 'hex')]
  const exemplar = Buffer.concat([Buffer.from([0x11]), time, Buffer.from([0x19]), number, ...ids])
  return Buffer.concat([Buffer.from([0x42, exemplar.length]), exemplar])
}

function unixNano(seconds: number): bigint {
  return BigInt(Math.round(seconds * 1000)) * 1_000_000n
}
