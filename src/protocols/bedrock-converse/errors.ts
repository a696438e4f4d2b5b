/**
 * Classifies the service's errors by type (a header, a field of the body, or the name of an exception in a stream), then
 * by status, and by the message only where they are ambiguous.
 *
 * Source: https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
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

interface Meaning {
  readonly kind: FailureKind
  /** Status of an exception in a stream, which has none. */
  readonly status: number
}

/** The meanings by type in lower case, without `exception`. */
const TYPES: Readonly<Record<string, Meaning>> = {
  validation: { kind: 'rejected', status: 400 },
  validationerror: { kind: 'rejected', status: 400 },
  serialization: { kind: 'rejected', status: 400 },
  requestentitytoolarge: { kind: 'rejected', status: 413 },
  accessdenied: { kind: 'credentials', status: 403 },
  expiredtoken: { kind: 'credentials', status: 403 },
  incompletesignature: { kind: 'credentials', status: 403 },
  invalidclienttokenid: { kind: 'credentials', status: 403 },
  invalidsignature: { kind: 'credentials', status: 403 },
  missingauthenticationtoken: { kind: 'credentials', status: 403 },
  notauthorized: { kind: 'credentials', status: 403 },
  optinrequired: { kind: 'credentials', status: 403 },
  unrecognizedclient: { kind: 'credentials', status: 403 },
  resourcenotfound: { kind: 'not_found', status: 404 },
  unknownoperation: { kind: 'not_found', status: 404 },
  ftuformnotfilled: { kind: 'not_found', status: 404 },
  throttling: { kind: 'rate_limited', status: 429 },
  toomanyrequests: { kind: 'rate_limited', status: 429 },
  servicequotaexceeded: { kind: 'rate_limited', status: 429 },
  modelnotready: { kind: 'overloaded', status: 429 },
  serviceunavailable: { kind: 'overloaded', status: 503 },
  modeltimeout: { kind: 'failed', status: 408 },
  modelerror: { kind: 'failed', status: 424 },
  modelstreamerror: { kind: 'failed', status: 424 },
  internalserver: { kind: 'failed', status: 500 },
  internalfailure: { kind: 'failed', status: 500 },
}

/** Only these rules read the text of a message, and they only make `rejected` more specific. */
export const MESSAGE_RULES: readonly (MessageRule & { readonly recording: string })[] = [
  { pattern: /input tokens exceeded/i, kind: 'context_length', recording: 'bedrock/converse-error-400-2.json' },
]

/** @param now Unix milliseconds. */
export function parseError({ status, headers, body }: WireError, now: number): ProviderFailure {
  const failure = failureOf({ status, type: headers['x-amzn-errortype'] ?? '', body: parseJson(body) })
  const wait = retryAfterMs(headers, now)
  return wait === undefined ? failure : { ...failure, retryAfterMs: wait }
}

export interface ServiceError {
  /** The status of the answer. A 2xx is replaced by the usual status of the type. */
  readonly status: number
  /** Unchanged, with its namespace; '' if it is in the body. */
  readonly type: string
  /** Parsed JSON; anything else reads as no message. */
  readonly body: unknown
}

export function failureOf({ status, type, body }: ServiceError): ProviderFailure {
  const fields = isRecord(body) ? body : {}
  const output = isRecord(fields['Output']) ? fields['Output'] : {}
  const meaning = [type, textOf(fields['__type']), textOf(output['__type']), textOf(fields['code'])]
    .map(meaningOf)
    .find((known) => known !== undefined)
  const message = textOf(fields['message']) || textOf(fields['Message']) || textOf(fields['originalMessage'])
  const isInStream = status >= 200 && status < 300
  const actual = isInStream ? (meaning?.status ?? status) : status
  const kind = meaning?.kind ?? (isInStream ? 'failed' : (STATUS_KINDS[status] ?? 'failed'))
  return { kind: specificKind(kind, message), message: failureMessage(message, actual, redact), status: actual }
}

/**
 * Looks up `ThrottlingException:http://…`, `com.amazon.coral.service#UnknownOperationException`,
 * `throttlingException`.
 */
function meaningOf(type: string): Meaning | undefined {
  const name = (type.split(':')[0] ?? '').split('#').at(-1) ?? ''
  const key = name.toLowerCase().replace(/exception$/, '')
  return Object.hasOwn(TYPES, key) ? TYPES[key] : undefined
}

function specificKind(kind: FailureKind, message: string): FailureKind {
  if (kind !== 'rejected') return kind
  return kindByMessage(MESSAGE_RULES, message) ?? kind
}

/** Removes names of resources, IDs of access keys, and numbers of accounts. */
function redact(text: string): string {
  return text
    .replace(/\barn:aws[\w-]*:[^\s,;)]+/g, '[redacted]')
    .replace(/\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g, '[redacted]')
    .replace(/\b\d{12}\b/g, '[redacted]')
}
