/** What an account is told of its month: how much of it is spent, and that its credit is used up. */
import type { CreditScope } from '../../../domain/credit.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import type { AccountState, AlertRow } from './state.ts'
import type { PlanTerms } from './unit.ts'

const NO_ALERTS: readonly AlertRow[] = []
const USED_UP = 100

/**
 * The thresholds that a charge has reached: of the account's budget or, without one, of the credit that it had this month.
 * That prepaid credit is used up is told whatever the thresholds are, and whether there is a budget or not.
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
 * Holds stop short of the last nano-dollar, so that it is mostly a refusal that shows that nothing is left.
 * @param least What the least useful answer would cost. As long as that fits what is not spent, credit is not used up:
 * the request was too large, or others hold what it needs and may give it back.
 */
export function alertsOfRefusal(
  { scope, least }: { readonly scope: CreditScope; readonly least: NanoUsd },
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

/** What is left is its limit less what is spent: the balance, which may be above zero and too little, or below it. */
function creditExhausted(account: AccountState, now: number): AlertRow {
  const { month, spent } = account
  const limit = creditOfMonth(account)
  return { month, event: 'credit.exhausted', basis: 'credit', threshold: USED_UP, spent, limit, createdAt: now }
}

/** All credit that there was to spend this month: what is left and what is spent. */
function creditOfMonth({ balance, spent }: AccountState): NanoUsd {
  return balance + spent
}
