/** Which credential a run may use for its repository: one that the operator has bound to both, or none. */

export interface GitCredential {
  readonly token: string
}

/** As in the configuration, `agents.git_credentials`. */
export interface GitCredentialRule extends GitCredential {
  readonly accounts: readonly string[]
  /** `organisation/repository`; `*` stands for anything. */
  readonly repositories: readonly string[]
}

/** Whom hosts take tokens from: those that tell users apart by the token alone, which is all of the usual ones. */
export const TOKEN_USER = 'x-access-token'

/** @returns the first that is for this account and this repository; undefined: none is, and none is used. */
export function credentialFor(
  rules: readonly GitCredentialRule[],
  wanted: { readonly accountId: string; readonly repository: string },
): GitCredential | undefined {
  const rule = rules.find(
    ({ accounts, repositories }) =>
      accounts.includes(wanted.accountId) && repositories.some((pattern) => matches(pattern, wanted.repository)),
  )
  return rule === undefined ? undefined : { token: rule.token }
}

/** By hand, since a regular expression with several `.*` takes time that grows without bound. */
function matches(pattern: string, text: string): boolean {
  const [start = '', ...rest] = pattern.split('*')
  const end = rest.pop()
  if (end === undefined) return text === pattern
  if (!text.startsWith(start) || text.length < start.length + end.length || !text.endsWith(end)) return false
  let from = start.length
  for (const part of rest) {
    const found = text.indexOf(part, from)
    if (found === -1) return false
    from = found + part.length
  }
  return from <= text.length - end.length
}

/** Everything that would give the credential away, for what is to be cleaned of it. */
export function secretsOf({ token }: GitCredential): readonly string[] {
  return [token, `${TOKEN_USER}:${token}`]
}

/** What git reads from a credential helper (gitcredentials(7)). */
export function helperAnswer({ token }: GitCredential): string {
  return `username=${TOKEN_USER}\npassword=${token}\n`
}
