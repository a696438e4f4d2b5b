/**
 * The trace of a request, as the data plane fills it in: identity, times of its steps, attempts, outcome. It exists only
 * while somebody receives traces, and knows no telemetry package. All times are monotonic milliseconds.
 */
import type { TraceContext } from '../lib/trace-context.ts'
import type { AttemptOutcome, CompletionRecord } from './completion.ts'

/** Steps of a request that its span reports as events. */
export type TraceStepName = 'queue' | 'hold' | 'settle'

export interface TraceStep {
  readonly name: TraceStepName
  readonly at: number
  /** `queue`: milliseconds waited. `hold`, `settle`: nano-dollars. */
  readonly value: number
}

/** One attempt at a provider. */
export interface AttemptTrace {
  readonly spanId: string
  /** Configured name. */
  readonly provider: string
  /** What the semantic conventions call the provider behind the name. */
  readonly kind: string
  readonly baseUrl: string
  /** The provider's own name of the model. */
  readonly model: string
  readonly startedAt: number
  /** Milliseconds to the first event of the answer. */
  firstEventMs: number | undefined
  /** Undefined: with the request. */
  endedAt: number | undefined
  /** Undefined: it was answered. */
  outcome: AttemptOutcome | undefined
  /** HTTP status; 0: no response. */
  status: number
}

/** The request of a completion, as far as its span reports it. */
export interface TracedRequest {
  /** What the client calls the model. */
  readonly model: string
  readonly stream: boolean
  readonly maxTokens: number | undefined
  readonly temperature: number | undefined
  readonly topP: number | undefined
}

export interface RequestTrace {
  readonly context: TraceContext
  /** Of the client; undefined: the trace begins here. */
  readonly parentSpanId: string | undefined
  readonly startedAt: number
  /** Unix milliseconds of `startedAt`. */
  readonly startedAtUnixMs: number
  /** Makes the ID of another span. */
  readonly newSpanId: () => string
  /** Whether providers receive the context. */
  readonly propagate: boolean
  readonly steps: TraceStep[]
  readonly attempts: AttemptTrace[]
  request: TracedRequest | undefined
  record: CompletionRecord | undefined
  /** `METHOD /route` of an HTTP request; undefined: the gateway's own. */
  route: string | undefined
  status: number | undefined
  endedAt: number | undefined
  /** Code of the error that the client got. */
  errorCode: string | undefined
  /** Parties that still use it; the last one ends it. */
  open: number
  readonly onEnd: (trace: RequestTrace) => void
}

/** Ends one party's use of a trace. */
export function releaseTrace(trace: RequestTrace): void {
  trace.open -= 1
  if (trace.open === 0) trace.onEnd(trace)
}

/** Of a request that is traced. */
export interface Tracing {
  begin(headers: TraceHeaders): RequestTrace
}

/** Undefined while nobody receives traces; may change at any time. */
export interface TracingSwitch {
  current: Tracing | undefined
}

/** Lower-case names; read are `traceparent`, `tracestate` and `baggage`. */
export type TraceHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The trace of one attempt begins; undefined where the request has none. */
export function beginAttemptTrace(
  trace: RequestTrace | undefined,
  attempt: Pick<AttemptTrace, 'provider' | 'kind' | 'baseUrl' | 'model' | 'startedAt'>,
): AttemptTrace | undefined {
  if (trace === undefined) return undefined
  const { provider, kind, baseUrl, model, startedAt } = attempt
  const spanId = trace.newSpanId()
  const open = { firstEventMs: undefined, endedAt: undefined, outcome: undefined, status: 200 }
  const begun: AttemptTrace = { spanId, provider, kind, baseUrl, model, startedAt, ...open }
  trace.attempts.push(begun)
  return begun
}

/** Headers for the provider of an attempt; undefined: it gets none. */
export function attemptHeaders(
  trace: RequestTrace | undefined,
  attempt: AttemptTrace | undefined,
): Readonly<Record<string, string>> | undefined {
  if (trace === undefined || attempt === undefined || !trace.propagate) return undefined
  const { traceId, sampled, state, baggage } = trace.context
  return {
    traceparent: `00-${traceId}-${attempt.spanId}-${sampled ? '01' : '00'}`,
    ...(state !== undefined && { tracestate: state }),
    ...(baggage !== undefined && { baggage }),
  }
}
