/** Budgets: how much of what may be spent in a window of time, at every level of an account. */
import type { CalendarUnit } from '../lib/calendar-window.ts'
import type { AccountId, BudgetId } from './ids.ts'
import type { NanoUsd } from './money.ts'

/** In the order in which a refusal names them. */
export const BUDGET_LEVELS = ['account', 'team', 'member', 'key', 'tag'] as const
export type BudgetLevel = (typeof BUDGET_LEVELS)[number]

export const BUDGET_WINDOWS = ['day', 'week', 'month', 'quarter', 'total'] as const satisfies readonly CalendarUnit[]
export type BudgetWindow = (typeof BUDGET_WINDOWS)[number]

export const BUDGET_ACTIONS = ['block', 'warn'] as const
export type BudgetAction = (typeof BUDGET_ACTIONS)[number]

/** Budgets of one subject. */
export const MAX_BUDGETS = 10

/** What a budget limits. `id`: of the account, team, user or key; of a tag `key=value`. */
export interface BudgetSubject {
  readonly level: BudgetLevel
  readonly id: string
}

export interface OwnedSubject extends BudgetSubject {
  readonly accountId: AccountId
}

/** A subject among those of its account. */
export function subjectName({ level, id }: BudgetSubject): string {
  return `${level} ${id}`
}

/** What is set for a budget. */
export interface BudgetTerms {
  readonly limitNanoUsd: NanoUsd
  readonly window: BudgetWindow
  /** IANA name. */
  readonly timezone: string
  /** Start of the first window, Unix milliseconds; undefined: windows of the calendar. */
  readonly startsAt: number | undefined
  readonly action: BudgetAction
}

export interface BudgetRaise {
  readonly id: string
  readonly nanoUsd: NanoUsd
  readonly reason: string
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly endsAt: number
}

/** A budget in its current window. Times are Unix milliseconds. */
export interface BudgetStatus extends BudgetTerms, BudgetSubject {
  readonly budgetId: BudgetId
  /** With the raises that are in force. */
  readonly raisedLimitNanoUsd: NanoUsd
  readonly spentNanoUsd: NanoUsd
  readonly heldNanoUsd: NanoUsd
  readonly windowStart: number
  /** Undefined: it never resets, or has not begun. */
  readonly resetsAt: number | undefined
  /** When it is spent at the pace of this window; undefined: not within it. */
  readonly exhaustedAt: number | undefined
  readonly raises: readonly BudgetRaise[]
}

interface Pace {
  readonly spentNanoUsd: NanoUsd
  readonly limitNanoUsd: NanoUsd
  /** Since when it was spent. */
  readonly since: number
  readonly resetsAt: number | undefined
  readonly now: number
}

/** The time at which a limit is reached at the pace so far; undefined: not before the reset, or nothing was spent. */
export function forecastExhaustion({ spentNanoUsd, limitNanoUsd, since, resetsAt, now }: Pace): number | undefined {
  if (spentNanoUsd >= limitNanoUsd) return now
  const elapsed = now - since
  if (spentNanoUsd <= 0n || elapsed <= 0) return undefined
  const at = since + Math.ceil(elapsed * (Number(limitNanoUsd) / Number(spentNanoUsd)))
  return at < (resetsAt ?? LATEST_TIME) ? at : undefined
}

const LATEST_TIME = Date.UTC(9999, 11, 31)
