/** What the operator sees of accounts beside their own row: money as it is in the books now, and who belongs to them. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { monthNumber } from '../../lib/months.ts'

export interface AccountFigures {
  readonly balanceNanoUsd: NanoUsd
  /** Reserved by requests in flight. */
  readonly heldNanoUsd: NanoUsd
  /** In this calendar month, UTC. */
  readonly spentNanoUsd: NanoUsd
  /** What of the balance is left of the monthly allowance. */
  readonly allowanceNanoUsd: NanoUsd
  /** How many people. */
  readonly members: number
  /** Undefined: as its plan says. */
  readonly maxOverrunNanoUsd: NanoUsd | undefined
}

const NOTHING: AccountFigures = {
  balanceNanoUsd: 0n,
  heldNanoUsd: 0n,
  spentNanoUsd: 0n,
  allowanceNanoUsd: 0n,
  members: 0,
  maxOverrunNanoUsd: undefined,
}

/** Resolves with what tells the figures of each of `ids`. Reads alone: an allowance that is due is not granted by it. */
export async function readFigures(
  db: Kysely<Database>,
  ids: readonly AccountId[],
  now: number,
): Promise<(id: AccountId) => AccountFigures> {
  if (ids.length === 0) return () => NOTHING
  const month = monthNumber(now)
  const [credits, members] = await Promise.all([
    db.selectFrom('credit').selectAll().where('account_id', 'in', ids).execute(),
    countMembers(db, ids),
  ])
  const credit = new Map(credits.map((row) => [row.account_id, row]))
  return (id) => {
    const row = credit.get(id)
    if (row === undefined) return { ...NOTHING, members: members.get(id) ?? 0 }
    return {
      balanceNanoUsd: row.balance_nano_usd,
      heldNanoUsd: row.held_nano_usd,
      spentNanoUsd: row.month < month ? 0n : row.spent_nano_usd,
      allowanceNanoUsd: row.allowance_nano_usd,
      members: members.get(id) ?? 0,
      maxOverrunNanoUsd: row.max_overrun_nano_usd ?? undefined,
    }
  }
}

async function countMembers(db: Kysely<Database>, ids: readonly AccountId[]): Promise<ReadonlyMap<AccountId, number>> {
  const rows = await db
    .selectFrom('member')
    .select(({ fn }) => ['account_id', fn.countAll<number>().as('people')])
    .where('account_id', 'in', ids)
    .where('removed_at', 'is', null)
    .groupBy('account_id')
    .execute()
  return new Map(rows.map(({ account_id, people }) => [account_id, people]))
}
