/** How long credit lasts, if it goes on as it did. */
import { fromNano, sumUsd, toNano } from '../../lib/money.ts'

const DAY_MS = 86_400_000
/** Further than this nobody should be told a number. */
const MAX_DAYS = 365

export interface Spending {
  /** In the period from `since` until `now`. */
  readonly costUsd: number
  /** Unix milliseconds, like `now`. */
  readonly since: number
  readonly now: number
}

/** US dollars, to the nano-dollar. What is younger than a day is taken for one. */
export function costPerDay({ costUsd, since, now }: Spending): number {
  const elapsed = BigInt(Math.max(DAY_MS, now - since))
  return fromNano((toNano(costUsd) * BigInt(DAY_MS)) / elapsed)
}

/**
 * Whole days until `availableUsd` is spent.
 * @returns Infinity for more than a year; undefined when nothing is spent.
 */
export function daysLeft(availableUsd: number, perDayUsd: number): number | undefined {
  if (perDayUsd <= 0) return undefined
  const days = Math.floor(Math.max(0, availableUsd) / perDayUsd)
  return days > MAX_DAYS ? Number.POSITIVE_INFINITY : days
}

/** What of the balance no request has reserved. */
export function available(balanceUsd: number, heldUsd: number): number {
  return sumUsd([balanceUsd, -heldUsd])
}
