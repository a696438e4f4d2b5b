/**
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
