/**
 * Classifies a host's errors by status, then by structured code and type, and by the message only where they are
 * ambiguous.
 */
import { isRecord, textOf } from '../../lib/json.ts'
import { retryAfterMs } from '../../lib/time.ts'
import {
  type FailureKind,
  failureMessage,
  kindByMessage,
  type MessageRule,
  type ProviderFailure,
  STATUS_KINDS,
  type WireError,
} from '../protocol.ts'

/** Codes and types in lower case, with one meaning at every host. */
const CODES: Readonly<Record<string, FailureKind>> = {
  context_length_exceeded: 'context_length',
  content_filter: 'content_filter',
  content_policy_violation: 'content_filter',
  data_inspection_failed: 'content_filter',
  responsibleaipolicyviolation: 'content_filter',
  invalid_api_key: 'credentials',
  authentication_error: 'credentials',
  permission_error: 'credentials',
  insufficient_quota: 'quota',
  exceeded_current_quota_error: 'quota',
  arrearage: 'quota',
  credit_balance_exhausted: 'quota',
  billing_error: 'quota',
  billing_not_active: 'quota',
  billing_hard_limit_reached: 'quota',
  model_not_found: 'not_found',
  deploymentnotfound: 'not_found',
  not_found_error: 'not_found',
  notfounderror: 'not_found',
  rate_limit_exceeded: 'rate_limited',
  rate_limit_reached: 'rate_limited',
  rate_limit_error: 'rate_limited',
  rate_limited: 'rate_limited',
  ratelimitreached: 'rate_limited',
  slow_down: 'rate_limited',
  server_is_overloaded: 'overloaded',
  server_overloaded: 'overloaded',
  overloaded_error: 'overloaded',
  service_unavailable_error: 'overloaded',
  insufficient_system_resource: 'overloaded',
  invalid_request_error: 'rejected',
  badrequesterror: 'rejected',
}

/** Only these rules read the text of a message. A test has a recorded answer for each. */
export const MESSAGE_RULES: readonly MessageRule[] = [
  { pattern: /maximum context length/i, kind: 'context_length' },
  { pattern: /exceeded max context length/i, kind: 'context_length' },
  { pattern: /maximum prompt length/i, kind: 'context_length' },
  { pattern: /^incorrect api key/i, kind: 'credentials' },
  { pattern: /used all available credits|monthly spending limit/i, kind: 'quota' },
]

/** Kinds that a code or the message may give to a 4xx status. */
const WITHIN_REFUSALS: readonly FailureKind[] = [
  'context_length',
  'content_filter',
  'credentials',
  'quota',
  'not_found',
]

/** Kinds by status, unless the body is more specific. */
const STATUSES: Readonly<Record<number, FailureKind>> = {
  ...STATUS_KINDS,
  402: 'quota',
  410: 'not_found',
  422: 'rejected',
  498: 'overloaded',
  529: 'overloaded',
}

/** @param now Unix milliseconds. */
export function parseError({ status, headers, body }: WireError, now: number): ProviderFailure {
  const retryAfter = retryAfterMs(headers, now)
  const failure = failureOf(parseBody(body), status)
  return retryAfter === undefined ? failure : { ...failure, retryAfterMs: retryAfter }
}

/**
 * Of an error in a body of any status, or in a chunk of a stream.
 * @param body Parsed JSON, or text. @param status Of the answer; a 2xx gives way to a status in the body.
 */
export function failureOf(body: unknown, status: number): ProviderFailure {
  const { said, codes, message, param } = describe(body)
  const actual = status >= 200 && status < 300 ? (said ?? status) : status
  const kind = classify({ status: actual, codes, message: message ?? '' })
  const shown = failureMessage(message, actual, redact)
  return param === undefined
    ? { kind, message: shown, status: actual }
    : { kind, message: shown, status: actual, param }
}

function classify(error: {
  readonly status: number
  readonly codes: readonly string[]
  readonly message: string
}): FailureKind {
  const { status, codes, message } = error
  const byStatus = STATUSES[status]
  const particular = kindOf(codes, message)
  if (byStatus === undefined) {
    if (status < 300) return particular ?? 'failed'
    return particular === 'overloaded' ? 'overloaded' : 'failed'
  }
  if (status === 402 || status === 404 || status >= 498) return byStatus
  return particular !== undefined && WITHIN_REFUSALS.includes(particular) ? particular : byStatus
}

/** Codes, then the message, then the codes that hosts send beside nearly everything (`invalid_request_error`). */
function kindOf(codes: readonly string[], message: string): FailureKind | undefined {
  const kinds = codes
    .map((code) => code.toLowerCase())
    .map((code) => (Object.hasOwn(CODES, code) ? CODES[code] : undefined))
  return (
    kinds.find((kind) => kind !== undefined && kind !== 'rejected') ??
    kindByMessage(MESSAGE_RULES, message) ??
    kinds.find((kind) => kind !== undefined)
  )
}

function parseBody(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

interface Description {
  /** HTTP status in the body. */
  readonly said: number | undefined
  readonly codes: readonly string[]
  readonly message: string | undefined
  readonly param: string | undefined
}

const NOTHING: Description = { said: undefined, codes: [], message: undefined, param: undefined }

/** Reads all forms: `{error: {…}}`, `{error: text}`, flat, `{detail}`, a list of one of them, text. */
function describe(body: unknown): Description {
  if (Array.isArray(body)) return describe(body[0])
  if (typeof body === 'string') return { ...NOTHING, message: body }
  if (!isRecord(body)) return NOTHING
  const error = isRecord(body.error) ? body.error : body
  const inner = isRecord(error.innererror) ? error.innererror : {}
  const relayed = relayedError(error.metadata)
  const detail = detailOf(isRecord(error.message) ? error.message.detail : error.detail)
  const first = isRecord(body.error) ? error.message : body.error
  const message = [relayed.message, first, body.message, detail.message].map(textOf).find((text) => text !== '')
  return {
    said: [error.status_code, error.status, error.code, body.code].map(statusOf).find((code) => code !== undefined),
    codes: [...relayed.codes, ...[inner.code, error.code, error.type, body.code, body.type].map(textOf)],
    message,
    param: textOf(error.param) || detail.param,
  }
}

/**
 * A router's report about the host behind it: the host's body as text (`raw`), and the reasons of a moderator
 * (`reasons`). Source: https://openrouter.ai/docs/api-reference/errors
 */
function relayedError(metadata: unknown): Description {
  if (!isRecord(metadata)) return NOTHING
  if (Array.isArray(metadata.reasons)) return { ...NOTHING, codes: ['content_filter'] }
  return typeof metadata.raw === 'string' ? describe(parseBody(metadata.raw)) : NOTHING
}

/** FastAPI's `detail`: a text, or a list of `{msg, loc}`. */
function detailOf(detail: unknown): { readonly message?: string; readonly param?: string } {
  if (typeof detail === 'string') return { message: detail }
  const first: unknown = Array.isArray(detail) ? detail[0] : undefined
  if (!isRecord(first)) return {}
  const place = Array.isArray(first.loc) ? first.loc.filter((step) => step !== 'body').join('.') : ''
  const message = textOf(first.msg)
  return place === '' ? { message } : { message: `${message} (${place})`, param: place }
}

function statusOf(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined
}

/**
 * Keys, by their usual prefixes, as bearer tokens, masked with stars, or as long runs of letters and digits; ids of
 * organisations, projects and users.
 */
function redact(text: string): string {
  return text
    .replace(/\b(?:sk|pk|rk|gsk|key|hf|tp)[-_](?=[\w.-]{0,100}[\d*])[\w*.-]{6,}/g, '[redacted]')
    .replace(/(\bbearer\s+)[\w.~+/=-]{8,}/gi, '$1[redacted]')
    .replace(/(\bapi key(?: provided)?: *)[^\s,;]+?(?=[.,;]?(?:\s|$))/gi, '$1[redacted]')
    .replace(/\borg[-_][\w-]{3,}/g, '[redacted]')
    .replace(/\b(?:proj|user|acct|team)[-_](?=[A-Za-z]*\d)[A-Za-z0-9]{10,}/g, '[redacted]')
    .replace(/(?<![\w-])[\w-]{2,}\*{3,}[\w-]*/g, '[redacted]')
    .replace(/\b(?:[a-z]{2,6}[-_])?(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{24,}\b/g, '[redacted]')
}
