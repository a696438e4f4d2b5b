/**
 * Where somebody wanted to go who signs in by a one-time link. The link comes from a terminal and knows nothing of the page that
 * the browser was sent to `/sign-in` from, so the browser keeps it, for as long as a link is good. Whoever reads it is to make
 * a path of ours of it: a neighbor on the same host could have put it there.
 */

const COOKIE = '__Host-turnpike-next'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax'
const LIFE_MS = 15 * 60_000
/** A browser sends all cookies of the host, those of others on it, too. */
const MAX_HEADER_LENGTH = 8 * 1024

/** The value of `Set-Cookie`. @param next A path of ours. */
export function nextCookie(next: string): string {
  return `${COOKIE}=${encodeURIComponent(next)}; Max-Age=${LIFE_MS / 1000}; ${ATTRIBUTES}`
}

/** The value of `Set-Cookie` that removes it. */
export const REMOVED_NEXT = `${COOKIE}=; Max-Age=0; ${ATTRIBUTES}`

/** Undefined when there is none, or it is there twice or unreadable. @param cookies The `Cookie` header. */
export function readNextCookie(cookies: string | undefined): string | undefined {
  if (cookies === undefined || cookies.length > MAX_HEADER_LENGTH) return undefined
  const prefix = `${COOKIE}=`
  const [value, ...others] = cookies
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
  if (value === undefined || others.length > 0) return undefined
  try {
    return decodeURIComponent(value.slice(prefix.length))
  } catch {
    return undefined // it was never ours
  }
}
