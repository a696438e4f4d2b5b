/** Reads the values of flags and arguments of `turnpike webhooks`. What is not allowed is wrong usage: exit 2. */
import { InvalidArgumentError } from 'commander'
import { isWebhookEventType, WEBHOOK_EVENT_TYPES, type WebhookEventType } from '../domain/webhook-event.ts'
import { parseDurationMs } from '../lib/duration.ts'
import { parseIsoTime } from '../lib/iso-time.ts'
import { isLoopbackUrl } from '../lib/loopback.ts'
import { parseList } from './option-values.ts'

export function parseEventType(text: string): WebhookEventType {
  if (isWebhookEventType(text)) return text
  throw new InvalidArgumentError(`Allowed: ${WEBHOOK_EVENT_TYPES.join(', ')}.`)
}

export function parseEventTypes(text: string): readonly WebhookEventType[] {
  return [...new Set(parseList(text).map(parseEventType))]
}

export function parseWebhookId(text: string): string {
  if (/^whk_\w+$/.test(text)) return text
  throw new InvalidArgumentError("Allowed: the ID of an endpoint, whk_…; 'turnpike webhooks list' shows them.")
}

export function parseDeliveryId(text: string): string {
  if (/^dlv_\w+$/.test(text)) return text
  throw new InvalidArgumentError("Allowed: the ID of a delivery, dlv_…; 'turnpike webhooks deliveries ID' shows them.")
}

/**
 * A time, or how long ago it was.
 * @returns Unix milliseconds.
 */
export function parsePastTime(text: string): number {
  const agoMs = parseDurationMs(text)
  const time = agoMs === undefined ? parseIsoTime(text) : Date.now() - agoMs
  if (time !== undefined && time >= 0) return time
  throw new InvalidArgumentError(
    'Allowed: a number and a unit (s, m, h, d), such as 2h, or an ISO 8601 date or time in UTC, such as 2026-01-31T12:00:00Z.',
  )
}

/** A receiver's address as developers write it: `localhost:3000/hook`, `3000/hook`, or all of it. */
export function parseReceiver(text: string): URL {
  const url = readReceiver(text.trim())
  if (url !== undefined && url.hostname !== '' && url.username === '' && url.password === '') return url
  throw new InvalidArgumentError('Allowed: an http or https address, such as localhost:3000/webhooks.')
}

function readReceiver(text: string): URL | undefined {
  if (/^https?:\/\//i.test(text)) return URL.parse(text) ?? undefined
  if (text.includes('://')) return undefined
  // without the name, a port alone would be read as an address: 3000 is 0.0.11.184
  if (/^:?\d{1,5}(?:[/?]|$)/.test(text)) return URL.parse(`http://localhost:${text.replace(/^:/, '')}`) ?? undefined
  const plain = URL.parse(`http://${text}`)
  if (plain === null || isLoopbackUrl(plain)) return plain ?? undefined
  return URL.parse(`https://${text}`) ?? undefined
}
