/** What an account has, for whoever shows or sets it. */
import type { AccountId } from './ids.ts'
import type { NanoUsd } from './money.ts'

/** An account as far as its credit is concerned. */
export interface CreditedAccount {
  readonly id: AccountId
  /** Name of its plan. */
  readonly plan: string
}

/** Percentages at which an account is told how much of its month is spent, unless it says otherwise. */
export const DEFAULT_ALERT_THRESHOLDS: readonly number[] = [50, 80, 100]

const LEAST_OVERRUN_NANO_USD = 50_000_000n
const OVERRUN_SHARE = 100n

/** How far a balance may fall below zero where nobody set it: the larger of $0.05 and 1 % of the monthly allowance. */
export function defaultOverrunNanoUsd(monthlyCreditNanoUsd: NanoUsd): NanoUsd {
  const share = monthlyCreditNanoUsd / OVERRUN_SHARE
  return share > LEAST_OVERRUN_NANO_USD ? share : LEAST_OVERRUN_NANO_USD
}

export interface AccountCredit {
  /** Undefined: no limit, the plan is billed after the fact. */
  readonly remainingNanoUsd: NanoUsd | undefined
  /** The sum of the account's ledger. */
  readonly balanceNanoUsd: NanoUsd
  /** Reserved by requests in flight. */
  readonly heldNanoUsd: NanoUsd
  readonly monthlyBudgetNanoUsd: NanoUsd | undefined
  /** Percentages, ascending. */
  readonly alertThresholds: readonly number[]
}

/** Absent: unchanged. A budget of null: none. */
export interface CreditSettings {
  readonly monthlyBudgetNanoUsd?: NanoUsd | null
  /** Null: as the plan says. For operators. */
  readonly maxOverrunNanoUsd?: NanoUsd | null
  readonly alertThresholds?: readonly number[]
}

/** Implemented by `features/credit`. */
export interface AccountCreditPort {
  /**
   * The account in the current month: an allowance that is due is granted first. While the database takes no writes,
   * what is there.
   */
  read(account: CreditedAccount): Promise<AccountCredit>
  /** Rejects with `database_unavailable`. */
  configure(account: CreditedAccount, settings: CreditSettings): Promise<AccountCredit>
}
