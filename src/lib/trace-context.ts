/** Reads W3C Trace Context (`traceparent`, `tracestate`) and W3C Baggage. */

/** What W3C Trace Context and Baggage carry from one service to the next. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string
  /** 16 lower-case hexadecimal digits. */
  readonly spanId: string
  readonly sampled: boolean
  /** `tracestate`, unchanged. */
  readonly state: string | undefined
  readonly baggage: string | undefined
}

export interface ReceivedContext {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
  readonly state: string | undefined
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/
/** RFC 9110 field values without control characters. */
const PRINTABLE = /^[\x20-\x7e]+$/
/** What W3C asks intermediaries to pass on at least, and what they need not exceed. */
const MAX_STATE_LENGTH = 512
const MAX_STATE_MEMBERS = 32
const MAX_BAGGAGE_LENGTH = 8192

/** @returns Undefined for what is absent or invalid: a new trace begins. */
export function parseTraceparent(
  traceparent: string | string[] | undefined,
  tracestate: string | string[] | undefined,
): ReceivedContext | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_STATE_LENGTH) return undefined
  const match = TRACEPARENT.exec(traceparent)
  if (match === null) return undefined
  const [, version = '', traceId = '', spanId = '', flags = '', more] = match
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  const sampled = (Number.parseInt(flags, 16) & 1) === 1
  return { traceId, spanId, sampled, state: parseTracestate(tracestate) }
}

/** Members are passed on unread. One that is too long is dropped as a whole, as the specification permits. */
function parseTracestate(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value.join(',') : value
  if (text === undefined || text.length > MAX_STATE_LENGTH || !PRINTABLE.test(text)) return undefined
  return text.split(',').length > MAX_STATE_MEMBERS ? undefined : text
}

/** @returns Undefined for what is absent, too long or not printable. */
export function parseBaggage(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value.join(',') : value
  return text !== undefined && text.length <= MAX_BAGGAGE_LENGTH && PRINTABLE.test(text) ? text : undefined
}
