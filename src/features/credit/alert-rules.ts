/** When an account is told how much of its month is spent. */
import type { CreditScope } from '../../domain/credit.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { AccountState, AlertRow } from './rules.ts'
import type { PlanTerms } from './unit.ts'

const NO_ALERTS: readonly AlertRow[] = []
const USED_UP = 100

/** The thresholds that a charge has reached: of the account's budget or, without one, of the credit that it had this month. */
export function alertsOfCharge(
  spentBefore: NanoUsd,
  { account, terms }: { readonly account: AccountState; readonly terms: PlanTerms },
  now: number,
): readonly AlertRow[] {
  const { spent, thresholds, monthlyBudget } = account
  if (monthlyBudget === undefined && terms.billing === 'postpaid') return NO_ALERTS
  const basis = monthlyBudget === undefined ? 'credit' : 'budget'
  const limit = monthlyBudget ?? creditOfMonth(account)
  if (spentBefore === spent) return NO_ALERTS
  let alerts: AlertRow[] | undefined
  for (const threshold of thresholds) {
    const reachedAt = BigInt(threshold) * limit
    if (spentBefore * 100n >= reachedAt || spent * 100n < reachedAt) continue
    alerts ??= []
    alerts.push({ month: account.month, basis, threshold, spent, limit, createdAt: now })
  }
  return alerts ?? NO_ALERTS
}

/**
 * Holds stop short of the last nano-dollar, so that it is a refusal that shows that nothing is left.
 * @param least What the least useful answer would cost. As long as that fits what is not spent, credit is not used up:
 * the request was too large, or others hold what it needs and may give it back.
 */
export function alertsOfRefusal(
  { scope, least }: { readonly scope: CreditScope; readonly least: NanoUsd },
  account: AccountState,
  now: number,
): readonly AlertRow[] {
  if (scope === 'key_budget' || !account.thresholds.includes(USED_UP)) return NO_ALERTS
  const basis = scope === 'credit' ? 'credit' : 'budget'
  const limit = scope === 'credit' ? creditOfMonth(account) : (account.monthlyBudget ?? 0n)
  const { month, spent } = account
  if (limit <= 0n || least <= limit - spent) return NO_ALERTS
  return [{ month, basis, threshold: USED_UP, spent, limit, createdAt: now }]
}

/** All credit that there was to spend this month: what is left and what is spent. */
function creditOfMonth({ balance, spent }: AccountState): NanoUsd {
  return balance + spent
}
