/**
 * Settings and limits of git, and the credential that a run may use: one that the operator has bound to both its account and
 * its repository, or none.
 */
import { type SystemUser, sandboxUser } from '../sandbox/folders.ts'
import type { AddressRule } from './address.ts'

/** What git may take up. In bytes and milliseconds. */
export interface GitLimits {
  /** Of one file that git writes: what a fetch brings is one pack. */
  readonly packBytes: number
  /** Of a commit that is checked out, and of what one commit of the agent adds. */
  readonly files: number
  readonly workspaceBytes: number
  /** Address space of one process of git. */
  readonly memoryBytes: number
  readonly diffBytes: number
  readonly bundleBytes: number
  readonly fetchTimeoutMs: number
  readonly pushTimeoutMs: number
  readonly localTimeoutMs: number
}

export interface GitSettings extends AddressRule {
  /** Whether git runs under bubblewrap: wherever the sandbox of the agent's commands does. */
  readonly confine: boolean
  /** Whom git runs as under bubblewrap, and whom repositories belong to: the user of the agent's commands. */
  readonly user: SystemUser | undefined
  /** PEM file of the authorities to trust instead of the usual ones. */
  readonly caFile: string | undefined
  readonly limits: GitLimits
}

const SECOND_MS = 1_000

export const GIT_LIMITS: GitLimits = {
  packBytes: 1024 * 1024 * 1024,
  files: 100_000,
  workspaceBytes: 1024 * 1024 * 1024,
  memoryBytes: 4096 * 1024 * 1024,
  diffBytes: 1024 * 1024,
  bundleBytes: 32 * 1024 * 1024,
  fetchTimeoutMs: 300 * SECOND_MS,
  pushTimeoutMs: 120 * SECOND_MS,
  localTimeoutMs: 120 * SECOND_MS,
}

/** @param given What differs from the usual: https to public addresses, under bubblewrap, without an account. */
export function gitSettings(given: Partial<GitSettings> = {}): GitSettings {
  const usual = { allowLocalGit: false, confine: true, user: sandboxUser(), caFile: undefined }
  return { ...usual, limits: GIT_LIMITS, ...given }
}

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
const TOKEN_USER = 'x-access-token'

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
