/** The `Authorization` header, read without deciding anything about the key in it. */

const MAX_HEADER_LENGTH = 512

/**
 * The secret of `Bearer <key>` or `Basic base64(<key>:)` (RFC 9110, 11.1: the scheme's case does not matter; RFC 7617).
 * @returns undefined for another scheme, for a password that is not empty, and for what cannot be a key by its length.
 */
export function readSecret(authorization: string): string | undefined {
  if (authorization.length > MAX_HEADER_LENGTH) return undefined
  const space = authorization.indexOf(' ')
  const scheme = authorization.slice(0, space)
  const credential = authorization.slice(space + 1).trim()
  if (scheme === 'Bearer' || scheme.toLowerCase() === 'bearer') return credential
  if (scheme.toLowerCase() !== 'basic') return undefined
  const pair = Buffer.from(credential, 'base64').toString('latin1')
  return pair.indexOf(':') === pair.length - 1 ? pair.slice(0, -1) : undefined
}
