/**
 * While the installation's secret is being changed: seals again what the previous secret sealed, so that it stays readable
 * without it. Repeated, since a process that has only the old secret may still store rows.
 */
import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { every, type JobKind } from './job.ts'

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
