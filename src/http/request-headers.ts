/** Parses request headers: `Accept`, `Idempotency-Key`, `Last-Event-ID`, `Cookie`; renders `Set-Cookie`. */
import { GatewayError } from '../domain/errors.ts'

/** A media type and the format that it stands for. */
type MediaType<Format extends string> = readonly [type: string, format: Format]

const MAX_RANGES = 50

/**
 * Selects a format by `Accept` (RFC 9110, 12.5.1): the type of highest quality, then the most specific range, then the first
 * type, also where none is acceptable.
 */
export function acceptedFormat<Format extends string>(
  accept: string | undefined,
  types: readonly [MediaType<Format>, ...MediaType<Format>[]],
): Format {
  const fallback = types[0][1]
  if (accept === undefined) return fallback
  const ranges = accept.split(',', MAX_RANGES).map(parseRange)
  let best: { format: Format; quality: number; exactness: number } | undefined
  for (const [type, format] of types) {
    const { quality, exactness } = rate(type, ranges)
    const isBetter =
      best === undefined || quality > best.quality || (quality === best.quality && exactness > best.exactness)
    if (quality > 0 && isBetter) best = { format, quality, exactness }
  }
  return best?.format ?? fallback
}

interface Range {
  readonly type: string
  readonly quality: number
}

function parseRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  return { type, quality: quality === undefined ? 1 : Number(quality) || 0 }
}

/** The most specific range of a type decides its quality. */
function rate(type: string, ranges: readonly Range[]): { readonly quality: number; readonly exactness: number } {
  const names = ['*/*', type.replace(/\/.*/, '/*'), type]
  for (let exactness = names.length - 1; exactness >= 0; exactness--) {
    const range = ranges.find((each) => each.type === names[exactness])
    if (range !== undefined) return { quality: range.quality, exactness }
  }
  return { quality: 0, exactness: 0 }
}

/** Printable ASCII; a header's value never begins or ends with a space. */
const KEY = /^[\x20-\x7e]{1,255}$/

/** The format of the header in the schemas of routes. */
export const IDEMPOTENCY_KEY_FORMAT = { minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' } as const

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

/*
 * Cookies of this server. The `__Host-` prefix of their names makes browsers reject them from other hosts, without TLS, and
 * for a part of the site; localhost counts as secure.
 */

const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax'
/** Browsers send all cookies of a host, including those of other servers on it. */
const MAX_HEADER_LENGTH = 8 * 1024

/** Returns a value of `Set-Cookie`. A lifetime of 0 or less removes the cookie. */
export function renderCookie(name: string, value: string, lifeMs: number): string {
  return `${name}=${value}; Max-Age=${Math.max(0, Math.floor(lifeMs / 1000))}; ${ATTRIBUTES}`
}

/** @param header The `Cookie` header. @returns undefined when the cookie is missing or repeated, or the header too long. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  if (header === undefined || header.length > MAX_HEADER_LENGTH) return undefined
  const prefix = `${name}=`
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
  return values.length === 1 ? values[0]?.slice(prefix.length) : undefined
}
