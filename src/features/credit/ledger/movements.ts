/** Moves an account's credit: ledger rows, the start of a month, and the alerts that follow. */
import type { LedgerBook, LedgerKind } from '../../../db/schema/schema.ts'
import type { RefusalScope } from '../../../domain/credit.ts'
import type { CompletionId, KeyId } from '../../../domain/ids.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { monthNumber } from '../../../lib/time.ts'
import {
  type AccountState,
  type AlertRow,
  type BudgetWindowRef,
  CREATED,
  type KeyState,
  type LedgerRow,
} from './state.ts'
import type { PlanTerms } from './unit.ts'

interface Movement {
  readonly kind: LedgerKind
  /** Above zero: a constraint rejects rows that move nothing. */
  readonly amount: NanoUsd
  readonly completionId?: CompletionId | undefined
  readonly keyId?: KeyId | undefined
  readonly priceVersion?: string | undefined
  readonly adjusts?: number | undefined
  readonly note?: string | undefined
  /** Whether a refund also lowers the amount spent this month. */
  readonly unspent?: boolean
  /** Windows of budgets in which the amount counts. */
  readonly budgets?: readonly BudgetWindowRef[] | undefined
}

/** The note of entries that correct an estimated charge to the exact cost. */
export const LATE_SETTLEMENT = 'late settlement'

interface Moved {
  readonly account: AccountState
  readonly row: LedgerRow
}

/** The book that each kind debits and the one that it credits. */
const BOOKS: Readonly<Record<LedgerKind, readonly [debit: LedgerBook, credit: LedgerBook]>> = {
  grant: ['grants', 'credit'],
  purchase: ['payments', 'credit'],
  charge: ['credit', 'revenue'],
  refund: ['refunds', 'credit'],
  debit: ['credit', 'debits'],
  expiry: ['credit', 'grants'],
}

/**
 * A charge also counts as spent this month, and uses the allowance first. A debit takes credit that was
 * bought or granted first: it lowers the allowance only if the balance no longer covers that.
 */
export function moveCredit(account: AccountState, movement: Movement, now: number): Moved {
  const { kind, amount } = movement
  const [debit, credit] = BOOKS[kind]
  const balance = credit === 'credit' ? account.balance + amount : account.balance - amount
  const createdAt = Math.max(now, account.enteredAt)
  const row: LedgerRow = {
    number: account.entries + 1,
    kind,
    debit,
    credit,
    amount,
    balance,
    completionId: movement.completionId,
    keyId: movement.keyId,
    priceVersion: movement.priceVersion,
    adjusts: movement.adjusts,
    note: movement.note,
    createdAt,
    ...(movement.budgets === undefined ? {} : { budgets: movement.budgets }),
  }
  const moved: AccountState = {
    ...account,
    balance,
    allowance: allowanceAfter(account, movement, balance),
    spent: spentAfter(account, movement),
    entries: row.number,
    enteredAt: createdAt,
  }
  return { account: moved, row }
}

function allowanceAfter({ allowance }: AccountState, { kind, amount }: Movement, balance: NanoUsd): NanoUsd {
  if (kind === 'charge') return atLeastZero(allowance - amount)
  return kind === 'debit' && balance < allowance ? atLeastZero(balance) : allowance
}

function spentAfter({ spent }: AccountState, { kind, amount, unspent = false }: Movement): NanoUsd {
  if (kind === 'charge') return spent + amount
  return unspent ? atLeastZero(spent - amount) : spent
}

export function atLeastZero(amount: NanoUsd): NanoUsd {
  return amount > 0n ? amount : 0n
}

/* A new month: spending begins at zero, what is left of an allowance expires, the next one is granted. */

export interface RolledOver {
  /** The same object if nothing was due. */
  readonly account: AccountState
  readonly rows: readonly LedgerRow[]
}

const NO_ROWS: readonly LedgerRow[] = []

/**
 * Moves an account to the current month, under its plan's current terms. The month never decreases: a clock
 * that goes back neither grants an allowance twice nor resets the month.
 */
export function rollOverMonth(known: AccountState | undefined, terms: PlanTerms, now: number): RolledOver {
  const month = monthNumber(now)
  const state = known ?? { ...CREATED, month }
  const account = state.month < month ? { ...state, month, spent: 0n } : state
  if (account.grantedMonth >= account.month) return { account, rows: NO_ROWS }
  const expired = expireAllowance(account, terms, now)
  if (terms.monthlyCreditNanoUsd === 0n) return expired
  return grantAllowance(expired, terms.monthlyCreditNanoUsd, now)
}

/** Returns the spending of a key in `month`; its holds stay. */
export function keyInMonth(key: KeyState, month: number): KeyState {
  return key.month < month ? { month, spent: 0n, held: key.held } : key
}

/** Returns the promised amount of open holds, which stays until they end; a postpaid plan needs no credit for them. */
function expireAllowance(account: AccountState, terms: PlanTerms, now: number): RolledOver {
  const { allowance, balance, held } = account
  const free = terms.billing === 'postpaid' ? allowance : balance + terms.monthlyCreditNanoUsd - held
  const amount = free < allowance ? atLeastZero(free) : allowance
  if (amount === 0n) return { account, rows: NO_ROWS }
  const moved = moveCredit(account, { kind: 'expiry', amount, note: 'unused monthly allowance' }, now)
  return { account: { ...moved.account, allowance: allowance - amount }, rows: [moved.row] }
}

/** Limits the allowance to the balance: a new one first covers a negative balance, and only the rest can expire. */
function grantAllowance({ account, rows }: RolledOver, amount: NanoUsd, now: number): RolledOver {
  const moved = moveCredit(account, { kind: 'grant', amount, note: 'monthly allowance' }, now)
  const whole = account.allowance + amount
  const most = atLeastZero(moved.account.balance)
  const allowance = whole < most ? whole : most
  return { account: { ...moved.account, allowance, grantedMonth: account.month }, rows: [...rows, moved.row] }
}

/* Alerts: how much of a month's budget or credit is spent, and that credit is used up. */

const NO_ALERTS: readonly AlertRow[] = []
const USED_UP = 100

/**
 * Returns the thresholds that a charge has reached: of the account's budget or, without one, of this month's credit.
 * Exhausted prepaid credit is always reported, whatever the thresholds and with or without a budget.
 */
export function alertsOfCharge(
  before: AccountState,
  { account, terms }: { readonly account: AccountState; readonly terms: PlanTerms },
  now: number,
): readonly AlertRow[] {
  if (before.spent === account.spent) return NO_ALERTS
  const alerts = thresholdsReached(before.spent, { account, terms }, now)
  const usedUp = terms.billing === 'prepaid' && account.balance <= 0n && before.balance > 0n
  return usedUp ? [...alerts, creditExhausted(account, now)] : alerts
}

/** Returns the thresholds that spending has already reached when they or the budget are set: no later charge does. */
export function alertsOfSettings(account: AccountState, terms: PlanTerms, now: number): readonly AlertRow[] {
  return thresholdsReached(0n as NanoUsd, { account, terms }, now)
}

function thresholdsReached(
  spentBefore: NanoUsd,
  { account, terms }: { readonly account: AccountState; readonly terms: PlanTerms },
  now: number,
): readonly AlertRow[] {
  const { month, spent, thresholds, monthlyBudget } = account
  if (monthlyBudget === undefined && terms.billing === 'postpaid') return NO_ALERTS
  const basis = monthlyBudget === undefined ? 'credit' : 'budget'
  const limit = monthlyBudget ?? creditOfMonth(account)
  let alerts: AlertRow[] | undefined
  for (const threshold of thresholds) {
    const reachedAt = BigInt(threshold) * limit
    if (spentBefore * 100n >= reachedAt || spent * 100n < reachedAt) continue
    alerts ??= []
    alerts.push({ month, event: 'usage.alert', basis, threshold, spent, limit, createdAt: now })
  }
  return alerts ?? NO_ALERTS
}

/**
 * Holds stop short of the last nano-dollar, so a rejected hold usually reveals that credit is exhausted.
 * @param least The cost of the shortest useful answer. While unspent credit covers that, credit is not exhausted:
 * the request was too large, or other requests hold the credit that it needs and may release it.
 */
export function alertsOfRefusal(
  { scope, least }: { readonly scope: RefusalScope; readonly least: NanoUsd },
  account: AccountState,
  now: number,
): readonly AlertRow[] {
  if (scope === 'key_budget') return NO_ALERTS
  const isOfCredit = scope === 'credit'
  const limit = isOfCredit ? creditOfMonth(account) : (account.monthlyBudget ?? 0n)
  const { month, spent, thresholds } = account
  if (limit <= 0n || least <= limit - spent) return NO_ALERTS
  const basis = isOfCredit ? 'credit' : 'budget'
  const alerts: AlertRow[] = isOfCredit ? [creditExhausted(account, now)] : []
  if (thresholds.includes(USED_UP)) {
    alerts.unshift({ month, event: 'usage.alert', basis, threshold: USED_UP, spent, limit, createdAt: now })
  }
  return alerts
}

/** The limit less the amount spent equals the balance, which may be too small or negative. */
function creditExhausted(account: AccountState, now: number): AlertRow {
  const { month, spent } = account
  const limit = creditOfMonth(account)
  return { month, event: 'credit.exhausted', basis: 'credit', threshold: USED_UP, spent, limit, createdAt: now }
}

/** Returns this month's credit in total: what is left and what is spent. */
function creditOfMonth({ balance, spent }: AccountState): NanoUsd {
  return balance + spent
}
