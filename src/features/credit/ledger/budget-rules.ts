/** How budgets move with holds and charges, and the alerts that they raise. */
import type { NanoUsd } from '../../../domain/money.ts'
import type { BudgetAlertRow, BudgetState } from './state.ts'

const NO_ALERTS: readonly BudgetAlertRow[] = []
const USED_UP = 100

/** Returns the windows after a charge and the end of its hold, if there was one. */
export function chargedBudgets(
  budgets: readonly BudgetState[] | undefined,
  { cost, held }: { readonly cost: NanoUsd; readonly held: NanoUsd },
): readonly BudgetState[] | undefined {
  if (cost === 0n && held === 0n) return undefined
  return budgets?.map((budget) => ({ ...budget, spent: budget.spent + cost, held: budget.held - held }))
}

interface AlertTerms {
  /** Percentages, ascending. */
  readonly thresholds: readonly number[]
  readonly now: number
}

/** Returns the thresholds that charges have reached. */
export function budgetAlertsOfCharge(
  before: readonly BudgetState[] | undefined,
  after: readonly BudgetState[] | undefined,
  terms: AlertTerms,
): readonly BudgetAlertRow[] {
  if (before === undefined || after === undefined) return NO_ALERTS
  return after.flatMap((budget, at) => thresholdsReached(before[at]?.spent ?? 0n, budget, terms))
}

/** Returns the thresholds that spending has reached already when they or the limit are set: no later charge does. */
export function budgetAlertsOfSettings(budget: AlertedBudget, terms: AlertTerms): readonly BudgetAlertRow[] {
  return thresholdsReached(0n, budget, terms)
}

type AlertedBudget = Pick<BudgetState, 'budgetId' | 'start' | 'limit' | 'spent'>

function thresholdsReached(
  spentBefore: NanoUsd,
  budget: AlertedBudget,
  { thresholds, now }: AlertTerms,
): readonly BudgetAlertRow[] {
  const { limit, spent } = budget
  if (limit === undefined || spent <= spentBefore) return NO_ALERTS
  const reached = thresholds.filter((threshold) => {
    const reachedAt = BigInt(threshold) * limit
    return spentBefore * 100n < reachedAt && spent * 100n >= reachedAt
  })
  return reached.map((threshold) => alertOf(budget, { threshold, limit, now }))
}

/** Holds stop short of the limit, so a rejected hold, not a charge, usually reveals that a budget is exhausted. */
export function budgetAlertsOfRefusal(
  budget: BudgetState,
  { least, thresholds, now }: AlertTerms & { readonly least: NanoUsd },
): readonly BudgetAlertRow[] {
  const { limit = 0n, spent } = budget
  if (limit <= 0n || least <= limit - spent || !thresholds.includes(USED_UP)) return NO_ALERTS
  return [alertOf(budget, { threshold: USED_UP, limit, now })]
}

function alertOf(
  { budgetId, start, spent }: AlertedBudget,
  { threshold, limit, now }: { readonly threshold: number; readonly limit: NanoUsd; readonly now: number },
): BudgetAlertRow {
  return { budgetId, start, threshold, spent, limit, createdAt: now }
}
