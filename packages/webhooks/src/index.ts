/** Verifies that a webhook was sent by Turnpike, for its receivers. Imports nothing but modules of Node.js. */
import { timingSafeEqual } from 'node:crypto'
import type { WebhookEvent } from './event.ts'
import { hexSignature, standardSignature, type WebhookBody, webhookKey } from './signature.ts'

export type * from './event.ts'

const DEFAULT_TOLERANCE_SECONDS = 300

/** Why a request was not accepted. `invalid_secret` and `invalid_payload` are mistakes of the receiver. */
export type WebhookVerificationReason =
  | 'invalid_secret'
  | 'invalid_payload'
  | 'missing_signature'
  | 'invalid_timestamp'
  | 'timestamp_too_old'
  | 'timestamp_too_new'
  | 'signature_mismatch'
  | 'invalid_event'

export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
  readonly reason: WebhookVerificationReason
  constructor(reason: WebhookVerificationReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** A `Headers` object, or names and values in any case, as `request.headers` of `node:http` has them. */
export type ReceivedHeaders =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface VerifyOptions {
  /** How far `webhook-timestamp` may be from now, either way. */
  readonly toleranceSeconds?: number | undefined
  /** Unix milliseconds; the current time when absent. */
  readonly now?: number | undefined
  /** Refuses requests that carry `Turnpike-Signature` alone, whose age cannot be told. */
  readonly requireTimestamp?: boolean | undefined
}

/**
 * The event in a webhook's body, when a secret has signed it. `webhook-signature` is checked where there is one, with its
 * timestamp; else `Turnpike-Signature`, which has none. Throws `WebhookVerificationError` for everything else.
 *
 * `type` may be one that this version does not know; leave such events alone.
 * @param payload The raw body, as it was received: not parsed, not rendered again.
 * @param secret One, or several of which any may have signed.
 */
export function verifyWebhook(
  payload: WebhookBody,
  headers: ReceivedHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): WebhookEvent {
  const body = checkedPayload(payload)
  const secrets = checkedSecrets(secret)
  const signatures = headerOf(headers, 'webhook-signature')
  if (signatures !== '') {
    const timestamp = checkedTimestamp(headerOf(headers, 'webhook-timestamp'), options)
    const id = headerOf(headers, 'webhook-id')
    const expected = secrets.map(({ key }) => standardSignature({ id, timestamp, body }, key))
    requireMatch(signatures.split(/\s+/), expected)
  } else {
    const hexSignatures = headerOf(headers, 'turnpike-signature')
    if (hexSignatures === '' || options.requireTimestamp === true) throw missingSignature(hexSignatures)
    const expected = secrets.map(({ text }) => hexSignature(body, text))
    requireMatch(hexSignatures.split(/[\s,]+/), expected)
  }
  return parseEvent(body)
}

function checkedPayload(payload: unknown): WebhookBody {
  if (typeof payload === 'string' || payload instanceof Uint8Array) return payload
  throw new WebhookVerificationError(
    'invalid_payload',
    'The payload must be the raw body, as text or bytes. A body that was parsed as JSON cannot be verified.',
  )
}

interface Secret {
  readonly text: string
  readonly key: Uint8Array
}

function checkedSecrets(secret: unknown): readonly Secret[] {
  const secrets = (Array.isArray(secret) ? secret : [secret]).map((text: unknown) => {
    const key = typeof text === 'string' ? webhookKey(text) : undefined
    return typeof text === 'string' && key !== undefined ? { text, key } : undefined
  })
  const valid = secrets.filter((entry) => entry !== undefined)
  if (valid.length > 0 && valid.length === secrets.length) return valid
  throw new WebhookVerificationError(
    'invalid_secret',
    'The secret must be the text that was shown when the webhook was made: whsec_ and base64.',
  )
}

/** '' when absent. A header that came several times is one list, as HTTP has it. */
function headerOf(headers: ReceivedHeaders, name: string): string {
  if (hasGetter(headers)) return textOf(headers.get(name))
  return Object.entries(headers ?? {})
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? [])
    .join(', ')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function hasGetter(headers: ReceivedHeaders): headers is { get(name: string): string | null | undefined } {
  return typeof headers?.get === 'function'
}

function checkedTimestamp(text: string, { toleranceSeconds, now }: VerifyOptions): string {
  if (!/^\d{1,12}$/.test(text)) {
    throw new WebhookVerificationError('invalid_timestamp', '`webhook-timestamp` must be a number of Unix seconds.')
  }
  const tolerance = toleranceSeconds ?? DEFAULT_TOLERANCE_SECONDS
  const age = Math.floor((now ?? Date.now()) / 1000) - Number(text)
  if (age < -tolerance) {
    throw new WebhookVerificationError('timestamp_too_new', `The webhook is from ${-age} seconds in the future.`)
  }
  // Not `age > tolerance`: a tolerance that is no number must let nothing through.
  if (!(age <= tolerance)) {
    throw new WebhookVerificationError('timestamp_too_old', `The webhook was sent ${age} seconds ago.`)
  }
  return text
}

function missingSignature(hexSignatures: string): WebhookVerificationError {
  const message =
    hexSignatures === ''
      ? 'The request has neither `webhook-signature` nor `Turnpike-Signature`.'
      : 'The request has no `webhook-signature`, and `Turnpike-Signature` alone does not tell its age.'
  return new WebhookVerificationError('missing_signature', message)
}

/** Takes as long whichever signature matches, and wherever they differ. */
function requireMatch(received: readonly string[], expected: readonly string[]): void {
  const candidates = received.map((text) => Buffer.from(text.replace(/,$/, '')))
  let matches = 0
  for (const signature of expected.map((text) => Buffer.from(text))) {
    for (const candidate of candidates) {
      if (candidate.length === signature.length && timingSafeEqual(candidate, signature)) matches++
    }
  }
  if (matches > 0) return
  throw new WebhookVerificationError(
    'signature_mismatch',
    'No signature of the request was made with this secret for this body.',
  )
}

function parseEvent(body: WebhookBody): WebhookEvent {
  const event = parseJson(typeof body === 'string' ? body : new TextDecoder().decode(body))
  if (isEvent(event)) return event
  throw new WebhookVerificationError('invalid_event', 'The body is signed, but it is no event.')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The envelope is checked; that `data` belongs to `type` is the signer's word. */
function isEvent(value: unknown): value is WebhookEvent {
  if (typeof value !== 'object' || value === null) return false
  const { event_id, type, created_at, data } = value as Readonly<Record<string, unknown>> // an object, as was checked
  const isEnvelope = [event_id, type, created_at].every((field) => typeof field === 'string')
  return isEnvelope && typeof data === 'object' && data !== null
}
