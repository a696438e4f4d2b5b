const DEFAULT = '/app/'
const LONGEST = 512
/** Visible ASCII without a backslash, which browsers take for a slash; two slashes would begin a host. */
const LOCAL = /^\/(?!\/)[!-[\]-~]*$/
/** Only to see where a browser would go. */
const HERE = 'http://here.invalid'

/** The path after sign-in: the requested one if it is local, which prevents open redirects. */
export function localPath(requested: unknown): string {
  if (typeof requested !== 'string' || requested.length > LONGEST || !LOCAL.test(requested)) return DEFAULT
  const url = new URL(requested, HERE)
  return url.origin === HERE && !url.pathname.startsWith('//') ? requested : DEFAULT
}

const INVITATION = /^[\w.~-]{1,200}$/

/** The token of an invitation, if it could be one. */
export function invitationToken(requested: unknown): string | undefined {
  return typeof requested === 'string' && INVITATION.test(requested) ? requested : undefined
}
