/**
 * Replays an account's ledger row by row: numbers, books, running balance, what is left of the allowance, and what the
 * account and its keys have spent. Written from docs/credit.md; it shares nothing with the rules that write the rows.
 */
import { monthNumber, monthStart } from '../../../lib/months.ts'
import type { Report } from './finding.ts'
import type { AuditedRow } from './ledger-page.ts'
import type { Snapshot } from './snapshot.ts'

export const ALLOWANCE_NOTE = 'monthly allowance'
export const LATE_NOTE = 'late settlement'

/** Where each kind takes from and gives to. */
const SIDES: Readonly<Record<string, string>> = {
  grant: 'grants>credit',
  purchase: 'payments>credit',
  charge: 'credit>revenue',
  refund: 'refunds>credit',
  debit: 'credit>debits',
  expiry: 'credit>grants',
}

/** What a key has spent in a month. `loose`: of it, what a budget that began within the month may not have counted. */
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
  /** False: the audit began in the middle, and cannot say. */
  readonly isWhole: boolean
  allowance: bigint
  grantedMonth: number
  month: number
  spent: bigint
  keys: Record<string, KeySum>
}

export function newChain({ keys }: Snapshot, before: Pick<ChainState, 'number' | 'balance'>): ChainState {
  return {
    ...before,
    isWhole: before.number === 0,
    createdAt: 0,
    allowance: 0n,
    grantedMonth: -1,
    month: 0,
    spent: 0n,
    keys: Object.fromEntries(keys.map(({ id }) => [id, { month: 0, spent: 0n, loose: 0n }])),
  }
}

export interface ReplayFacts {
  /** When the row was made that this one corrects. */
  readonly correctedAt: number | undefined
  /** Amounts that plans grant, or have granted; undefined: unknown. */
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
  if (kind === 'charge' && row.key_id !== null) addToKey(chain.keys[row.key_id], row, amount)
  if (isUnspent(row, facts) && row.key_id !== null) looseOfKey(chain.keys[row.key_id], row, amount)
}

/** As the customer's balance sees it, by the books: the kind may be wrong. */
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

/** A late settlement that lowers a charge of the same month takes it back from what is spent. */
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

/** A budget that is new starts from what completions since the first of the month have cost: those of before are not in it. */
function addToKey(key: KeySum | undefined, row: AuditedRow, amount: bigint): void {
  if (key === undefined) return
  turn(key, row)
  key.spent += amount
  const began = row.row_model === null ? 0 : row.row_created_at
  if (row.adjusts !== null || began < monthStart(key.month)) key.loose += amount
}

function looseOfKey(key: KeySum | undefined, row: AuditedRow, amount: bigint): void {
  if (key === undefined) return
  turn(key, row)
  key.loose += amount
}

function turn(key: KeySum, { created_at: at }: AuditedRow): void {
  const month = monthNumber(at)
  if (month <= key.month) return
  key.month = month
  key.spent = 0n
  key.loose = 0n
}

/** When the last row of the snapshot has been replayed. */
export function compareEnd(chain: ChainState, snapshot: Snapshot, report: Report): void {
  if (chain.number < snapshot.entries) report('ledger_gap', 'last row', snapshot.entries, chain.number)
  if (chain.balance !== snapshot.balance) report('balance', 'credit', chain.balance, snapshot.balance)
  if (!chain.isWhole) return
  if (chain.allowance !== snapshot.allowance) report('allowance', 'credit', chain.allowance, snapshot.allowance)
  if (snapshot.grantedMonth < chain.grantedMonth)
    report('allowance', 'granted month', chain.grantedMonth, snapshot.grantedMonth)
  const spent = chain.month === snapshot.month ? chain.spent : 0n
  if (spent !== snapshot.spent) report('spent', 'credit', spent, snapshot.spent)
  for (const key of snapshot.keys) {
    const sum = chain.keys[key.id]
    const most = sum !== undefined && sum.month === key.month ? sum.spent : 0n
    const least = sum !== undefined && sum.month === key.month ? sum.spent - sum.loose : 0n
    const isLate = sum !== undefined && sum.month > key.month && sum.spent > 0n
    if (isLate || key.spent > most || key.spent < least)
      report('key_spent', key.id, isLate ? sum.spent : most, key.spent)
  }
}
