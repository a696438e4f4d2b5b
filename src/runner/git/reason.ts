import type { GitErrorCode, GitReason } from './error.ts'

/** What git says (in the C locale), and what it means; the first that fits. */
const SAYINGS: readonly (readonly [RegExp, GitReason])[] = [
  [/died of signal 25|File too large|file size limit exceeded/i, 'too_large'],
  [/out of memory|Cannot allocate memory|mmap failed/i, 'too_large'],
  [/couldn't find remote ref HEAD/, 'empty'],
  [/couldn't find remote ref|Remote branch .* not found/, 'branch_not_found'],
  [/not our ref|unadvertised object|lacks these prerequisite commits/, 'base_gone'],
  [/could not read Username|terminal prompts disabled|Authentication failed|returned error: 401/, 'not_found'],
  [/returned error: 404|repository '.*' not found|does not appear to be a git repository/i, 'not_found'],
  [/returned error: 403/, 'access_denied'],
  [/returned error: 30\d|redirect/i, 'redirected'],
  [/\[(?:remote )?rejected\]|failed to push some refs|pre-receive hook declined/, 'push_rejected'],
  [/fsck error|object corrupt|bad object|index-pack failed|invalid index-pack output|unresolved delta/i, 'damaged'],
  [/Could not resolve host|Failed to connect|Connection (?:refused|timed out|reset)|Couldn't connect/i, 'unreachable'],
  [/SSL|certificate|Operation too slow|Empty reply|early EOF|hung up unexpectedly/i, 'unreachable'],
]

/** @param said By git, cleaned. */
export function reasonOf(said: string, code: GitErrorCode): { code: GitErrorCode; reason: GitReason } {
  const reason = SAYINGS.find(([saying]) => saying.test(said))?.[1] ?? 'failed'
  if (reason === 'too_large' && code === 'repository_unavailable') return { code: 'repository_too_large', reason }
  return { code, reason }
}
