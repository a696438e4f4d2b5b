/**
 * Follows the completions of an account. They are kept by when they began, and there only when they have ended, which no
 * index knows: each look is at the newest, as page one of the list has them, and leaves out what was found before.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountId, CompletionId } from '../../domain/ids.ts'
import { ALL_TIME } from '../../http/period.ts'
import type { UntimedFilter } from './completion-filter.ts'
import { type CompletionRow, findCompletion, listCompletions } from './completion-list.ts'

export interface CompletionTailInput {
  readonly db: Kysely<Database>
  readonly accountId: AccountId
  readonly filter: UntimedFilter
  /** Unix milliseconds. */
  readonly now: () => number
  /**
   * The last one that the reader has. What ended in the seconds before it is found once more, since a part of it may have
   * been written later. Undefined: from now on.
   */
  readonly last: CompletionId | undefined
  /** From one reading to the next, at least. */
  readonly readEveryMs: number
}

/** What has ended since it was asked before, by when it ended; none: nothing for now. */
export type CompletionTail = () => Promise<readonly CompletionRow[]>

/** What is looked at: so many, and none that began longer ago. */
export const MAX_TAIL = 100
const MAX_TAIL_MS = 3_600_000
/** So long ago may lie what a reader goes on from, once. */
const MAX_MISSED_MS = 7 * 86_400_000
/** Longer than settlements usually wait to be written, and than clocks of machines differ. */
const LATE_MS = 10_000
/** Readings that take long come seldom: they take up a tenth of the time at most. */
const REST = 10

/** Everything that ends from the moment on when it resolves is told. */
export async function openCompletionTail(input: CompletionTailInput): Promise<CompletionTail> {
  const { db, accountId, now, last, readEveryMs } = input
  const lastRow = last === undefined ? undefined : await findCompletion(db, { accountId, id: last })
  const first = await newestSince(input, firstMoment(now(), lastRow))
  let known = idsOf(first)
  let missed = last === undefined ? [] : first.filter((row) => !isTold(row, { last, lastRow }))
  let nextAt = performance.now() + readEveryMs
  return async () => {
    const begunAt = performance.now()
    const rows = missed
    missed = []
    if (rows.length > 0 || begunAt < nextAt) return rows.toSorted(byEnd)
    const newest = await newestSince(input, now() - MAX_TAIL_MS)
    nextAt = begunAt + Math.max(readEveryMs, (performance.now() - begunAt) * REST)
    const fresh = newest.filter(({ id }) => !known.has(id))
    known = idsOf(newest) // what is no longer among the newest never is again
    return fresh.toSorted(byEnd)
  }
}

function newestSince({ db, accountId, filter }: CompletionTailInput, start: number): Promise<readonly CompletionRow[]> {
  const period = { start: Math.max(0, start), end: ALL_TIME.end }
  return listCompletions(db, {
    accountId,
    filter: { ...filter, period },
    limit: MAX_TAIL,
    order: 'desc',
    after: undefined,
  })
}

function firstMoment(now: number, lastRow: CompletionRow | undefined): number {
  const wanted = Math.min(now, lastRow === undefined ? now : endOf(lastRow)) - MAX_TAIL_MS
  return Math.max(wanted, now - MAX_MISSED_MS)
}

interface Place {
  readonly last: CompletionId
  /** Undefined: it is gone, or was never there. */
  readonly lastRow: CompletionRow | undefined
}

/** Whether a reader who has the last one surely has this one. */
function isTold(row: CompletionRow, { last, lastRow }: Place): boolean {
  if (lastRow === undefined) return row.id <= last
  return row.id === last || endOf(row) < endOf(lastRow) - LATE_MS
}

function idsOf(rows: readonly CompletionRow[]): ReadonlySet<CompletionId> {
  return new Set(rows.map(({ id }) => id))
}

function byEnd(one: CompletionRow, other: CompletionRow): number {
  return endOf(one) - endOf(other) || (one.id < other.id ? -1 : 1)
}

/** Unix milliseconds. */
function endOf({ created_at: begunAt, duration_ms: durationMs }: CompletionRow): number {
  return begunAt + durationMs
}
