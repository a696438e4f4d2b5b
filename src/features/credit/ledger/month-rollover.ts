/** What a new month brings: spending begins at zero, what is left of an allowance expires, the next one is granted. */
import { DEFAULT_ALERT_THRESHOLDS } from '../../../domain/credit.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { monthNumber } from '../../../lib/time.ts'
import { atLeastZero, moveCredit } from './movements.ts'
import type { AccountState, KeyState, LedgerRow } from './state.ts'
import type { PlanTerms } from './unit.ts'

export interface RolledOver {
  /** The very same object when nothing was due. */
  readonly account: AccountState
  readonly rows: readonly LedgerRow[]
}

const NO_ROWS: readonly LedgerRow[] = []

/**
 * Brings an account to the current month, under the terms of its plan now. The month of an account only grows: a clock
 * that goes back neither grants twice nor starts over.
 */
export function rollOverMonth(known: AccountState | undefined, terms: PlanTerms, now: number): RolledOver {
  const month = monthNumber(now)
  const state = known ?? untouched(month)
  const account = state.month < month ? { ...state, month, spent: 0n } : state
  if (account.grantedMonth >= account.month) return { account, rows: NO_ROWS }
  const expired = expireAllowance(account, terms, now)
  if (terms.monthlyCreditNanoUsd === 0n) return expired
  return grantAllowance(expired, terms.monthlyCreditNanoUsd, now)
}

/** What a key has spent in `month`; what it holds goes on. */
export function keyInMonth(key: KeyState, month: number): KeyState {
  return key.month < month ? { month, spent: 0n, held: key.held } : key
}

function untouched(month: number): AccountState {
  return {
    balance: 0n,
    held: 0n,
    allowance: 0n,
    month,
    grantedMonth: 0,
    spent: 0n,
    entries: 0,
    enteredAt: 0,
    monthlyBudget: undefined,
    maxOverrun: undefined,
    thresholds: DEFAULT_ALERT_THRESHOLDS,
  }
}

/** What open holds were promised stays until they end; on a plan that is billed afterwards they need no credit. */
function expireAllowance(account: AccountState, terms: PlanTerms, now: number): RolledOver {
  const { allowance, balance, held } = account
  const free = terms.billing === 'postpaid' ? allowance : balance + terms.monthlyCreditNanoUsd - held
  const amount = free < allowance ? atLeastZero(free) : allowance
  if (amount === 0n) return { account, rows: NO_ROWS }
  const moved = moveCredit(account, { kind: 'expiry', amount, note: 'unused monthly allowance' }, now)
  return { account: { ...moved.account, allowance: allowance - amount }, rows: [moved.row] }
}

/** A new allowance first makes up for a balance below zero: more than the balance can never expire. */
function grantAllowance({ account, rows }: RolledOver, amount: NanoUsd, now: number): RolledOver {
  const moved = moveCredit(account, { kind: 'grant', amount, note: 'monthly allowance' }, now)
  const whole = account.allowance + amount
  const most = atLeastZero(moved.account.balance)
  const allowance = whole < most ? whole : most
  return { account: { ...moved.account, allowance, grantedMonth: account.month }, rows: [...rows, moved.row] }
}
