/**
 * Settings and limits of git, and the credential of a run: one that the operator assigned to both its account and its
 * repository, or none.
 */
import { type SystemUser, sandboxUser } from '../sandbox/folders.ts'
import type { AddressRule } from './address.ts'

/** Limits of git, in bytes and milliseconds. */
export interface GitLimits {
  /** Maximum size of a file that git writes: a fetch receives one pack. */
  readonly packBytes: number
  /** Limits of a checked-out commit, and of the changes of a commit of the agent. */
  readonly files: number
  readonly workspaceBytes: number
  /** Maximum address space of a git process. */
  readonly memoryBytes: number
  readonly diffBytes: number
  readonly bundleBytes: number
  readonly fetchTimeoutMs: number
  readonly pushTimeoutMs: number
  readonly localTimeoutMs: number
}

export interface GitSettings extends AddressRule {
  /** Whether git runs under bubblewrap, as the agent's commands do. */
  readonly confine: boolean
  /** User of git under bubblewrap, who owns the repositories: the user of the agent's commands. */
  readonly user: SystemUser | undefined
  /** PEM file of trusted certificate authorities. Undefined: the system's. */
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

/** @param given Deviations from the defaults: https to public addresses, under bubblewrap, without an account. */
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

/** User name for tokens. The common hosts identify users by the token alone. */
const TOKEN_USER = 'x-access-token'

/** Returns the first credential that is assigned to this account and this repository; undefined: none. */
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

/** Not a regular expression, since several `.*` take superlinear time. */
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

/** Texts that reveal the credential, for their removal from output. */
export function secretsOf({ token }: GitCredential): readonly string[] {
  return [token, `${TOKEN_USER}:${token}`]
}

/** Renders the response of a credential helper (gitcredentials(7)). */
export function helperAnswer({ token }: GitCredential): string {
  return `username=${TOKEN_USER}\npassword=${token}\n`
}
