/** A receiver of OTLP/HTTP that validates every request strictly and keeps what it contains. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { decode, REQUESTS } from './protobuf.ts'

interface KeyValue {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

export interface ReceivedSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[]
  readonly status: { readonly code?: number }
  readonly resource: Readonly<Record<string, unknown>>
}

export interface ReceivedMetric {
  readonly name: string
  readonly unit?: string
  readonly sum?: { readonly dataPoints: readonly DataPoint[]; readonly isMonotonic?: boolean }
  readonly gauge?: { readonly dataPoints: readonly DataPoint[] }
  readonly histogram?: { readonly dataPoints: readonly DataPoint[] }
}

interface DataPoint {
  readonly attributes: readonly KeyValue[]
  readonly asDouble?: number
  readonly asInt?: string
  readonly count?: string
  readonly sum?: number
  readonly bucketCounts?: readonly string[]
  readonly exemplars?: readonly { readonly traceId?: string; readonly spanId?: string; readonly asDouble?: number }[]
}

export interface ReceivedLog {
  readonly body: Readonly<Record<string, unknown>>
  readonly severityText: string
  readonly severityNumber: number
  readonly timeUnixNano: string
  readonly traceId?: string
  readonly attributes: readonly KeyValue[]
}

export interface OtlpReceiver {
  readonly url: string
  readonly spans: ReceivedSpan[]
  readonly metrics: ReceivedMetric[]
  readonly logs: ReceivedLog[]
  /** Of each request. */
  readonly headers: IncomingHttpHeaders[]
  /** What was wrong with requests. */
  readonly problems: string[]
  /** What it answers from now on. */
  status: number
  /** Resolves when `isThere` holds after a request. */
  until(isThere: () => boolean): Promise<void>
}

export async function startReceiver(after: (close: () => void) => void): Promise<OtlpReceiver> {
  const waiting = new Set<() => void>()
  const receiver = { spans: [], metrics: [], logs: [], headers: [], problems: [], status: 200 } as Omit<
    OtlpReceiver,
    'url' | 'until'
  > as OtlpReceiver
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    try {
      receiver.headers.push(request.headers)
      if (receiver.status === 200) take(receiver, request.url ?? '', request.headers, Buffer.concat(parts))
    } catch (error) {
      receiver.problems.push(String(error))
    }
    response.writeHead(receiver.status).end()
    for (const wake of waiting) wake()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => void server.close())
  const { port } = server.address() as AddressInfo
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${port}`,
    async until(isThere: () => boolean) {
      while (!isThere()) {
        const { promise, resolve } = Promise.withResolvers<void>()
        waiting.add(resolve)
        await promise
        waiting.delete(resolve)
      }
    },
  })
}

function take(receiver: OtlpReceiver, url: string, headers: IncomingHttpHeaders, sent: Buffer): void {
  const signal = /\/v1\/(traces|metrics|logs)$/.exec(url)?.[1] as keyof typeof REQUESTS | undefined
  if (signal === undefined) throw new Error(`Nothing is received at ${url}.`)
  const body = headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
  const isJson = headers['content-type'] === 'application/json'
  if (!isJson && headers['content-type'] !== 'application/x-protobuf') throw new Error('The content type is unknown.')
  const parsed = (isJson ? JSON.parse(body.toString('utf8')) : decode(body, REQUESTS[signal])) as Parsed
  for (const { resource, scopeSpans = [] } of parsed.resourceSpans ?? [])
    for (const { spans } of scopeSpans)
      for (const span of spans) receiver.spans.push(readSpan(span, resource.attributes))
  for (const { scopeMetrics } of parsed.resourceMetrics ?? [])
    for (const { metrics } of scopeMetrics) receiver.metrics.push(...metrics)
  for (const { scopeLogs } of parsed.resourceLogs ?? [])
    for (const { logRecords } of scopeLogs) receiver.logs.push(...logRecords)
}

type RawSpan = Omit<ReceivedSpan, 'attributes' | 'events' | 'resource'> & {
  readonly attributes: readonly KeyValue[]
  readonly events: readonly { readonly name: string; readonly attributes: readonly KeyValue[] }[]
}
interface Parsed {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] }
    readonly scopeSpans?: readonly { readonly spans: readonly RawSpan[] }[]
  }[]
  readonly resourceLogs?: readonly { readonly scopeLogs: readonly { readonly logRecords: ReceivedLog[] }[] }[]
  readonly resourceMetrics?: readonly { readonly scopeMetrics: readonly { readonly metrics: ReceivedMetric[] }[] }[]
}

function readSpan(span: RawSpan, resource: readonly KeyValue[]): ReceivedSpan {
  if (!/^[0-9a-f]{32}$/.test(span.traceId) || !/^[0-9a-f]{16}$/.test(span.spanId)) throw new Error('An ID is invalid.')
  if (BigInt(span.endTimeUnixNano) < BigInt(span.startTimeUnixNano)) throw new Error('A span ends before it starts.')
  return {
    ...span,
    attributes: readAttributes(span.attributes),
    events: span.events.map(({ name, attributes }) => ({ name, attributes: readAttributes(attributes) })),
    resource: readAttributes(resource),
  }
}

export function readAttributes(list: readonly KeyValue[]): Record<string, unknown> {
  const names = new Set(list.map(({ key }) => key))
  if (names.size !== list.length) throw new Error('An attribute repeats.')
  return Object.fromEntries(list.map(({ key, value }) => [key, readAny(value)]))
}

function readAny(value: Readonly<Record<string, unknown>>): unknown {
  const [entry, ...more] = Object.entries(value)
  if (entry === undefined || more.length > 0) throw new Error('A value has not exactly one type.')
  const [type, content] = entry
  if (type === 'arrayValue') return (content as { values: Readonly<Record<string, unknown>>[] }).values.map(readAny)
  return type === 'intValue' ? Number(content) : content
}
