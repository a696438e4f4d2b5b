/**
 * The retry budget of a provider (UP-2): a bucket that first calls fill by a share, and from which each repeat takes one.
 */

export interface RetryBudget {
  tokens: number
}

/** Repeats that a provider always has, also with few calls. */
export const MIN_REPEATS = 3

export function createRetryBudget(): RetryBudget {
  return { tokens: MIN_REPEATS }
}

interface BudgetScale {
  /** Repeats for each first call; 0: none at all. */
  readonly share: number
  /** Calls in flight at the provider. */
  readonly inFlight: number
}

/** A request makes its first call at the provider. */
export function earn(budget: RetryBudget, { share, inFlight }: BudgetScale): void {
  const most = Math.max(MIN_REPEATS, share * inFlight)
  // The cap falls when fewer calls are in flight; tokens above it are kept.
  if (budget.tokens < most) budget.tokens = Math.min(most, budget.tokens + share)
}

/** An answer ended well there. */
export function refill(budget: RetryBudget): void {
  if (budget.tokens < MIN_REPEATS) budget.tokens = MIN_REPEATS
}

export function mayRepeat({ tokens }: RetryBudget, share: number): boolean {
  return share > 0 && tokens >= 1
}

export function spend(budget: RetryBudget): void {
  budget.tokens -= 1
}
