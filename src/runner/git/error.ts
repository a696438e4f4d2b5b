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
