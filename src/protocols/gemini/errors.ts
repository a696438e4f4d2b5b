/**
 * Classifies the provider's errors by HTTP status or, where there is none, by the code in the body, then by the reasons in
 * its details, and by the message only where they are ambiguous.
 *
 * Source: https://cloud.google.com/apis/design/errors, https://ai.google.dev/gemini-api/docs/troubleshooting
 */
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
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

/** Kinds by status, unless the body is more specific. */
const STATUSES: Readonly<Record<number, FailureKind>> = {
  ...STATUS_KINDS,
  402: 'quota',
  422: 'rejected',
}

/** Canonical codes that are more specific than their HTTP status: a failed precondition is our region, project or billing. */
const CANONICAL_CODES: Readonly<Record<string, FailureKind>> = {
  UNAUTHENTICATED: 'credentials',
  FAILED_PRECONDITION: 'credentials',
}

/** The kinds by `ErrorInfo.reason`. */
const REASONS: Readonly<Record<string, FailureKind>> = {
  API_KEY_INVALID: 'credentials',
  API_KEY_SERVICE_BLOCKED: 'credentials',
  ACCESS_TOKEN_EXPIRED: 'credentials',
  SERVICE_DISABLED: 'credentials',
  CONSUMER_SUSPENDED: 'credentials',
  BILLING_DISABLED: 'quota',
}

/** Only these rules read the text of a message, and only with status 400. */
export const MESSAGE_RULES: readonly (MessageRule & { readonly recording: string })[] = [
  {
    pattern: /input token count.{0,200}exceeds the maximum number of tokens/i,
    kind: 'context_length',
    recording: 'gemini/error-400.json',
  },
]

/** @param now Unix milliseconds. */
export function parseError({ status, headers, body }: WireError, now: number): ProviderFailure {
  const failure = failureOf(parseJson(body) ?? body, status)
  if (failure.retryAfterMs !== undefined) return failure
  const retryAfter = retryAfterMs(headers, now)
  return retryAfter === undefined ? failure : { ...failure, retryAfterMs: retryAfter }
}

/**
 * Of an error in a body of any status, or in a chunk of a stream: `{error: {code, message, status, details}}`, a list of
 * one of them, or text.
 * @param body Parsed JSON, or text. @param status Of the answer; a 2xx gives way to the code in the body.
 */
export function failureOf(body: unknown, status: number): ProviderFailure {
  const error = errorOf(body)
  const details = Array.isArray(error.details) ? error.details.filter(isRecord) : []
  const actual = status >= 200 && status < 300 ? (statusOf(error.code) ?? status) : status
  return {
    kind: classify(error, details, actual),
    message: failureMessage(textOf(error.message), actual, redact),
    status: actual,
    ...paramOf(details),
    ...delayOf(details),
  }
}

function errorOf(body: unknown): Json {
  if (Array.isArray(body)) return isRecord(body[0]) ? errorOf(body[0]) : {}
  if (!isRecord(body)) return { message: body }
  return isRecord(body.error) ? body.error : { ...body, message: body.error ?? body.message }
}

function classify(error: Json, details: readonly Json[], status: number): FailureKind {
  const byStatus = STATUSES[status]
  if (byStatus === undefined) return 'failed'
  if (byStatus === 'rate_limited') return isUsedUp(details) ? 'quota' : byStatus
  if (byStatus !== 'rejected' && byStatus !== 'credentials') return byStatus
  const message = textOf(error.message)
  const byWords = status === 400 ? kindByMessage(MESSAGE_RULES, message) : undefined
  return kindOfReasons(details) ?? own(CANONICAL_CODES, textOf(error.status)) ?? byWords ?? byStatus
}

function kindOfReasons(details: readonly Json[]): FailureKind | undefined {
  return details.map(({ reason }) => own(REASONS, textOf(reason))).find((kind) => kind !== undefined)
}

function own(table: Readonly<Record<string, FailureKind>>, key: string): FailureKind | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}

/** Returns whether a daily quota is exhausted; a quota per minute is only a rate limit. */
function isUsedUp(details: readonly Json[]): boolean {
  const violations = details.flatMap((detail) => (Array.isArray(detail.violations) ? detail.violations : []))
  return violations.some((violation) => isRecord(violation) && textOf(violation.quotaId).includes('PerDay'))
}

/** Reads `BadRequest.fieldViolations[].field`. */
function paramOf(details: readonly Json[]): { param?: string } {
  for (const { fieldViolations: violations } of details) {
    const first: unknown = Array.isArray(violations) ? violations[0] : undefined
    if (isRecord(first) && textOf(first.field) !== '') return { param: textOf(first.field) }
  }
  return {}
}

/** Reads `RetryInfo.retryDelay`, a duration in seconds: `30s`, `30.219520485s`. */
function delayOf(details: readonly Json[]): { retryAfterMs?: number } {
  for (const { retryDelay } of details) {
    const match = /^(\d{1,9}(?:\.\d+)?)s$/.exec(textOf(retryDelay))
    if (match !== null) return { retryAfterMs: Math.ceil(Number(match[1]) * 1000) }
  }
  return {}
}

function statusOf(code: unknown): number | undefined {
  return typeof code === 'number' && Number.isInteger(code) && code >= 400 && code < 600 ? code : undefined
}

/** Keys, access tokens, and names and numbers of projects. */
function redact(text: string): string {
  return text
    .replace(/\bAIza[\w-]{10,}/g, '[redacted]')
    .replace(/\bya29\.[\w.-]{8,}/g, '[redacted]')
    .replace(/(\bprojects?[ /=]["']?)[\w:.-]*\w/gi, '$1[redacted]')
}
