/** Budgets: the most that a subject may spend in a window of time, at every level of an account. */
import type { CalendarUnit } from '../lib/calendar-window.ts'
import type { AccountId, BudgetId } from './ids.ts'
import type { NanoUsd } from './money.ts'

/** The levels, in the order in which a rejection names them. */
export const BUDGET_LEVELS = ['account', 'team', 'member', 'key', 'tag'] as const
export type BudgetLevel = (typeof BUDGET_LEVELS)[number]

export const BUDGET_WINDOWS = ['day', 'week', 'month', 'quarter', 'total'] as const satisfies readonly CalendarUnit[]
export type BudgetWindow = (typeof BUDGET_WINDOWS)[number]

export const BUDGET_ACTIONS = ['block', 'warn'] as const
export type BudgetAction = (typeof BUDGET_ACTIONS)[number]

/** The most budgets of one subject. */
export const MAX_BUDGETS = 10

/** The subject that a budget limits. `id`: of the account, team, user or key; of a tag `key=value`. */
export interface BudgetSubject {
  readonly level: BudgetLevel
  readonly id: string
}

export interface OwnedSubject extends BudgetSubject {
  readonly accountId: AccountId
}

/** The key of a subject within its account. */
export function subjectName({ level, id }: BudgetSubject): string {
  return `${level} ${id}`
}

/** The settings of a budget. */
export interface BudgetTerms {
  readonly limitNanoUsd: NanoUsd
  readonly window: BudgetWindow
  /** An IANA name. */
  readonly timezone: string
  /** The start of the first window in Unix milliseconds. Undefined for windows of the calendar. */
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
  /** The limit with the raises that are in force. */
  readonly raisedLimitNanoUsd: NanoUsd
  readonly spentNanoUsd: NanoUsd
  readonly heldNanoUsd: NanoUsd
  readonly windowStart: number
  /** Undefined if the budget never resets or has not begun. */
  readonly resetsAt: number | undefined
  /** When the budget will be spent at the pace of this window. Undefined if that is not within the window. */
  readonly exhaustedAt: number | undefined
  readonly raises: readonly BudgetRaise[]
}

interface Pace {
  readonly spentNanoUsd: NanoUsd
  readonly limitNanoUsd: NanoUsd
  /** When it was spent. */
  readonly since: number
  readonly resetsAt: number | undefined
  readonly now: number
}

/** Returns when a limit is reached at the pace so far. Undefined if not before the reset, or if nothing was spent. */
export function forecastExhaustion({ spentNanoUsd, limitNanoUsd, since, resetsAt, now }: Pace): number | undefined {
  if (spentNanoUsd >= limitNanoUsd) return now
  const elapsed = now - since
  if (spentNanoUsd <= 0n || elapsed <= 0) return undefined
  const at = since + Math.ceil(elapsed * (Number(limitNanoUsd) / Number(spentNanoUsd)))
  return at < (resetsAt ?? LATEST_TIME) ? at : undefined
}

const LATEST_TIME = Date.UTC(9999, 11, 31)
