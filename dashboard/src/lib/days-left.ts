/** How long an account can go on spending: until the first of its limits that it reaches at its present rate. */
import { fromNano, sumUsd, toNano } from './money.ts'

export interface SpendingLimit {
  /** Continues "by": `the balance`. */
  readonly name: string
  readonly leftUsd: number
  /** Unix milliseconds from which it is whole again; undefined: never. */
  readonly resetsAt: number | undefined
}

export interface Lasting {
  /** Whole days; Infinity for more than a year. */
  readonly days: number
  readonly limit: SpendingLimit
}

const DAY_MS = 86_400_000
/** Further than this nobody should be told a number. */
const MAX_DAYS = 365

interface Rate {
  readonly perDayUsd: number
  /** Unix milliseconds. */
  readonly now: number
}

/** @returns Undefined: no limit is reached at this rate. */
export function daysLeft(limits: readonly SpendingLimit[], { perDayUsd, now }: Rate): Lasting | undefined {
  const reached = limits
    .map((limit) => ({ limit, exact: limit.leftUsd <= 0 ? 0 : limit.leftUsd / perDayUsd }))
    .filter(({ limit: { resetsAt }, exact }) => resetsAt === undefined || now + exact * DAY_MS < resetsAt)
    .toSorted((one, other) => one.exact - other.exact)
  const [first] = reached
  if (first === undefined || !Number.isFinite(first.exact)) return undefined
  const days = Math.floor(first.exact)
  return { days: days > MAX_DAYS ? Number.POSITIVE_INFINITY : days, limit: first.limit }
}

/** `12 days`, `Less than a day`, `More than a year`. */
export function lastingText({ days, limit }: Lasting): string {
  if (limit.leftUsd <= 0) return 'Used up'
  if (days === Number.POSITIVE_INFINITY) return 'More than a year'
  if (days === 0) return 'Less than a day'
  return days === 1 ? '1 day' : `${days} days`
}

interface Spending {
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

/** What of the balance no request has reserved. */
export function available(balanceUsd: number, heldUsd: number): number {
  return sumUsd([balanceUsd, -heldUsd])
}

interface Account {
  readonly monthly_budget_usd: number | null
  readonly allowance_usd: number
  readonly budgets: readonly {
    readonly action: 'block' | 'warn'
    readonly window: string
    readonly remaining_usd: number
    readonly resets_at: string | null
  }[]
}

interface Month {
  readonly credit_remaining_usd: number
  readonly held_usd: number
  readonly unlimited: boolean
  readonly total_cost_usd: number
}

/** Whatever ends the spending of a whole account: its balance unless its plan is postpaid, and its budgets that block. */
export function limitsOf(account: Account, month: Month, now: number): readonly SpendingLimit[] {
  const { monthly_budget_usd: budget, allowance_usd: allowance, budgets } = account
  const { credit_remaining_usd: balance, held_usd: held, unlimited, total_cost_usd: spent } = month
  const nextMonth = firstOfNextMonth(now)
  const isAllowance = allowance > 0 && sumUsd([balance, -allowance]) <= 0
  const credit = { leftUsd: available(balance, held), resetsAt: isAllowance ? nextMonth : undefined }
  return [
    ...(unlimited ? [] : [{ name: isAllowance ? 'the plan’s allowance' : 'the balance', ...credit }]),
    ...(budget === null
      ? []
      : [{ name: 'the monthly budget', leftUsd: sumUsd([budget, -spent, -held]), resetsAt: nextMonth }]),
    ...budgets
      .filter(({ action }) => action === 'block')
      .map(({ window, remaining_usd: leftUsd, resets_at: resetsAt }) => ({
        name: window === 'total' ? 'the budget in total' : `the budget of a ${window}`,
        leftUsd,
        resetsAt: resetsAt === null ? undefined : Date.parse(resetsAt),
      })),
  ]
}

function firstOfNextMonth(now: number): number {
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}
