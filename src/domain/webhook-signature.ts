/**
 * Signs webhook deliveries: with the contract's `Turnpike-Signature`, and with Standard Webhooks 1.0
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, read 2026-11-20).
 * `docs/webhooks.md` shows receivers how to check both.
 */
import {
  base64,
  hexSignature,
  SECRET_PREFIX,
  standardSignature,
  type WebhookMessage,
  webhookKey,
} from '../../packages/webhooks/src/signature.ts'

export { hexSignature, webhookKey } from '../../packages/webhooks/src/signature.ts'

const MINTED_BYTES = 32

interface SigningRequest extends WebhookMessage {
  /** The newest first; two during the overlap of a rotation. */
  readonly secrets: readonly string[]
}

interface WebhookSignatureHeaders {
  readonly 'Turnpike-Signature': string
  readonly 'webhook-id': string
  readonly 'webhook-timestamp': string
  readonly 'webhook-signature': string
}

/** @param randomBytes Returns `size` unpredictable bytes. */
export function mintWebhookSecret(randomBytes: (size: number) => Uint8Array): string {
  return SECRET_PREFIX + base64(randomBytes(MINTED_BYTES))
}

/** Returns the headers of one attempt. Throws for a secret that is not `whsec_` and base64. */
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

function keyOrThrow(secret: string): Uint8Array {
  const key = webhookKey(secret)
  if (key === undefined) throw new TypeError('A webhook secret is whsec_ and the base64 of 24 to 64 bytes.')
  return key
}
