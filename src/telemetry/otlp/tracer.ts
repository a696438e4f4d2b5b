/**
 * Traces requests and exports their spans. Sampling decides once, at the start; spans are made and serialized when a batch is
 * sent. Loaded only where somebody receives traces.
 */
import { randomFillSync } from 'node:crypto'
import { setImmediate as nextTick } from 'node:timers/promises'
import { ROOT_CONTEXT } from '@opentelemetry/api'
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'
import type { Dispatcher } from 'undici'
import type { RequestTrace, TraceHeaders, Tracing } from '../../domain/trace.ts'
import { parseBaggage, parseTraceparent } from '../../lib/trace-context.ts'
import { createQueue, type ExportQueue } from './queue.ts'
import { createSender, type OtlpEndpoint, type Sender, type SendResult } from './sender.ts'
import { createSpanEncoder } from './span-encoder.ts'
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

export interface TraceExportOptions {
  readonly endpoint: OtlpEndpoint
  readonly batch: { readonly maxQueue: number; readonly maxBatch: number; readonly delayMs: number }
  readonly resource: Resource
  readonly version: string
  readonly extras?: SpanExtras | undefined
  readonly contentOf?: SpanSource['contentOf']
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
    contentOf,
    isForeign = false,
    sender = createSender(endpoint),
    onFailure,
  } = options
  const source: SpanSource = { resource, scope: { name: 'turnpike', version }, extras, contentOf, isForeign }
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

/** Traces that are encoded in one go: less than half a millisecond. */
const SLICE = 32

/** Requests get their turn between slices. */
async function serializeProtobuf(traces: readonly RequestTrace[], source: SpanSource): Promise<Uint8Array> {
  const encoder = createSpanEncoder(source)
  for (const [at, trace] of traces.entries()) {
    if (at > 0 && at % SLICE === 0) await nextTick()
    for (const span of spansOf(trace, source)) encoder.add(span)
  }
  return encoder.finish()
}

async function serializeJson(traces: readonly RequestTrace[], source: SpanSource): Promise<Uint8Array> {
  const spans = traces.flatMap((trace) => spansOf(trace, source))
  return JsonTraceSerializer.serializeRequest(spans) ?? new Uint8Array()
}

interface DestinationOptions extends Pick<TraceExportOptions, 'batch' | 'version'> {
  readonly endpoint: OtlpEndpoint
  readonly extras?: SpanExtras | undefined
  readonly contentOf?: SpanSource['contentOf']
  /** Connects to allowed addresses only. */
  readonly dispatcher: Dispatcher
  /** Throws where the address is not allowed any more. */
  readonly check: () => void
}

/** The export of an account's traces to a destination of its own: nothing of the installation but the service's name. */
export function createDestinationQueue(options: DestinationOptions): ExportQueue<RequestTrace> {
  const { endpoint, batch, version, extras, contentOf, dispatcher, check } = options
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
  return createTraceExport({ endpoint, batch, resource, version, extras, contentOf, isForeign: true, sender })
}
