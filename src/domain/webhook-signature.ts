/**
 * How webhook deliveries are signed: with the contract's `Turnpike-Signature`, and by Standard Webhooks 1.0
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, read 2026-11-20).
 * `docs/webhooks.md` tells receivers how to check both.
 */
import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'
const MINTED_BYTES = 32
/** What Standard Webhooks allows a key to be. */
const KEY_BYTES = { least: 24, most: 64 }

/** The bytes that are sent; text is sent as UTF-8. */
export type WebhookBody = string | Uint8Array

export interface WebhookMessage {
  /** The event's id: the same at every attempt. */
  readonly id: string
  /** Unix seconds of this attempt, as the header shows it. */
  readonly timestamp: number | string
  readonly body: WebhookBody
}

export interface SigningRequest extends WebhookMessage {
  /** The newest first, at least one: as long as a rotation's overlap runs, two. */
  readonly secrets: readonly string[]
}

export interface WebhookSignatureHeaders {
  readonly 'Turnpike-Signature': string
  readonly 'webhook-id': string
  readonly 'webhook-timestamp': string
  readonly 'webhook-signature': string
}

/** @param randomBytes Returns `size` unpredictable bytes. */
export function mintWebhookSecret(randomBytes: (size: number) => Uint8Array): string {
  return PREFIX + base64(randomBytes(MINTED_BYTES))
}

/** The headers of one attempt. Throws for a secret that is not `whsec_` and base64: nothing leaves unsigned. */
export function signWebhook({ id, timestamp, body, secrets }: SigningRequest): WebhookSignatureHeaders {
  if (secrets.length === 0) throw new TypeError('A webhook is signed with at least one secret.')
  const message = { id, timestamp, body }
  return {
    'Turnpike-Signature': secrets.map((secret) => hexSignature(body, secret)).join(','),
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => standardSignature(message, keyOrThrow(secret))).join(' '),
  }
}

/** One entry of `Turnpike-Signature`. The key is the secret as shown, `whsec_` included. */
export function hexSignature(body: WebhookBody, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

/** One entry of `webhook-signature`. */
export function standardSignature({ id, timestamp, body }: WebhookMessage, key: Uint8Array): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
}

/** The bytes that a secret stands for; undefined when it is not `whsec_` and the base64 of 24 to 64 bytes. */
export function webhookKey(secret: string): Uint8Array | undefined {
  if (!secret.startsWith(PREFIX)) return undefined
  const encoded = secret.slice(PREFIX.length)
  const key = Buffer.from(encoded, 'base64')
  const isKey = key.length >= KEY_BYTES.least && key.length <= KEY_BYTES.most && base64(key) === encoded
  return isKey ? key : undefined
}

function keyOrThrow(secret: string): Uint8Array {
  const key = webhookKey(secret)
  if (key === undefined) throw new TypeError('A webhook secret is whsec_ and the base64 of 24 to 64 bytes.')
  return key
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
