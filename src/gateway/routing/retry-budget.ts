/**
 * How many repeats a provider gets beside the calls that are made there anyway (UP-2): a bucket that first calls fill by
 * a share and each repeat empties by one.
 */

export interface RetryBudget {
  tokens: number
}

/** So many repeats there always are for a provider that answers, also when little goes on. */
export const MIN_REPEATS = 3

export function createRetryBudget(): RetryBudget {
  return { tokens: MIN_REPEATS }
}

export interface BudgetScale {
  /** Repeats for each first call; 0: none at all. */
  readonly share: number
  /** Calls under way at the provider. */
  readonly inFlight: number
}

/** A request makes its first call at the provider. */
export function earn(budget: RetryBudget, { share, inFlight }: BudgetScale): void {
  const most = Math.max(MIN_REPEATS, share * inFlight)
  // A full bucket may be fuller than the cap of a moment with little under way: it is not emptied for that.
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
