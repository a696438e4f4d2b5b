/** Errors of git: reasons, derived from git's output, and the sanitising of that output. */
import type { RunError } from '../../domain/agent.ts'

/** Codes of failed runs that git can cause. */
export type GitErrorCode = Extract<
  RunError,
  'repository_unavailable' | 'repository_too_large' | 'workspace_too_large' | 'push_failed' | 'internal_error'
>

/** Reasons, described for the run's owner. */
const REASONS = {
  not_found: 'The repository does not exist, or reading it requires a credential.',
  access_denied: 'The git server denied access.',
  branch_not_found: 'The branch does not exist.',
  empty: 'The repository has no commit.',
  unreachable: 'The git server is unreachable.',
  address_refused: 'The name of the git server resolves to an address that is not allowed.',
  redirected: 'The git server returned a redirect; redirects are not followed.',
  damaged: 'The repository contains objects that git rejects.',
  too_large: 'The repository or the changes exceed the size limit.',
  too_many_files: 'The number of files exceeds the limit.',
  timeout: 'Git exceeded its time limit.',
  push_rejected: 'The git server rejected the branch.',
  bundle_too_large: 'The commits are too large to be stored.',
  base_gone: 'The base commit is no longer in the repository.',
  failed: 'Git failed.',
} as const
export type GitReason = keyof typeof REASONS

export interface GitErrorOptions {
  readonly code: GitErrorCode
  readonly reason: GitReason
  /** For logs: git's output, truncated, without control characters and credentials. It may contain paths of this machine. */
  readonly detail?: string
}

/** Its message is shown to the run's owner; `detail` must not be. */
export class GitError extends Error {
  override readonly name = 'GitError'
  readonly code: GitErrorCode
  readonly reason: GitReason
  readonly detail: string

  constructor({ code, reason, detail = '' }: GitErrorOptions) {
    super(REASONS[reason])
    this.code = code
    this.reason = reason
    this.detail = detail
  }
}

/** Messages of git (in the C locale) and their reasons; the first match applies. */
const MESSAGES: readonly (readonly [RegExp, GitReason])[] = [
  [/died of signal 25|File too large|file size limit exceeded/i, 'too_large'],
  [/out of memory|Cannot allocate memory|mmap failed/i, 'too_large'],
  [/couldn't find remote ref HEAD/, 'empty'],
  [/couldn't find remote ref|Remote branch .{0,300} not found/, 'branch_not_found'],
  [/not our ref|unadvertised object|lacks these prerequisite commits/, 'base_gone'],
  [/could not read Username|terminal prompts disabled|Authentication failed|returned error: 401/, 'not_found'],
  [/returned error: 404|repository '.{0,500}' not found|does not appear to be a git repository/i, 'not_found'],
  [/returned error: 403/, 'access_denied'],
  [/returned error: 30\d|redirect/i, 'redirected'],
  [/\[(?:remote )?rejected\]|failed to push some refs|pre-receive hook declined/, 'push_rejected'],
  [/fsck error|object corrupt|bad object|index-pack failed|invalid index-pack output|unresolved delta/i, 'damaged'],
  [/CONNECT tunnel failed|HTTP code \d+ from proxy|returned error: 50[24]/i, 'unreachable'],
  [/Could not resolve host|Failed to connect|Connection (?:refused|timed out|reset)|Couldn't connect/i, 'unreachable'],
  [/SSL|certificate|Operation too slow|Empty reply|early EOF|hung up unexpectedly/i, 'unreachable'],
]

/** @param output Of git, sanitised. */
export function reasonOf(output: string, code: GitErrorCode): { code: GitErrorCode; reason: GitReason } {
  const reason = MESSAGES.find(([message]) => message.test(output))?.[1] ?? 'failed'
  if (reason === 'too_large' && code === 'repository_unavailable') return { code: 'repository_too_large', reason }
  return { code, reason }
}

/** Control sequences of terminals (ECMA-48): CSI, OSC and other strings, then single escapes. */
const TERMINAL_SEQUENCES =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?/g
/** Control characters except line feed and tab, and invisible and bidirectional characters. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
const REDACTED = '[redacted]'

/** Removes control sequences and invisible characters, so that logs, terminals and pages can show the text. */
export function plainText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(TERMINAL_SEQUENCES, '').replace(UNSEEN, '').toWellFormed()
}

/** @param secrets Removed as they are, and in their URL and base64 encodings. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret !== '')
    .flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')])
    .reduce((cleaned, form) => cleaned.replaceAll(form, REDACTED), text)
}
