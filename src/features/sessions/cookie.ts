/**
 * The cookie that keeps a browser signed in. Its prefix makes browsers refuse it from other hosts, without TLS, and for a
 * part of the site; localhost counts as secure.
 */

export const SESSION_COOKIE = '__Host-turnpike'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax'
/** 32 bytes, base64url. */
const SECRET_PATTERN = /^[A-Za-z0-9_-]{43}$/
/** A browser sends all cookies of the host, those of others on it, too. */
const MAX_HEADER_LENGTH = 8 * 1024

/** @returns the cookie's secret; undefined when it is missing, could not be one of ours, or is there twice. */
export function readSessionCookie(cookies: string | undefined): string | undefined {
  if (cookies === undefined || cookies.length > MAX_HEADER_LENGTH) return undefined
  const prefix = `${SESSION_COOKIE}=`
  const values = cookies
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
  const [secret] = values.map((pair) => pair.slice(prefix.length))
  return values.length === 1 && secret !== undefined && SECRET_PATTERN.test(secret) ? secret : undefined
}

/** The value of `Set-Cookie`. */
export function sessionCookie(secret: string, lifeMs: number): string {
  return `${SESSION_COOKIE}=${secret}; Max-Age=${Math.max(0, Math.floor(lifeMs / 1000))}; ${ATTRIBUTES}`
}

/** The value of `Set-Cookie` that removes it. */
export const REMOVED_SESSION_COOKIE = sessionCookie('', 0)
