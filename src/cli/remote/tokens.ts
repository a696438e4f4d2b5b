/** What a server gives to a device that was approved. */
import { isRecord, parseJson } from '../../lib/json.ts'

export interface Tokens {
  readonly accessToken: string
  /** Unix milliseconds by this machine's clock. */
  readonly expiresAt: number
  /** Undefined: the server gave none, and one has to sign in again when the access token expires. */
  readonly refreshToken: string | undefined
}

export function renderTokens({ accessToken, expiresAt, refreshToken }: Tokens): string {
  return JSON.stringify({ access_token: accessToken, expires_at: expiresAt, refresh_token: refreshToken })
}

/** @returns undefined for anything that is not such a text. */
export function parseTokens(text: string): Tokens | undefined {
  const value = parseJson(text)
  if (!isRecord(value)) return undefined
  const { access_token: accessToken, expires_at: expiresAt, refresh_token: refreshToken } = value
  if (!isToken(accessToken) || typeof expiresAt !== 'number') return undefined
  return { accessToken, expiresAt, refreshToken: isToken(refreshToken) ? refreshToken : undefined }
}

const DEFAULT_LIFETIME_S = 3_600

/** The body of a token endpoint's answer (RFC 6749, 5.1). @returns undefined for anything else. */
export function readGrantedTokens(body: unknown, now: number): Tokens | undefined {
  if (!isRecord(body)) return undefined
  const { access_token: accessToken, expires_in: seconds, refresh_token: refreshToken } = body
  if (!isToken(accessToken)) return undefined
  const lifetime = typeof seconds === 'number' && seconds > 0 ? seconds : DEFAULT_LIFETIME_S
  return {
    accessToken,
    expiresAt: now + lifetime * 1_000,
    refreshToken: isToken(refreshToken) ? refreshToken : undefined,
  }
}

/** What a header can carry (RFC 6750, 2.1). */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.~+/-]{1,4096}=*$/.test(value)
}
