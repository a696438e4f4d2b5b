/** Completions and charges that do not go together: hours that are counted differently are looked at one by one. */
import { type Kysely, sql } from 'kysely'
import { readRows } from '../../../db/read-rows.ts'
import type { Database } from '../../../db/schema.ts'
import { type AccountId, completionIdFloor } from '../../../domain/ids.ts'
import type { Report } from './finding.ts'
import { HOUR_MS } from './usage-sums.ts'

/** Completions that are looked for at once. */
const MOST_IDS = 200_000
const NUMBERS_A_PAGE = 5_000
const ID_TOLERANCE_MS = 60_000

/**
 * Completions are read before the ledger: whatever is read has its charge there by then, also when it has just ended.
 * @param hours In which as many completions cost something as were charged, or not.
 */
export async function findUnmatched(
  db: Kysely<Database>,
  id: AccountId,
  hours: readonly number[],
  report: Report,
): Promise<void> {
  const counts = new Map<string, number>()
  const found: number[] = []
  for (const hour of hours.toSorted((one, other) => one - other)) {
    if (counts.size > MOST_IDS) report('charge_missing', hourName(hour), 'as many charges as completions', 'others')
    else for (const row of await chargedIn(db, id, hour)) counts.set(row.id, 0)
    found.push(hour)
  }
  const [first] = found
  if (first === undefined || counts.size === 0) return
  await countCharges(db, { id, since: first * HOUR_MS }, counts)
  for (const [completionId, count] of counts) {
    if (count === 0) report('charge_missing', completionId, 'a charge', 'none')
    if (count > 1) report('charge_repeated', completionId, 1, count)
  }
}

function hourName(hour: number): string {
  return new Date(hour * HOUR_MS).toISOString().slice(0, 13)
}

function chargedIn(db: Kysely<Database>, id: AccountId, hour: number) {
  return readRows(
    db,
    sql<{ readonly id: string }>`
      select id from completion
      where account_id = ${id} and id > ${completionIdFloor(hour * HOUR_MS - ID_TOLERANCE_MS)}
        and id < ${completionIdFloor((hour + 1) * HOUR_MS + ID_TOLERANCE_MS)}
        and created_at >= ${hour * HOUR_MS} and created_at < ${(hour + 1) * HOUR_MS} and cost_nano_usd > 0`,
  )
}

/** From the first row of the time on: a charge is made when its completion has ended. */
async function countCharges(
  db: Kysely<Database>,
  { id, since }: { readonly id: AccountId; readonly since: number },
  counts: Map<string, number>,
): Promise<void> {
  const last = await lastNumber(db, id)
  let after = (await firstSince(db, id, { since: since - ID_TOLERANCE_MS, last })) - 1
  for (; after < last; after += NUMBERS_A_PAGE) {
    const rows = await readRows(
      db,
      sql<{ readonly completion_id: string }>`
        select completion_id from ledger where account_id = ${id} and number > ${after}
          and number <= ${after + NUMBERS_A_PAGE} and kind = 'charge' and adjusts is null`,
    )
    for (const { completion_id: completionId } of rows) {
      const count = counts.get(completionId)
      if (count !== undefined) counts.set(completionId, count + 1)
    }
  }
}

export async function lastNumber(db: Kysely<Database>, id: AccountId): Promise<number> {
  const row = await db
    .selectFrom('ledger')
    .select(({ fn }) => fn.max('number').as('last'))
    .where('account_id', '=', id)
    .executeTakeFirst()
  return row?.last ?? 0
}

/** The first row made at or after a time, by halving: rows never go back in time, and one that does is found elsewhere. */
export async function firstSince(
  db: Kysely<Database>,
  id: AccountId,
  { since, last }: { readonly since: number; readonly last: number },
): Promise<number> {
  let [low, high] = [1, last + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = await db
      .selectFrom('ledger')
      .select('created_at')
      .where('account_id', '=', id)
      .where('number', '>=', middle)
      .orderBy('number')
      .limit(1)
      .executeTakeFirst()
    if (row !== undefined && row.created_at < since) low = middle + 1
    else high = middle
  }
  return low
}
