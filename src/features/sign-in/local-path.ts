const DEFAULT = '/app/'
const LONGEST = 512
/** Visible ASCII without a backslash, which browsers read as a slash; two leading slashes would name a host. */
const LOCAL = /^\/(?!\/)[!-[\]-~]*$/
/** Placeholder host for resolving a path as a browser does. */
const HERE = 'http://here.invalid'

/** Returns the requested path if it is local, else the dashboard's. Prevents open redirects. */
export function localPath(requested: unknown): string {
  if (typeof requested !== 'string' || requested.length > LONGEST || !LOCAL.test(requested)) return DEFAULT
  const url = new URL(requested, HERE)
  return url.origin === HERE && !url.pathname.startsWith('//') ? requested : DEFAULT
}

const INVITATION = /^[\w.~-]{1,200}$/

/** Returns the text if it has the form of an invitation's token. */
export function invitationToken(requested: unknown): string | undefined {
  return typeof requested === 'string' && INVITATION.test(requested) ? requested : undefined
}
