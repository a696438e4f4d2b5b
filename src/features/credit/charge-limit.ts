/** How much may be charged for a request whatever a provider reports: the overrun cap of an account (LED-7). */
import { defaultOverrunNanoUsd } from '../../domain/account-credit.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { AccountState } from './rules.ts'
import type { PlanTerms } from './unit.ts'

/**
 * The most that one charge may take. What is left after it covers all other holds but for the overrun cap, so however many
 * requests are in flight, they take the balance at most that far below zero together.
 * @param account Without the hold of the request itself.
 * @param promised What was held for the request: that may be charged whatever became of the account meanwhile.
 * @returns Undefined: there is no limit, the plan is billed after the fact.
 */
export function chargeLimit(account: AccountState, terms: PlanTerms, promised: NanoUsd): NanoUsd | undefined {
  if (terms.billing === 'postpaid') return undefined
  const most = account.balance - account.held + overrunCap(account, terms)
  return most > promised ? most : promised
}

/** How far the account's balance may fall below zero: its own cap, else its plan's, else the larger of $0.05 and 1 % of the allowance. */
export function overrunCap({ maxOverrun }: Pick<AccountState, 'maxOverrun'>, terms: PlanTerms): NanoUsd {
  return maxOverrun ?? terms.maxOverrunNanoUsd ?? defaultOverrunNanoUsd(terms.monthlyCreditNanoUsd)
}

/** @param charged What the completion was charged before: only more than that counts. */
export function withinCap(record: CompletionRecord, charged: NanoUsd, limit: NanoUsd | undefined): CompletionRecord {
  const { costNanoUsd } = record
  if (limit === undefined) return record
  const most = charged + (limit > 0n ? limit : 0n)
  return costNanoUsd <= most ? record : { ...record, costNanoUsd: most, unbilledNanoUsd: costNanoUsd - most }
}
