/**
 * Traces requests and exports their spans. Sampling decides once, at the start; spans are encoded when their request has ended,
 * and wait as bytes. Loaded only where somebody receives traces.
 */
import { randomFillSync } from 'node:crypto'
import { type AttributeValue, type HrTime, ROOT_CONTEXT, type SpanStatusCode } from '@opentelemetry/api'
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import { type ReadableSpan, SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'
import type { Dispatcher } from 'undici'
import type { RequestTrace, TraceHeaders, Tracing } from '../../domain/trace.ts'
import { parseBaggage, parseTraceparent } from '../../lib/trace-context.ts'
import { createQueue, type ExportQueue } from './queue.ts'
import { createSender, type OtlpEndpoint, type Sender, type SendResult } from './sender.ts'
import {
  IS_SAMPLED,
  nanosecondsOf,
  protobufSpans,
  type SpanEncoding,
  type SpanHead,
  type SpanOrigin,
  type SpanWriter,
} from './span-encoder.ts'
import { type SpanDetails, spanCount, writeTrace } from './spans.ts'

export interface TracerOptions {
  readonly sampler: string
  readonly samplerRatio: number
  /** Whether a client's `traceparent` continues its trace. */
  readonly acceptContext: boolean
  /** Whether providers receive the context. */
  readonly propagate: boolean
  /** Whether their context has the client's baggage. */
  readonly passBaggage: boolean
  /** Unix milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Receives each trace that has ended, sampled or not. */
  readonly onEnd: (trace: RequestTrace) => void
}

export function createTracer(options: TracerOptions): Tracing {
  const { acceptContext, propagate, passBaggage, now, clock, onEnd } = options
  const sample = createSampler(options)
  const randomHex = createRandomHex()
  const newSpanId = (): string => randomHex(SPAN_ID_BYTES)
  const end = (trace: RequestTrace): void => {
    trace.endedAt = clock()
    onEnd(trace)
  }
  return {
    begin(headers: TraceHeaders) {
      const { traceparent, tracestate, baggage: received } = headers
      const parent = acceptContext && traceparent !== undefined ? parseTraceparent(traceparent, tracestate) : undefined
      const baggage = passBaggage ? parseBaggage(received) : undefined
      const traceId = parent?.traceId ?? randomHex(TRACE_ID_BYTES)
      const sampled = sample(traceId, parent?.sampled)
      return {
        context: { traceId, spanId: newSpanId(), sampled, state: parent?.state, baggage },
        parentSpanId: parent?.spanId,
        startedAt: clock(),
        startedAtUnixMs: now(),
        newSpanId,
        propagate,
        steps: [],
        attempts: [],
        request: undefined,
        record: undefined,
        content: undefined,
        route: undefined,
        status: undefined,
        endedAt: undefined,
        errorCode: undefined,
        open: 1,
        onEnd: end,
      }
    },
  }
}

const TRACE_ID_BYTES = 16
const SPAN_ID_BYTES = 8
const RANDOM_POOL_BYTES = 4_096

/** Takes random bytes from the system by the pool: a call for each ID costs more than the ID. */
function createRandomHex(): (bytes: number) => string {
  const pool = Buffer.alloc(RANDOM_POOL_BYTES)
  let at = RANDOM_POOL_BYTES
  return (bytes) => {
    if (at + bytes > RANDOM_POOL_BYTES) {
      randomFillSync(pool)
      at = 0
    }
    at += bytes
    return pool.toString('hex', at - bytes, at)
  }
}

/** @returns Whether a trace is sampled, by the decision of its parent where the sampler's name says so. */
function createSampler({ sampler, samplerRatio }: Pick<TracerOptions, 'sampler' | 'samplerRatio'>) {
  const isParentBased = sampler.startsWith('parentbased_')
  const root = isParentBased ? sampler.slice('parentbased_'.length) : sampler
  const ratio = new TraceIdRatioBasedSampler(samplerRatio)
  const atRoot = (traceId: string): boolean => {
    if (root !== 'traceidratio') return root === 'always_on'
    return ratio.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED
  }
  return (traceId: string, ofParent: boolean | undefined): boolean =>
    isParentBased && ofParent !== undefined ? ofParent : atRoot(traceId)
}

export interface ResourceInput {
  readonly serviceName: string
  readonly version: string
  readonly instanceId: string | undefined
  readonly attributes: Readonly<Record<string, string>>
}

/** What the service says of itself in every signal. */
export function createResource({ serviceName, version, instanceId, attributes }: ResourceInput): Resource {
  return resourceFromAttributes({
    'service.name': serviceName,
    'service.version': version,
    ...(instanceId !== undefined && { 'service.instance.id': instanceId }),
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.name': 'opentelemetry',
    'process.runtime.name': 'nodejs',
    'process.runtime.version': process.versions.node,
    ...attributes,
  })
}

export interface TraceExportOptions extends Partial<SpanDetails> {
  readonly endpoint: OtlpEndpoint
  readonly batch: { readonly maxQueue: number; readonly maxBatch: number; readonly delayMs: number }
  readonly resource: Resource
  readonly version: string
  /** Default: sends to `endpoint`. */
  readonly sender?: Sender
  readonly onFailure?: (reason: string) => void
  /** Called with the bytes of a trace that begins to wait, and with their negative when it is sent. */
  readonly onWaiting?: (bytes: number) => void
}

/** A queue of traces in front of an OTLP endpoint. */
export interface TraceExport extends Pick<ExportQueue<never>, 'counts' | 'waiting' | 'close'> {
  /** Has the spans of a trace that has ended encoded, unless the queue is full. */
  add(trace: RequestTrace): void
}

export function createTraceExport(options: TraceExportOptions): TraceExport {
  const { endpoint, resource, version } = options
  const origin: SpanOrigin = { resource, scope: { name: 'turnpike', version } }
  return endpoint.protocol === 'http/json'
    ? createSpanQueue(options, origin, createJsonSpans(origin))
    : createSpanQueue(options, origin, protobufSpans)
}

function createSpanQueue<Encoded extends { readonly length: number }>(
  options: TraceExportOptions,
  origin: SpanOrigin,
  { writer, take, requestOf, recycle }: SpanEncoding<Encoded>,
): TraceExport {
  const { endpoint, batch, extras, contentOf, isForeign = false, onFailure, onWaiting = () => {} } = options
  const { sender = createSender(endpoint) } = options
  const details: SpanDetails = { extras, contentOf, isForeign }
  const encode = (trace: RequestTrace): Encoded => {
    writeTrace(writer, trace, details)
    const spans = take()
    onWaiting(spans.length)
    return spans
  }
  const send = async (spans: readonly Encoded[]): Promise<SendResult> => {
    for (const { length } of spans) onWaiting(-length)
    const request = requestOf(spans, origin)
    const result = await sender.send(request)
    recycle(request)
    return result
  }
  const queue = createQueue<Encoded>({ ...batch, send, ...(onFailure && { onFailure }) })
  let ended: RequestTrace[] = []
  const encodeEnded = (): void => {
    const traces = ended
    ended = []
    for (const trace of traces) queue.addMade(() => encode(trace), spanCount(trace))
  }
  return {
    counts: queue.counts,
    get waiting() {
      return queue.waiting + ended.reduce((sum, trace) => sum + spanCount(trace), 0)
    },
    // Those of one iteration of the event loop together: encoding one at a time, between other work, takes half as long again.
    add(trace) {
      if (ended.push(trace) === 1) setImmediate(encodeEnded)
    },
    close(timeoutMs) {
      encodeEnded()
      return queue.close(timeoutMs)
    },
  }
}

/** For `OTEL_TRACES_EXPORTER=console`: one line of JSON for each batch, on the standard output. */
export const writeSpans: Sender = {
  async send(body) {
    process.stdout.write(`${Buffer.from(body).toString('utf8')}\n`)
    return { ok: true }
  },
}

/** Spans as JSON, by OpenTelemetry's encoder. */
function createJsonSpans(origin: SpanOrigin): SpanEncoding<readonly ReadableSpan[]> {
  const { writer, take } = createSpanCollector(origin)
  return {
    writer,
    take,
    requestOf: (spans) => JsonTraceSerializer.serializeRequest(spans.flat()) ?? new Uint8Array(),
    recycle: () => {},
  }
}

interface OpenSpan {
  readonly head: SpanHead
  readonly attributes: Record<string, AttributeValue>
  readonly events: ReadableSpan['events']
}

/** Collects spans in the form that OpenTelemetry's encoders read. */
export function createSpanCollector(origin: SpanOrigin): { readonly writer: SpanWriter; take(): ReadableSpan[] } {
  let spans: ReadableSpan[] = []
  let span: OpenSpan | undefined
  const writer: SpanWriter = {
    begin(head) {
      span = { head, attributes: {}, events: [] }
    },
    attribute({ text }, value) {
      if (span !== undefined && value !== undefined) span.attributes[text] = value
    },
    event({ name, atMs, attribute, value }) {
      span?.events.push({ name, time: hrTime(atMs), attributes: { [attribute.text]: value } })
    },
    end(code) {
      if (span !== undefined) spans.push(readableSpan(span, code, origin))
    },
  }
  const take = (): ReadableSpan[] => {
    const taken = spans
    spans = []
    return taken
  }
  return { writer, take }
}

function readableSpan({ head, attributes, events }: OpenSpan, code: SpanStatusCode, origin: SpanOrigin): ReadableSpan {
  const { name, kind, traceId, spanId, isSampled, parentSpanId, isParentRemote: isRemote, startMs, endMs } = head
  const context = { traceId, spanId, traceFlags: isSampled ? IS_SAMPLED : 0 }
  return {
    ...{ name, kind, attributes, events, status: { code } },
    spanContext: () => context,
    ...(parentSpanId !== undefined && { parentSpanContext: { ...context, spanId: parentSpanId, isRemote } }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs),
    duration: hrTime(endMs - startMs),
    ended: true,
    links: [],
    resource: origin.resource,
    instrumentationScope: origin.scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

function hrTime(unixMs: number): HrTime {
  const seconds = Math.floor(unixMs / 1000)
  return [seconds, nanosecondsOf(unixMs, seconds)]
}

interface DestinationOptions
  extends Pick<TraceExportOptions, 'endpoint' | 'batch' | 'version' | 'extras' | 'contentOf' | 'onWaiting'> {
  /** Connects to allowed addresses only. */
  readonly dispatcher: Dispatcher
  /** Throws where the address is not allowed any more. */
  readonly check: () => void
}

/** The export of an account's traces to a destination of its own: nothing of the installation but the service's name. */
export function createDestinationExport(options: DestinationOptions): TraceExport {
  const { dispatcher, check, ...exported } = options
  const { endpoint, version } = exported
  const resource = createResource({ serviceName: 'turnpike', version, instanceId: undefined, attributes: {} })
  const guarded = createSender(endpoint, dispatcher, 1)
  const sender: Sender = {
    async send(body) {
      try {
        check()
      } catch {
        return { ok: false, reason: 'address not allowed' }
      }
      return await guarded.send(body)
    },
  }
  return createTraceExport({ ...exported, resource, isForeign: true, sender })
}
