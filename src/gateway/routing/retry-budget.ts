/**
 * The retry budget of a provider (UP-2): a token bucket. Each first call adds a share of a token, and each retry
 * takes one.
 */

export interface RetryBudget {
  tokens: number
}

/** The retries that a provider always allows, even with few calls. */
export const MIN_REPEATS = 3

export function createRetryBudget(): RetryBudget {
  return { tokens: MIN_REPEATS }
}

interface BudgetScale {
  /** Retries for each first call; 0 disables retries. */
  readonly share: number
  /** Calls in flight at the provider. */
  readonly inFlight: number
}

/** Adds the share of a request's first call at the provider. */
export function earn(budget: RetryBudget, { share, inFlight }: BudgetScale): void {
  const most = Math.max(MIN_REPEATS, share * inFlight)
  // The cap falls with the calls in flight, but existing tokens above it remain.
  if (budget.tokens < most) budget.tokens = Math.min(most, budget.tokens + share)
}

/** Adds a token after a complete answer. */
export function refill(budget: RetryBudget): void {
  if (budget.tokens < MIN_REPEATS) budget.tokens = MIN_REPEATS
}

export function mayRepeat({ tokens }: RetryBudget, share: number): boolean {
  return share > 0 && tokens >= 1
}

export function spend(budget: RetryBudget): void {
  budget.tokens -= 1
}
