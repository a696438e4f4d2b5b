/** The headers of requests that are sent again: their key, and what of a stream was received. */
import { GatewayError } from '../domain/errors.ts'

/** Printable ASCII; a header's value never begins or ends with a space. */
const KEY = /^[\x20-\x7e]{1,255}$/

/**
 * The value of the `Idempotency-Key` header; undefined when there is none.
 * Throws 400 `invalid_header` for what is not 1 to 255 printable ASCII characters.
 */
export function parseIdempotencyKey(value: string | undefined): string | undefined {
  if (value === undefined || KEY.test(value)) return value
  const message = 'Idempotency-Key must be 1 to 255 printable ASCII characters.'
  throw new GatewayError('invalid_header', message, { param: 'Idempotency-Key' })
}

/**
 * The value of the `Last-Event-ID` header: the number of the last event received; undefined when there is none.
 * Throws 400 `invalid_header` for what is not a decimal number.
 */
export function parseLastEventId(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  if (/^\d{1,20}$/.test(value)) return Number(value)
  const message = 'Last-Event-ID must be the id of an event of the stream: a decimal number.'
  throw new GatewayError('invalid_header', message, { param: 'Last-Event-ID' })
}
