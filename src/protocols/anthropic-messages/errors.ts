/**
 * Classifies the provider's errors by type and status, and by the message only where they are ambiguous.
 *
 * Source: https://platform.claude.com/docs/en/api/errors
 */
import { isRecord, parseJson, textOf } from '../../lib/json.ts'
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

const TYPES: Readonly<Record<string, FailureKind>> = {
  invalid_request_error: 'rejected',
  request_too_large: 'rejected',
  authentication_error: 'credentials',
  permission_error: 'credentials',
  billing_error: 'quota',
  not_found_error: 'not_found',
  rate_limit_error: 'rate_limited',
  overloaded_error: 'overloaded',
  conflict_error: 'failed',
  timeout_error: 'failed',
  api_error: 'failed',
}

/** Kinds by status, without a known type; others are `failed`. */
const STATUSES: Readonly<Record<number, FailureKind>> = {
  ...STATUS_KINDS,
  402: 'quota',
  422: 'rejected',
  529: 'overloaded',
}

/**
 * Only these rules read the text of a message; each was seen in a recorded answer, which the test names. They only make
 * `rejected` more specific.
 */
export const MESSAGE_RULES: readonly MessageRule[] = [
  { pattern: /^prompt is too long/i, kind: 'context_length' },
  { pattern: /credit balance is too low/i, kind: 'quota' },
]

/** The limits whose state comes with every answer, as `anthropic-ratelimit-<name>-remaining` and `-reset`. */
const LIMITS = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const

/** @param now Unix milliseconds. */
export function parseError({ status, headers, body }: WireError, now: number): ProviderFailure {
  const failure = failureOf(parseJson(body), status)
  const asked = retryAfterMs(headers, now)
  const wait = asked ?? (failure.kind === 'rate_limited' ? limitResetMs(headers, now) : undefined)
  return wait === undefined ? failure : { ...failure, retryAfterMs: wait }
}

/**
 * Of an error in a body of any status, or in an event of a stream.
 * @param body Parsed JSON; anything else reads as no message. @param status Of the answer.
 */
export function failureOf(body: unknown, status: number): ProviderFailure {
  const error = isRecord(body) && isRecord(body['error']) ? body['error'] : {}
  const type = textOf(error['type'])
  const message = textOf(error['message'])
  return { kind: classify({ status, type, message }), message: failureMessage(message, status, redact), status }
}

function classify({ status, type, message }: { status: number; type: string; message: string }): FailureKind {
  const byType = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined
  const kind = status >= 200 && status < 300 ? (byType ?? 'failed') : kindOfStatus(status, byType)
  if (kind !== 'rejected') return kind
  return kindByMessage(MESSAGE_RULES, message) ?? kind
}

/** The type is the more particular of the two, unless it says that the request was wrong and the status does not. */
function kindOfStatus(status: number, byType: FailureKind | undefined): FailureKind {
  const byStatus = STATUSES[status] ?? 'failed'
  if (byType === undefined) return byStatus
  return byType === 'rejected' || status >= 500 ? (byType === 'overloaded' ? byType : byStatus) : byType
}

/** Returns the milliseconds until the exhausted limits reset. Undefined if no header reports it. */
function limitResetMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const resets = LIMITS.filter((name) => headers[`anthropic-ratelimit-${name}-remaining`] === '0')
    .map((name) => Date.parse(headers[`anthropic-ratelimit-${name}-reset`] ?? ''))
    .filter((at) => !Number.isNaN(at))
  return resets.length === 0 ? undefined : Math.max(0, Math.max(...resets) - now)
}

/** Keys, ids of requests and accounts. */
function redact(text: string): string {
  return text
    .replace(/\bsk-[\w*-]{6,}/g, '[redacted]')
    .replace(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '[redacted]')
    .replace(/\b(?:org|wrkspc)_[\w-]{3,}/g, '[redacted]')
}
