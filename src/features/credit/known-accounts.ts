/**
 * What a batch knows of accounts and keys: read once, changed in memory unit by unit, written once at the end. What is
 * written is conditional on what was read, so that a decision on stale figures can change nothing.
 */
import type { CreditTable } from '../../db/schema.ts'
import { DEFAULT_ALERT_THRESHOLDS } from '../../domain/account-credit.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { AccountState, KeyState } from './rules.ts'

/** Somebody else moved the account or key between reading and writing. Nothing may be committed. */
export class RaceLost extends Error {
  override readonly name = 'RaceLost'
}

export interface KnownKey {
  readonly id: KeyId
  readonly read: KeyState | undefined
  state: KeyState | undefined
}

export interface KnownAccount {
  readonly id: AccountId
  readonly read: AccountState | undefined
  state: AccountState | undefined
  /** What must have been available when the account was read, for all holds that were granted since to be covered. */
  neededNanoUsd: NanoUsd
  readonly keys: Map<KeyId, KnownKey>
}

const NOTHING_NEEDED = -(2n ** 62n)

export function newlyKnown(id: AccountId, read: AccountState | undefined): KnownAccount {
  return { id, read, state: read, neededNanoUsd: NOTHING_NEEDED, keys: new Map() }
}

/** A hold of prepaid credit was granted, and is in the account's state: it must be covered in the database as well. */
export function needCredit(account: KnownAccount): void {
  const { read, state } = account
  if (state === undefined) return
  const availableThen = read === undefined ? 0n : read.balance - read.held
  const needed = availableThen - (state.balance - state.held)
  if (needed > account.neededNanoUsd) account.neededNanoUsd = needed
}

/** The columns of `credit` that the rules know. */
export const ACCOUNT_COLUMNS = `balance_nano_usd, held_nano_usd, allowance_nano_usd, month, granted_month,
  spent_nano_usd, entries, entered_at, monthly_budget_nano_usd, max_overrun_nano_usd, alert_thresholds`

export type AccountRow = Omit<CreditTable, 'account_id' | 'retired_nano_usd'>

export function accountState(row: AccountRow): AccountState {
  return {
    balance: row.balance_nano_usd,
    held: row.held_nano_usd,
    allowance: row.allowance_nano_usd,
    month: row.month,
    grantedMonth: row.granted_month,
    spent: row.spent_nano_usd,
    entries: row.entries,
    enteredAt: row.entered_at,
    monthlyBudget: row.monthly_budget_nano_usd ?? undefined,
    maxOverrun: row.max_overrun_nano_usd ?? undefined,
    thresholds: parseThresholds(row.alert_thresholds),
  }
}

export const DEFAULT_THRESHOLDS_TEXT = JSON.stringify(DEFAULT_ALERT_THRESHOLDS)

function parseThresholds(text: string): readonly number[] {
  if (text === DEFAULT_THRESHOLDS_TEXT) return DEFAULT_ALERT_THRESHOLDS
  return JSON.parse(text) as number[] // written from `thresholdsText` alone
}

export function thresholdsText(thresholds: readonly number[]): string {
  return thresholds === DEFAULT_ALERT_THRESHOLDS ? DEFAULT_THRESHOLDS_TEXT : JSON.stringify(thresholds)
}

/** What a row of `credit` is made with, to be moved at once. */
export const CREATED: AccountState = {
  balance: 0n,
  held: 0n,
  allowance: 0n,
  month: 0,
  grantedMonth: 0,
  spent: 0n,
  entries: 0,
  enteredAt: 0,
  monthlyBudget: undefined,
  maxOverrun: undefined,
  thresholds: DEFAULT_ALERT_THRESHOLDS,
}
