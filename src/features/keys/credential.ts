/** The `Authorization` header, read without deciding anything about the credential in it. */

/** Longer than any credential: a session's token takes about 1 000 characters. */
const MAX_HEADER_LENGTH = 2_560

/**
 * The secret of `Bearer <key>` or `Basic base64(<key>:)` (RFC 9110, 11.1: the scheme's case does not matter; RFC 7617).
 * @returns undefined for another scheme, for a password that is not empty, and for what cannot be a key by its length.
 */
export function readSecret(authorization: string): string | undefined {
  const bearer = readBearer(authorization)
  if (bearer !== undefined || authorization.length > MAX_HEADER_LENGTH) return bearer
  const space = authorization.indexOf(' ')
  if (authorization.slice(0, space).toLowerCase() !== 'basic') return undefined
  const pair = Buffer.from(authorization.slice(space + 1).trim(), 'base64').toString('latin1')
  return pair.indexOf(':') === pair.length - 1 ? pair.slice(0, -1) : undefined
}

/** What follows `Bearer`; undefined for another scheme, and for more than any credential is long. */
export function readBearer(authorization: string): string | undefined {
  if (authorization.length > MAX_HEADER_LENGTH) return undefined
  const space = authorization.indexOf(' ')
  const scheme = authorization.slice(0, space)
  if (scheme !== 'Bearer' && scheme.toLowerCase() !== 'bearer') return undefined
  return authorization.slice(space + 1).trim()
}
