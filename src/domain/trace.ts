/**
 * The trace of a request, which the data plane completes: identity, times of its steps, attempts, outcome. It exists
 * only while a receiver of traces is configured, and knows no telemetry package. All times are monotonic milliseconds.
 */
import type { TraceContext } from '../lib/trace-context.ts'
import type { AttemptOutcome, CapturedCompletion, CompletionRecord } from './completion.ts'

/** Steps of a request that its span reports as events. */
export type TraceStepName = 'queue' | 'hold' | 'settle'

export interface TraceStep {
  readonly name: TraceStepName
  readonly at: number
  /** `queue`: milliseconds of waiting. `hold`, `settle`: nano-dollars. */
  readonly value: number
}

/** One attempt at a provider. */
export interface AttemptTrace {
  readonly spanId: string
  /** The configured name. */
  readonly provider: string
  /** The semantic conventions' name of the provider. */
  readonly kind: string
  readonly baseUrl: string
  /** The provider's own name of the model. */
  readonly model: string
  readonly startedAt: number
  /** Milliseconds to the first event of the answer. */
  firstEventMs: number | undefined
  /** Undefined if it ended with the request. */
  endedAt: number | undefined
  /** Undefined if it was answered. */
  outcome: AttemptOutcome | undefined
  /** HTTP status; 0: no response. */
  status: number
}

/** The part of a completion's request that its span reports. */
export interface TracedRequest {
  /** The client's name of the model. */
  readonly model: string
  readonly stream: boolean
  readonly maxTokens: number | undefined
  readonly temperature: number | undefined
  readonly topP: number | undefined
}

/** The prompt and the answer of a request, as content capture stores them. */
export type TracedContent = Omit<CapturedCompletion, 'record' | 'userId'>

export interface RequestTrace {
  readonly context: TraceContext
  /** The span of the client. Undefined if the trace begins here. */
  readonly parentSpanId: string | undefined
  readonly startedAt: number
  /** Unix milliseconds of `startedAt`. */
  readonly startedAtUnixMs: number
  /** Creates the ID of another span. */
  readonly newSpanId: () => string
  /** Whether providers receive the context. */
  readonly propagate: boolean
  readonly steps: TraceStep[]
  readonly attempts: AttemptTrace[]
  request: TracedRequest | undefined
  record: CompletionRecord | undefined
  /** Undefined if content capture does not apply. */
  content: TracedContent | undefined
  /** `METHOD /route` of an HTTP request. Undefined for the gateway's own requests. */
  route: string | undefined
  status: number | undefined
  endedAt: number | undefined
  /** The code of the error that the client received. */
  errorCode: string | undefined
  /** The number of parties that use the trace; the last one ends it. */
  open: number
  readonly onEnd: (trace: RequestTrace) => void
}

/** Ends one party's use of a trace. */
export function releaseTrace(trace: RequestTrace): void {
  trace.open -= 1
  if (trace.open === 0) trace.onEnd(trace)
}

/** The tracing of one request. */
export interface Tracing {
  begin(headers: TraceHeaders): RequestTrace
}

/** Undefined while nobody receives traces; may change at any time. */
export interface TracingSwitch {
  current: Tracing | undefined
}

/** Headers by lower-case name, of which `traceparent`, `tracestate` and `baggage` are read. */
export type TraceHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Begins the trace of one attempt. Undefined if the request is not traced. */
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

/** Returns the headers for the provider of an attempt. Undefined if it receives none. */
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
