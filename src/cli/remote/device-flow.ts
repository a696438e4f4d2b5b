/** Waiting for a person to approve: polls as the server wants it, through bad networks and a closed laptop. */
import type { Poll } from './oauth.ts'
import type { Tokens } from './tokens.ts'

export interface Waiting {
  readonly poll: () => Promise<Poll>
  readonly sleep: (ms: number) => Promise<void>
  /** Unix milliseconds: a machine that slept knows how late it is, a monotonic clock may not. */
  readonly now: () => number
  readonly intervalMs: number
  readonly expiresAt: number
  /** The server could not be asked, and then could again. */
  readonly onTrouble?: (message: string | undefined) => void
}

export type Outcome =
  | { readonly kind: 'approved'; readonly tokens: Tokens }
  | { readonly kind: 'denied' }
  /** `trouble`: why the last polls were in vain. */
  | { readonly kind: 'expired'; readonly trouble: string | undefined }

/** RFC 8628, 3.5. */
const SLOWER_BY_MS = 5_000
const MAX_WAIT_MS = 30_000

/** Rejects when `poll` or `sleep` do. */
export async function waitForApproval({
  poll,
  sleep,
  now,
  intervalMs,
  expiresAt,
  onTrouble,
}: Waiting): Promise<Outcome> {
  let everyMs = intervalMs
  let waitMs = intervalMs
  let trouble: string | undefined
  for (;;) {
    await sleep(Math.max(0, Math.min(waitMs, expiresAt - now())))
    const isLast = now() >= expiresAt
    const answer = await poll()
    const before = trouble
    trouble = answer.kind === 'unsaid' ? answer.message : undefined
    if (trouble !== before) onTrouble?.(trouble)
    if (answer.kind === 'approved') return answer
    if (answer.kind === 'denied') return { kind: 'denied' }
    if (answer.kind === 'expired' || isLast) return { kind: 'expired', trouble }
    if (answer.kind === 'slow_down') everyMs += SLOWER_BY_MS
    waitMs = answer.kind === 'unsaid' ? Math.max(answer.waitMs, Math.min(waitMs * 2, MAX_WAIT_MS)) : everyMs
  }
}
