/**
 * The two signatures of a webhook: `Turnpike-Signature`, and that of Standard Webhooks 1.0
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, read 2026-11-20).
 */
import { createHmac } from 'node:crypto'

export const SECRET_PREFIX = 'whsec_'
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
  if (!secret.startsWith(SECRET_PREFIX)) return undefined
  const encoded = secret.slice(SECRET_PREFIX.length)
  const key = Buffer.from(encoded, 'base64')
  const isKey = key.length >= KEY_BYTES.least && key.length <= KEY_BYTES.most && base64(key) === encoded
  return isKey ? key : undefined
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
