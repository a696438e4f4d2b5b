/** Errors of git: their reasons, derived from git's output, and the cleaning of that output. */
import type { RunError } from '../../domain/agent.ts'

/** The codes of a failed run that git can bring about. */
export type GitErrorCode = Extract<
  RunError,
  'repository_unavailable' | 'repository_too_large' | 'workspace_too_large' | 'push_failed' | 'internal_error'
>

/** What exactly went wrong, in the words of the run's owner. */
const REASONS = {
  not_found: 'The repository does not exist, or may not be read without a credential.',
  access_denied: 'The git server refused access.',
  branch_not_found: 'The branch does not exist.',
  empty: 'The repository has no commit.',
  unreachable: 'The git server could not be reached.',
  address_refused: 'The name of the git server leads to an address that is not allowed.',
  redirected: 'The git server answered with a redirect, which is not followed.',
  damaged: 'The repository holds objects that git refuses.',
  too_large: 'The repository or the work is larger than is allowed.',
  too_many_files: 'There are more files than are allowed.',
  timeout: 'Git took longer than is allowed.',
  push_rejected: 'The git server did not take the branch.',
  bundle_too_large: 'What was committed is too large to be kept.',
  base_gone: 'The commit that the work began at is no longer in the repository.',
  failed: 'Git failed.',
} as const
export type GitReason = keyof typeof REASONS

export interface GitErrorOptions {
  readonly code: GitErrorCode
  readonly reason: GitReason
  /** For logs: what git said, bounded, without control characters and credentials. It may name paths of this machine. */
  readonly detail?: string
}

/** Its message may be shown to the run's owner; `detail` may not. */
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

/** What git says (in the C locale), and what it means; the first that fits. */
const SAYINGS: readonly (readonly [RegExp, GitReason])[] = [
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

/** @param said By git, cleaned. */
export function reasonOf(said: string, code: GitErrorCode): { code: GitErrorCode; reason: GitReason } {
  const reason = SAYINGS.find(([saying]) => saying.test(said))?.[1] ?? 'failed'
  if (reason === 'too_large' && code === 'repository_unavailable') return { code: 'repository_too_large', reason }
  return { code, reason }
}

/** Sequences by which a terminal is told to do things (ECMA-48): CSI, OSC and other strings, then single escapes. */
const TERMINAL_SEQUENCES =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?/g
/** Controls but line feed and tab; what is invisible, or turns the direction of writing. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
const REDACTED = '[redacted]'

/** @returns the text as a log, a terminal or a page may show it: each line by itself, and nothing acts on the reader. */
export function plainText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(TERMINAL_SEQUENCES, '').replace(UNSEEN, '').toWellFormed()
}

/** @param secrets Are looked for as they are, and in the forms in which programs pass them on. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret !== '')
    .flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')])
    .reduce((cleaned, form) => cleaned.replaceAll(form, REDACTED), text)
}
