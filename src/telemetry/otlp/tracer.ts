/**
 * Traces requests and exports their spans. Sampling decides once, at the start; spans are made and serialized when a batch is
 * sent. Loaded only where somebody receives traces.
 */
import { randomFillSync } from 'node:crypto'
import { setImmediate as nextTick } from 'node:timers/promises'
import { ROOT_CONTEXT } from '@opentelemetry/api'
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import { type ReadableSpan, SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'
import type { RequestTrace, TraceHeaders, Tracing } from '../../domain/trace.ts'
import { parseBaggage, parseTraceparent } from '../../lib/trace-context.ts'
import { createQueue, type ExportQueue } from './queue.ts'
import { createSender, type OtlpEndpoint, type Sender, type SendResult } from './sender.ts'
import { type SpanExtras, type SpanSource, spanCount, spansOf } from './spans.ts'

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

export interface TraceExportOptions {
  readonly endpoint: OtlpEndpoint
  readonly batch: { readonly maxQueue: number; readonly maxBatch: number; readonly delayMs: number }
  readonly resource: Resource
  readonly version: string
  readonly extras?: SpanExtras | undefined
  /** The receiver is not the operator's. */
  readonly isForeign?: boolean
  /** Default: sends to `endpoint`. */
  readonly sender?: Sender
  readonly onFailure?: (reason: string) => void
}

/** A queue of traces in front of an OTLP endpoint. */
export function createTraceExport(options: TraceExportOptions): ExportQueue<RequestTrace> {
  const {
    endpoint,
    batch,
    resource,
    version,
    extras,
    isForeign = false,
    sender = createSender(endpoint),
    onFailure,
  } = options
  const source: SpanSource = { resource, scope: { name: 'turnpike', version }, extras, isForeign }
  const serialize = endpoint.protocol === 'http/json' ? serializeJson : serializeProtobuf
  const send = async (traces: readonly RequestTrace[]): Promise<SendResult> =>
    sender.send(await serialize(traces, source))
  return createQueue({ ...batch, send, ...(onFailure && { onFailure }) })
}

/** For `OTEL_TRACES_EXPORTER=console`: one line of JSON for each batch, on the standard output. */
export const writeSpans: Sender = {
  async send(body) {
    process.stdout.write(`${Buffer.from(body).toString('utf8')}\n`)
    return { ok: true }
  },
}

/** Adds a trace to a queue, as many spans as it has. */
export function exportTrace(queue: ExportQueue<RequestTrace>, trace: RequestTrace): void {
  queue.add(trace, spanCount(trace))
}

/** Traces that are serialized in one go: about half a millisecond. */
const SLICE = 32

/** Messages of protobuf that follow each other are one message: requests get their turn between slices. */
async function serializeProtobuf(traces: readonly RequestTrace[], source: SpanSource): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for (let at = 0; at < traces.length; at += SLICE) {
    if (at > 0) await nextTick()
    parts.push(ProtobufTraceSerializer.serializeRequest(spansOfAll(traces.slice(at, at + SLICE), source)) ?? NOTHING)
  }
  return Buffer.concat(parts)
}

const NOTHING = new Uint8Array()

async function serializeJson(traces: readonly RequestTrace[], source: SpanSource): Promise<Uint8Array> {
  return JsonTraceSerializer.serializeRequest(spansOfAll(traces, source)) ?? NOTHING
}

function spansOfAll(traces: readonly RequestTrace[], source: SpanSource): ReadableSpan[] {
  const spans: ReadableSpan[] = []
  for (const trace of traces) for (const span of spansOf(trace, source)) spans.push(span)
  return spans
}
