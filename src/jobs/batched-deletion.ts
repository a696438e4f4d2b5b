/**
 * Jobs that change many rows in small transactions, so that the database's single writer admits requests in between:
 * deletion, and sealing again what the previous secret of the installation sealed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Database } from '../db/schema/schema.ts'
import type { IdSource } from '../domain/ids.ts'
import { doubling, every, type JobKind } from './job.ts'
import { enqueue } from './queue.ts'

/** Rows deleted in one transaction. */
export const BATCH_ROWS = 500
/** Pauses last this many times as long as the batch before them, so the writer is mostly free for others. */
const PAUSE_FACTOR = 3
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000

/**
 * @param deleteBatch Deletes at most `BATCH_ROWS` and returns how many; 0: nothing is left.
 * @returns How many rows were deleted. Rejects when `signal` is aborted; what was deleted by then stays deleted.
 */
export async function inBatches(deleteBatch: () => Promise<number>, signal?: AbortSignal): Promise<number> {
  let total = 0
  for (;;) {
    signal?.throwIfAborted()
    const startedAt = performance.now()
    const deleted = await deleteBatch()
    const tookMs = performance.now() - startedAt
    if (deleted === 0) return total
    total += deleted
    await sleep(tookMs * PAUSE_FACTOR, undefined, signal === undefined ? {} : { signal })
  }
}

/** Returns a job that deletes old rows every `intervalMs`. @param deleteBatch As in `inBatches`. */
export function retentionJob(intervalMs: number, deleteBatch: () => Promise<number>): JobKind {
  return every(intervalMs, (_job, { signal }) => inBatches(deleteBatch, signal))
}

/** The rows that belong to a deleted object. */
export interface Dependants<Reference> {
  /** Of the job that deletes the rest. */
  readonly kind: string
  /** Unique within the kind. */
  readonly jobName: (owner: Reference) => string
  /** Deletes at most `BATCH_ROWS` rows and returns how many. */
  readonly deleteBatch: (db: Kysely<Database>, owner: Reference) => Promise<number>
  /** Rows may still be inserted for so long: the job then runs after that, in any case. */
  readonly lateRowsMs?: number
}

/** Deletes a first batch in the caller's transaction, and the rest by a job. @param now Unix milliseconds. */
export async function deleteDependants<Reference>(
  db: Kysely<Database>,
  { kind, jobName, deleteBatch, lateRowsMs }: Dependants<Reference>,
  { owner, now, ids }: { readonly owner: Reference; readonly now: () => number; readonly ids: Pick<IdSource, 'job'> },
): Promise<void> {
  const isLast = (await deleteBatch(db, owner)) < BATCH_ROWS
  if (isLast && lateRowsMs === undefined) return
  const runAt = isLast ? now() + (lateRowsMs ?? 0) : undefined
  await enqueue(db, { kind, name: jobName(owner), payload: owner, runAt }, ids)
}

/** The job of `deleteDependants`. */
export function dependantsJob<Reference>(
  db: Kysely<Database>,
  { kind, deleteBatch }: Dependants<Reference>,
): Readonly<Record<string, JobKind>> {
  return {
    [kind]: {
      async handler({ payload }, { signal }) {
        const owner = payload as Reference // as it was enqueued above
        await inBatches(() => db.transaction().execute((inside) => deleteBatch(inside, owner)), signal)
      },
      backoff: doubling(FIRST_RETRY_MS, LAST_RETRY_MS),
      maxAttempts: 20,
      concurrency: 1,
    },
  }
}

/*
 * While the installation's secret is being changed: seals again what the previous secret sealed, so that it stays readable
 * without it. Repeated, since a process that has only the old secret may still store rows.
 */

const EVERY_MS = 300_000

/** Identifies a row of a tenant's table. */
interface RowKey {
  readonly account_id: string
  readonly id: string
}

interface Resealing<Row extends RowKey> {
  /** Reads the next rows, see `pageAfter`; empty: there are no more. */
  readonly page: (last: Row | undefined) => Promise<readonly Row[]>
  /** @returns false if the row was not changed: the current secret sealed it, or no secret opens it. */
  readonly reseal: (row: Row) => Promise<boolean>
}

/** @returns The number of changed rows. */
export async function resealRows<Row extends RowKey>(
  { page, reseal }: Resealing<Row>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0
  for (let rows = await page(undefined); rows.length > 0; rows = await page(rows.at(-1))) {
    signal?.throwIfAborted()
    for (const row of rows) if (await reseal(row)) total++
  }
  return total
}

/** Restricts a query of a tenant's table to the next `limit` rows by key; for `$call`. */
export function pageAfter(last: RowKey | undefined, limit: number) {
  return <DB, TB extends keyof DB, Row>(query: SelectQueryBuilder<DB, TB, Row>) => {
    const sorted = query.orderBy(sql.ref('account_id')).orderBy(sql.ref('id')).limit(limit)
    return last === undefined ? sorted : sorted.where(sql<SqlBool>`(account_id, id) > (${last.account_id}, ${last.id})`)
  }
}

export function resealJob(kind: string, work: (signal: AbortSignal) => Promise<number>): Record<string, JobKind> {
  return { [kind]: every(EVERY_MS, async (_job, { signal }) => void (await work(signal))) }
}
