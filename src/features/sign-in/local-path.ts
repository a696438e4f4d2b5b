const DEFAULT = '/app/'
const LONGEST = 512
/** Visible ASCII without a backslash, which browsers take for a slash; two slashes would begin a host. */
const LOCAL = /^\/(?!\/)[!-[\]-~]*$/
/** Only to see where a browser would go. */
const HERE = 'http://here.invalid'

/** Where somebody goes after the sign-in: a path of ours, whatever was asked for (open redirects). */
export function localPath(asked: unknown): string {
  if (typeof asked !== 'string' || asked.length > LONGEST || !LOCAL.test(asked)) return DEFAULT
  const url = new URL(asked, HERE)
  return url.origin === HERE && !url.pathname.startsWith('//') ? asked : DEFAULT
}

const INVITATION = /^[\w.~-]{1,200}$/

/** The token of an invitation, if it could be one. */
export function invitationToken(asked: unknown): string | undefined {
  return typeof asked === 'string' && INVITATION.test(asked) ? asked : undefined
}
