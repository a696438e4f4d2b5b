/**
 * Replays an account's ledger row by row: numbers, books, running balance, remaining allowance, and the spending of the
 * account and its keys. Written from docs/credit.md; it shares nothing with the rules that write the rows.
 */

import { type Kysely, sql } from 'kysely'
import { readRows } from '../../../db/database.ts'
import type { Database } from '../../../db/schema/schema.ts'
import type { AccountId } from '../../../domain/ids.ts'
import { monthNumber, monthStart } from '../../../lib/time.ts'
import { retiredCost } from '../reconcile.ts'
import type { Report } from './finding.ts'
import type { AuditedRow } from './ledger-page.ts'

const ALLOWANCE_NOTE = 'monthly allowance'
export const LATE_NOTE = 'late settlement'

/** The book that each kind debits and the one that it credits. */
const SIDES: Readonly<Record<string, string>> = {
  grant: 'grants>credit',
  purchase: 'payments>credit',
  charge: 'credit>revenue',
  refund: 'refunds>credit',
  debit: 'credit>debits',
  expiry: 'credit>grants',
}

/** A key's spending in a month. `loose`: the part that a budget created within the month may not have counted. */
interface KeySum {
  month: number
  spent: bigint
  loose: bigint
}

export interface ChainState {
  /** Of the last row. */
  number: number
  balance: bigint
  createdAt: number
  /** False if the audit began in the middle and cannot verify it. */
  readonly isWhole: boolean
  allowance: bigint
  grantedMonth: number
  month: number
  spent: bigint
  keys: Record<string, KeySum>
  /** From the snapshot: the spending of a key also counts for its ancestors. Absent in audits of earlier releases. */
  readonly ancestors?: Snapshot['ancestors'] | undefined
  /** Amounts that count in windows of budgets, by `id@start`. Absent in audits of earlier releases. */
  readonly windows?: Record<string, bigint> | undefined
}

export function newChain({ keys, ancestors }: Snapshot, before: Pick<ChainState, 'number' | 'balance'>): ChainState {
  return {
    ...before,
    isWhole: before.number === 0,
    createdAt: 0,
    allowance: 0n,
    grantedMonth: -1,
    month: 0,
    spent: 0n,
    ancestors,
    windows: {},
    keys: Object.fromEntries(keys.map(({ id }) => [id, { month: 0, spent: 0n, loose: 0n }])),
  }
}

export interface ReplayFacts {
  /** When the corrected row was made. */
  readonly correctedAt: number | undefined
  /** Allowances that plans grant, or have granted; undefined if unknown. */
  readonly allowances: ReadonlySet<bigint> | undefined
}

export function replayRow(chain: ChainState, row: AuditedRow, facts: ReplayFacts, report: Report): void {
  const { number, kind, debit, credit, amount_nano_usd: amount, balance_nano_usd: balance } = row
  const subject = `row ${number}`
  if (number !== chain.number + 1) report('ledger_gap', subject, chain.number + 1, number)
  if (`${debit}>${credit}` !== SIDES[kind]) report('ledger_sides', subject, SIDES[kind], `${debit}>${credit}`)
  if (row.created_at < chain.createdAt) report('ledger_time', subject, chain.createdAt, row.created_at)
  const expected = chain.balance + signed(row)
  if (number === chain.number + 1 && expected !== balance) report('ledger_balance', subject, expected, balance)
  chain.number = number
  chain.balance = balance
  chain.createdAt = Math.max(chain.createdAt, row.created_at)
  replayAllowance(chain, row, facts, report)
  replaySpending(chain, row, facts)
  if (row.budgets !== null) replayBudgets(chain, row, row.budgets)
  if (row.key_id === null) return
  for (const id of [row.key_id, ...(chain.ancestors?.[row.key_id] ?? [])]) {
    if (kind === 'charge') addToKey(chain.keys[id], row, amount)
    if (isUnspent(row, facts)) loosenKey(chain.keys[id], row, amount)
  }
}

function replayBudgets({ windows }: ChainState, row: AuditedRow, names: string): void {
  if (windows === undefined) return
  for (const name of names.split(' ')) windows[name] = (windows[name] ?? 0n) - signed(row)
}

/** Returns the signed effect on the customer's balance, by the books, since the kind may be wrong. */
function signed({ debit, credit, amount_nano_usd: amount }: AuditedRow): bigint {
  if (credit === 'credit') return amount
  return debit === 'credit' ? -amount : 0n
}

function replayAllowance(chain: ChainState, row: AuditedRow, { allowances }: ReplayFacts, report: Report): void {
  const { kind, amount_nano_usd: amount, balance_nano_usd: balance, created_at: at } = row
  const most = balance > 0n ? balance : 0n
  if (kind === 'charge') chain.allowance = chain.allowance > amount ? chain.allowance - amount : 0n
  if (kind === 'expiry') chain.allowance -= amount
  if (kind === 'debit' && balance < chain.allowance) chain.allowance = most
  if (kind !== 'grant' || row.note !== ALLOWANCE_NOTE) return
  chain.allowance = chain.allowance + amount < most ? chain.allowance + amount : most
  const month = monthNumber(at)
  if (month === chain.grantedMonth) report('allowance_grant', `row ${row.number}`, 'once a month', 'twice')
  else if (allowances?.has(amount) === false)
    report('allowance_grant', `row ${row.number}`, [...allowances].join(' or '), amount)
  chain.grantedMonth = month
}

/** Returns whether a late settlement lowers a charge of the same month, and so the amount spent. */
function isUnspent({ kind, adjusts, note, created_at: at }: AuditedRow, { correctedAt }: ReplayFacts): boolean {
  const isLate = kind === 'refund' && adjusts !== null && note === LATE_NOTE
  return isLate && correctedAt !== undefined && monthNumber(correctedAt) === monthNumber(at)
}

function replaySpending(chain: ChainState, row: AuditedRow, facts: ReplayFacts): void {
  const month = monthNumber(row.created_at)
  if (month > chain.month) {
    chain.month = month
    chain.spent = 0n
  }
  if (row.kind === 'charge') chain.spent += row.amount_nano_usd
  if (isUnspent(row, facts)) chain.spent = chain.spent > row.amount_nano_usd ? chain.spent - row.amount_nano_usd : 0n
}

/** A new budget starts with the cost of completions since the first of the month; earlier ones are not in it. */
function addToKey(key: KeySum | undefined, row: AuditedRow, amount: bigint): void {
  if (key === undefined) return
  rollOver(key, row)
  key.spent += amount
  const began = row.row_model === null ? 0 : row.row_created_at
  if (row.adjusts !== null || began < monthStart(key.month)) key.loose += amount
}

function loosenKey(key: KeySum | undefined, row: AuditedRow, amount: bigint): void {
  if (key === undefined) return
  rollOver(key, row)
  key.loose += amount
}

function rollOver(key: KeySum, { created_at: at }: AuditedRow): void {
  const month = monthNumber(at)
  if (month <= key.month) return
  key.month = month
  key.spent = 0n
  key.loose = 0n
}

/** Compares the result with the snapshot after its last row. */
export function compareEnd(chain: ChainState, snapshot: Snapshot, report: Report): void {
  if (chain.number < snapshot.entries) report('ledger_gap', 'last row', snapshot.entries, chain.number)
  if (chain.balance !== snapshot.balance) report('balance', 'credit', chain.balance, snapshot.balance)
  if (!chain.isWhole) return
  if (chain.allowance !== snapshot.allowance) report('allowance', 'credit', chain.allowance, snapshot.allowance)
  if (snapshot.grantedMonth < chain.grantedMonth)
    report('allowance', 'granted month', chain.grantedMonth, snapshot.grantedMonth)
  const spent = chain.month === snapshot.month ? chain.spent : 0n
  if (spent !== snapshot.spent) report('spent', 'credit', spent, snapshot.spent)
  for (const { name, spent: counted } of snapshot.windows ?? []) {
    const sum = chain.windows?.[name] ?? 0n
    if (sum !== counted) report('budget_spent', name, sum, counted)
  }
  for (const key of snapshot.keys) {
    const sum = chain.keys[key.id]
    const most = sum !== undefined && sum.month === key.month ? sum.spent : 0n
    const least = sum !== undefined && sum.month === key.month ? sum.spent - sum.loose : 0n
    const isLate = sum !== undefined && sum.month > key.month && sum.spent > 0n
    if (isLate || key.spent > most || key.spent < least)
      report('key_spent', key.id, isLate ? sum.spent : most, key.spent)
  }
}

interface KeySnapshot {
  readonly id: string
  readonly month: number
  readonly spent: bigint
}

export interface Snapshot {
  /** The last ledger row to audit. */
  readonly entries: number
  readonly balance: bigint
  readonly allowance: bigint
  readonly month: number
  readonly grantedMonth: number
  readonly spent: bigint
  readonly retired: bigint
  readonly keys: readonly KeySnapshot[]
  /** The ancestors of each key that another key created. */
  readonly ancestors: Readonly<Record<string, readonly string[]>>
  /** Windows of budgets, by `id@start`. Absent in audits of earlier releases. */
  readonly windows?: readonly { readonly name: string; readonly spent: bigint }[]
}

interface PartRow {
  readonly part: 'credit' | 'key' | 'hold' | 'above' | 'parent' | 'window' | 'held window' | 'ledger'
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

/** One statement, so that a concurrent commit is in all parts or in none. */
function parts(id: AccountId) {
  return sql<PartRow>`
    select 'credit' as part, '' as name, entries, month, granted_month, balance_nano_usd as first_nano_usd,
      held_nano_usd as second_nano_usd, allowance_nano_usd as third_nano_usd, spent_nano_usd as fourth_nano_usd,
      ${retiredCost(id)} as fifth_nano_usd
    from credit where account_id = ${id}
    union all select 'key', key_id, 0, month, 0, spent_nano_usd, held_nano_usd, 0, 0, 0
    from key_spending where account_id = ${id}
    union all select 'hold', key_id, 0, 0, 0, sum(amount_nano_usd),
      sum(case when of_key_budget = 1 then amount_nano_usd else 0 end), 0, 0, 0
    from hold where account_id = ${id} group by key_id
    union all select 'above', key_spending.key_id, 0, 0, 0, 0, sum(hold.amount_nano_usd), 0, 0, 0
    from key_spending join hold on hold.account_id = key_spending.account_id and hold.ancestors is not null
      and ' ' || hold.ancestors || ' ' like '% +' || key_spending.key_id || ' %'
    where key_spending.account_id = ${id} group by key_spending.key_id
    union all select 'parent', id || ' ' || parent_id, 0, 0, 0, 0, 0, 0, 0, 0
    from api_key where account_id = ${id} and parent_id is not null
    union all select 'window', budget_id || '@' || starts_at, 0, 0, 0, spent_nano_usd, held_nano_usd, 0, 0, 0
    from budget_window where account_id = ${id}
    union all select 'held window', budget_id || '@' || starts_at, 0, 0, 0, 0, sum(hold.amount_nano_usd), 0, 0, 0
    from hold join budget_window on budget_window.account_id = hold.account_id
      and ' ' || hold.budgets || ' ' like '% ' || budget_id || '@' || starts_at || ' %'
    where hold.account_id = ${id} and hold.budgets is not null group by budget_id, starts_at
    union all select 'ledger', '', coalesce(max(number), 0), 0, 0, 0, 0, 0, 0, 0
    from ledger where account_id = ${id}`
}

/** Takes the snapshot, and verifies holds and the number of rows within it. */
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
    const own = holds.find((hold) => hold.name === name)?.second_nano_usd ?? 0n
    const below = rows.find((row) => row.part === 'above' && row.name === name)?.second_nano_usd ?? 0n
    const expected = own + below
    if (expected !== keyHeld) report('key_held', name, expected, keyHeld)
  }
  const windows = rows.filter(({ part }) => part === 'window')
  for (const { name, second_nano_usd: windowHeld } of windows) {
    const expected = rows.find((row) => row.part === 'held window' && row.name === name)?.second_nano_usd ?? 0n
    if (expected !== windowHeld) report('budget_held', name, expected, windowHeld)
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
    windows: windows.map(({ name, first_nano_usd }) => ({ name, spent: first_nano_usd })),
    ancestors: ancestorsOf(rows.filter(({ part }) => part === 'parent').map(({ name }) => name)),
  }
}

/** @param pairs A key and its parent each. */
function ancestorsOf(pairs: readonly string[]): Snapshot['ancestors'] {
  const parents = new Map(pairs.map((pair): [string, string] => [pair.split(' ')[0] ?? '', pair.split(' ')[1] ?? '']))
  const above = (id: string): readonly string[] => {
    const parent = parents.get(id)
    return parent === undefined ? [] : [parent, ...above(parent)]
  }
  return Object.fromEntries([...parents.keys()].map((id) => [id, above(id)]))
}
