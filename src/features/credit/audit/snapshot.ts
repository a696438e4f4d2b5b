/** An account's figures at one moment: the cut-off that its audit is held against, whatever is written meanwhile. */
import { type Kysely, sql } from 'kysely'
import { readRows } from '../../../db/read-rows.ts'
import type { Database } from '../../../db/schema.ts'
import type { AccountId } from '../../../domain/ids.ts'
import type { Report } from './finding.ts'

export interface KeySnapshot {
  readonly id: string
  readonly month: number
  readonly spent: bigint
}

export interface Snapshot {
  /** Rows of the ledger: it is audited up to this number. */
  readonly entries: number
  readonly balance: bigint
  readonly allowance: bigint
  readonly month: number
  readonly grantedMonth: number
  readonly spent: bigint
  readonly retired: bigint
  readonly keys: readonly KeySnapshot[]
}

interface PartRow {
  readonly part: 'credit' | 'key' | 'hold' | 'ledger'
  readonly name: string
  readonly entries: number
  readonly month: number
  readonly granted_month: number
  readonly first_nano_usd: bigint
  readonly second_nano_usd: bigint
  readonly third_nano_usd: bigint
  readonly fourth_nano_usd: bigint
  readonly fifth_nano_usd: bigint
}

/** One statement, so that what is committed meanwhile is in all parts or in none. */
function parts(id: AccountId) {
  return sql<PartRow>`
    select 'credit' as part, '' as name, entries, month, granted_month, balance_nano_usd as first_nano_usd,
      held_nano_usd as second_nano_usd, allowance_nano_usd as third_nano_usd, spent_nano_usd as fourth_nano_usd,
      retired_nano_usd as fifth_nano_usd
    from credit where account_id = ${id}
    union all select 'key', key_id, 0, month, 0, spent_nano_usd, held_nano_usd, 0, 0, 0
    from key_spending where account_id = ${id}
    union all select 'hold', key_id, 0, 0, 0, sum(amount_nano_usd),
      sum(case when of_key_budget = 1 then amount_nano_usd else 0 end), 0, 0, 0
    from hold where account_id = ${id} group by key_id
    union all select 'ledger', '', coalesce(max(number), 0), 0, 0, 0, 0, 0, 0, 0
    from ledger where account_id = ${id}`
}

/** Takes the snapshot, and compares in it what is compared at one moment: holds, and the number of rows. */
export async function takeSnapshot(db: Kysely<Database>, id: AccountId, report: Report): Promise<Snapshot> {
  const rows = await readRows(db, parts(id))
  const credit = rows.find(({ part }) => part === 'credit')
  const keys = rows.filter(({ part }) => part === 'key')
  const holds = rows.filter(({ part }) => part === 'hold')
  const last = rows.find(({ part }) => part === 'ledger')?.entries ?? 0
  const held = holds.reduce((sum, hold) => sum + hold.first_nano_usd, 0n)
  if (held !== (credit?.second_nano_usd ?? 0n)) report('held', 'credit', held, credit?.second_nano_usd)
  if ((credit?.entries ?? 0) !== last) report('ledger_gap', 'last row', credit?.entries ?? 0, last)
  for (const { name, second_nano_usd: keyHeld } of keys) {
    const expected = holds.find((hold) => hold.name === name)?.second_nano_usd ?? 0n
    if (expected !== keyHeld) report('key_held', name, expected, keyHeld)
  }
  return {
    entries: Math.max(credit?.entries ?? 0, last),
    balance: credit?.first_nano_usd ?? 0n,
    allowance: credit?.third_nano_usd ?? 0n,
    month: credit?.month ?? 0,
    grantedMonth: credit?.granted_month ?? 0,
    spent: credit?.fourth_nano_usd ?? 0n,
    retired: credit?.fifth_nano_usd ?? 0n,
    keys: keys.map(({ name, month, first_nano_usd }) => ({ id: name, month, spent: first_nano_usd })),
  }
}
