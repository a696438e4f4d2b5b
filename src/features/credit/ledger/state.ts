import type { LedgerBook } from '../../../db/schema/schema.ts'
import type { BudgetAction, BudgetLevel, BudgetWindow } from '../../../domain/budget.ts'
import type { CompletionRecord } from '../../../domain/completion.ts'
import { DEFAULT_ALERT_THRESHOLDS } from '../../../domain/credit.ts'
import type { KeyBudget } from '../../../domain/identity/caller.ts'
import type { BudgetId, KeyId } from '../../../domain/ids.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import type { LedgerEntry, Outcome } from './unit.ts'

/** A row of `credit`. */
export interface AccountState {
  readonly balance: NanoUsd
  readonly held: NanoUsd
  /** What of the balance is left of the allowance. */
  readonly allowance: NanoUsd
  readonly month: number
  readonly grantedMonth: number
  readonly spent: NanoUsd
  readonly entries: number
  readonly enteredAt: number
  readonly monthlyBudget: NanoUsd | undefined
  /** How far the balance may fall below zero; undefined: as the plan says. */
  readonly maxOverrun: NanoUsd | undefined
  /** Percentages, ascending. */
  readonly thresholds: readonly number[]
  /** Whether `budget` has rows of the account. The ledger never writes it. */
  readonly hasBudgets?: boolean
}

/** The first row of `credit` of an account; the same batch changes it. */
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

/** A row of `key_spending`. */
export interface KeyState {
  readonly month: number
  readonly spent: NanoUsd
  readonly held: NanoUsd
}

/** A window of a budget, by the time at which it starts. */
export interface BudgetWindowRef {
  readonly budgetId: BudgetId
  readonly start: number
}

/** A row of `budget_window`. */
export interface WindowState {
  readonly spent: NanoUsd
  readonly held: NanoUsd
}

/** A budget with the window that a hold must fit, or in which an amount is held or charged. */
export interface BudgetState extends BudgetWindowRef, WindowState {
  readonly level: BudgetLevel
  readonly window: BudgetWindow
  readonly action: BudgetAction
  /** Includes the raises in force; undefined if the budget was removed. */
  readonly limit: NanoUsd | undefined
  /** Undefined if the window never ends. */
  readonly end: number | undefined
}

/** An open hold. */
export interface HoldState {
  readonly keyId: KeyId
  readonly amount: NanoUsd
  readonly ofKeyBudget: boolean
  /** The ancestors of its key, the nearest first; undefined if there are none. */
  readonly ancestors?: readonly HeldAncestor[] | undefined
  /** Windows that hold the same amount; undefined if there are none. */
  readonly budgets?: readonly BudgetWindowRef[] | undefined
}

/** An ancestor of the key of the unit or its hold. */
export interface AncestorState {
  /** Undefined without a row, or if the unit does not need it. */
  readonly state: KeyState | undefined
  /** As `keySpentBefore`, of this key. */
  readonly spentBefore: NanoUsd
}

/** The rows that a unit needs, as they are before it is applied. */
export interface Snapshot {
  /** Undefined before the account's first unit. */
  readonly account: AccountState | undefined
  /** Of the key of the unit or its hold; undefined without a row. */
  readonly key: KeyState | undefined
  /** The ancestors of that key, as the unit or its hold lists them; undefined if there are none. */
  readonly ancestors?: readonly AncestorState[] | undefined
  /**
   * Of a hold unit, the budgets that it must fit. Of others, those in whose windows it is held or was charged; where there
   * is neither, the current ones. Undefined: none.
   */
  readonly budgets?: readonly BudgetState[] | undefined
  /** The unit's hold, if there is one. */
  readonly hold: HoldState | undefined
  /** The earlier charge of the unit's completion; read only for settlements without a hold. */
  readonly charged: PriorCharge | undefined
  /** This month's charges of a key with a new budget and its descendants; read only for a hold of such a key. */
  readonly keySpentBefore: NanoUsd
}

/** The earlier charge of a completion, from its row. */
export interface PriorCharge
  extends Pick<
    CompletionRecord,
    | 'keyId'
    | 'model'
    | 'createdAt'
    | 'promptTokens'
    | 'completionTokens'
    | 'costNanoUsd'
    | 'unbilledNanoUsd'
    | 'providerCostNanoUsd'
    | 'status'
    | 'usageSource'
  > {
  /**
   * The number of its charge in the ledger, or of the last correction of that, and when it was charged; undefined: it cost
   * nothing, or is exact.
   */
  readonly entry:
    | { readonly number: number; readonly createdAt: number; readonly budgets?: readonly BudgetWindowRef[] | undefined }
    | undefined
}

/** A row of `ledger` without its account. */
export interface LedgerRow extends Omit<LedgerEntry, 'accountId' | 'nanoUsd' | 'balanceNanoUsd'> {
  readonly debit: LedgerBook
  readonly credit: LedgerBook
  readonly amount: NanoUsd
  readonly balance: NanoUsd
  /** Windows in which the amount counts as spent, or as refunded; undefined if there are none. */
  readonly budgets?: readonly BudgetWindowRef[] | undefined
}

/** A row of `budget_alert` without its account. Written once, as those of `usage_alert`. */
export interface BudgetAlertRow extends BudgetWindowRef {
  readonly threshold: number
  readonly spent: NanoUsd
  readonly limit: NanoUsd
  readonly createdAt: number
}

/** A row of `usage_alert` without its account. Written once: a second one with the same key is ignored. */
export interface AlertRow {
  readonly month: number
  readonly event: 'usage.alert' | 'credit.exhausted'
  readonly basis: 'budget' | 'credit'
  readonly threshold: number
  readonly spent: NanoUsd
  readonly limit: NanoUsd
  readonly createdAt: number
}

/** The result of a unit. Each state is complete; undefined if unchanged. */
export interface Applied {
  readonly account: AccountState | undefined
  readonly key: KeyState | undefined
  /** In the order of the snapshot; undefined if none changed. */
  readonly ancestors?: readonly (KeyState | undefined)[] | undefined
  /** In the order of the snapshot; undefined if none changed. */
  readonly budgets?: readonly BudgetState[] | undefined
  readonly budgetAlerts?: readonly BudgetAlertRow[]
  /** `ended`: the row is deleted. An amount: the hold's new amount (`hold` and `extend`). */
  readonly hold: HoldState | 'ended' | undefined
  readonly rows: readonly LedgerRow[]
  readonly alerts: readonly AlertRow[]
  /** The completion to insert, or to replace the existing row with; undefined if there is nothing to write. */
  readonly completion: CompletionRecord | undefined
  /** The charge whose completion row is replaced; undefined if the row stays. */
  readonly corrects: PriorCharge | undefined
  readonly outcome: Outcome
}

export interface HeldAncestor {
  readonly keyId: KeyId
  /** Whether its budget holds the same amount as the hold. */
  readonly ofBudget: boolean
}

/** Undefined if no key created the hold's key. */
export function heldAncestors(above: readonly KeyBudget[] | undefined): readonly HeldAncestor[] | undefined {
  return above?.map(({ keyId, nanoUsd }) => ({ keyId, ofBudget: nanoUsd !== undefined }))
}

/** The defaults of a result: nothing changes. */
export const NOTHING: Applied = {
  account: undefined,
  key: undefined,
  hold: undefined,
  rows: [],
  alerts: [],
  completion: undefined,
  corrects: undefined,
  outcome: { kind: 'done' },
}

/** The hold was resolved before, or exists already. */
export const ALREADY: Applied = { ...NOTHING, outcome: { kind: 'already' } }

/** Undefined if the account is unchanged. */
export function changed(account: AccountState, snapshot: Snapshot): AccountState | undefined {
  return account === snapshot.account ? undefined : account
}
