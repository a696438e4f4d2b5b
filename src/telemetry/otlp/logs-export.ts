/**
 * Exports the lines of the log over OTLP. The queue holds lines as text and parses them when it sends their batch, so that
 * requests do not pay for it.
 */
import type { AnyValue, Attributes, HrTime, SeverityNumber } from '@opentelemetry/api'
import { JsonLogsSerializer, ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer'
import type { Resource } from '@opentelemetry/resources'
import { createQueue, type ExportQueue, type QueueOptions } from './queue.ts'
import { createSender, type OtlpEndpoint } from './sender.ts'

interface LogsExportOptions {
  readonly endpoint: OtlpEndpoint
  readonly batch: Pick<QueueOptions<string>, 'maxQueue' | 'maxBatch' | 'delayMs'>
  readonly resource: Resource
  readonly version: string
  readonly onFailure: (reason: string) => void
}

type LogRecord = Parameters<typeof ProtobufLogsSerializer.serializeRequest>[0][number]

/** Returns a queue of lines in front of an OTLP endpoint. */
export function createLogsExport({
  endpoint,
  batch,
  resource,
  version,
  onFailure,
}: LogsExportOptions): ExportQueue<string> {
  const sender = createSender(endpoint)
  const serializer = endpoint.protocol === 'http/json' ? JsonLogsSerializer : ProtobufLogsSerializer
  const source = { resource, instrumentationScope: { name: 'turnpike', version } }
  const send = (lines: readonly string[]) =>
    sender.send(serializer.serializeRequest(lines.map((line) => recordOf(line, source))) ?? new Uint8Array())
  return createQueue({ ...batch, send, onFailure })
}

/** By `pino`'s numbers, from `debug` to `fatal`. */
const SEVERITIES: Readonly<Record<number, readonly [text: string, number: SeverityNumber]>> = {
  10: ['TRACE', 1],
  20: ['DEBUG', 5],
  30: ['INFO', 9],
  40: ['WARN', 13],
  50: ['ERROR', 17],
  60: ['FATAL', 21],
}

interface Line {
  readonly level: number
  /** ISO 8601. */
  readonly time: string
  readonly msg: string
  readonly trace_id?: string
}

function recordOf(line: string, source: Pick<LogRecord, 'resource' | 'instrumentationScope'>): LogRecord {
  const { level, time, msg, trace_id: traceId, ...fields } = JSON.parse(line) as Line // as `pino` and `log.ts` write it
  const [severityText, severityNumber] = SEVERITIES[level] ?? []
  const at = hrTimeOf(time)
  return {
    ...source,
    hrTime: at,
    hrTimeObserved: at,
    ...(severityText !== undefined && { severityText }),
    ...(severityNumber !== undefined && { severityNumber }),
    ...(traceId !== undefined && { spanContext: { traceId, spanId: '', traceFlags: 0 } }),
    body: msg satisfies AnyValue,
    attributes: attributesOf(fields),
    droppedAttributesCount: 0,
  }
}

/** Renders objects as JSON text; other values stay as they are. */
function attributesOf(fields: Readonly<Record<string, unknown>>): Attributes {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : (value as string | number | boolean),
    ]),
  )
}

function hrTimeOf(time: string): HrTime {
  const ms = Date.parse(time)
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000]
}
