/** A budget and a raise as they are being filled in, and what is sent of them. */
import { readNumber, textOfNumber } from '../../../ui/form/number-text.ts'
import type { Budget, BudgetLevel, BudgetTerms, RaiseBody, Subject } from './queries.ts'

export const LEVELS = ['account', 'team', 'member', 'key', 'tag'] as const satisfies readonly BudgetLevel[]
export const WINDOWS = ['day', 'week', 'month', 'quarter', 'total'] as const satisfies readonly Budget['window'][]

export interface BudgetDraft {
  readonly level: BudgetLevel
  /** An id, or a tag as `key=value`; of the account empty. */
  readonly subject: string
  /** As typed. */
  readonly usd: string
  readonly window: Budget['window']
  readonly timezone: string
  /** A day, `2026-11-22`. Empty: windows of the calendar. */
  readonly starts: string
  readonly action: Budget['action']
}

export const NEW_BUDGET: BudgetDraft = {
  level: 'account',
  subject: '',
  usd: '',
  window: 'month',
  timezone: 'UTC',
  starts: '',
  action: 'block',
}

export function draftOf(budget: Budget): BudgetDraft {
  const { level, subject, usd, window, timezone, action } = budget
  return { level, subject, usd: textOfNumber(usd), window, timezone, starts: startDay(budget), action }
}

/** The day that the first window begins on, in the time zone of the budget. */
function startDay({ starts, timezone: timeZone }: Pick<Budget, 'starts' | 'timezone'>): string {
  if (starts === null) return ''
  const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
  return new Intl.DateTimeFormat('en-CA', { timeZone, ...parts }).format(Date.parse(starts))
}

const MAX_USD = 1_000_000_000
const BOUNDS = { min: 0, max: MAX_USD }
const TAG = /^[a-z0-9_.:-]{1,32}=[a-z0-9_.:-]{1,64}$/

export interface DraftProblems {
  readonly usd: string | undefined
  readonly tag: string | undefined
}

/** What is wrong with what is typed. */
export function problemsOf({ level, subject, usd }: BudgetDraft): DraftProblems {
  const isBadTag = level === 'tag' && subject.trim() !== '' && !TAG.test(subject.trim())
  return {
    usd: readNumber(usd, BOUNDS).problem,
    tag: isBadTag ? 'A tag is key=value, of lower-case letters, digits and _ . : -' : undefined,
  }
}

const SUBJECTS: Readonly<Record<Exclude<BudgetLevel, 'account'>, string>> = {
  team: 'Choose a team.',
  member: 'Choose a member.',
  key: 'Choose a key.',
  tag: 'Enter a tag.',
}

/** What is still needed; undefined: it can be sent. */
export function missingOf(draft: BudgetDraft): string | undefined {
  const { level, subject, usd, timezone } = draft
  const { usd: badUsd, tag: badTag } = problemsOf(draft)
  if (level !== 'account' && subject.trim() === '') return SUBJECTS[level]
  if (usd.trim() === '') return 'Enter a limit.'
  if (timezone === '') return 'Choose a time zone.'
  return badUsd ?? badTag
}

export function subjectOf({ level, subject }: BudgetDraft, accountId: string): Subject {
  return { level, subject: level === 'account' ? accountId : subject.trim() }
}

/** @param before The budget that is changed: a start whose day stays is sent as it was. */
export function termsOfDraft(draft: BudgetDraft, before?: Budget): BudgetTerms {
  const { window, timezone, starts, action } = draft
  const isSameDay = before !== undefined && starts === startDay({ ...before, timezone })
  const start = isSameDay ? before.starts : starts === '' ? null : starts
  return { usd: readNumber(draft.usd, BOUNDS).value ?? 0, window, timezone, starts: start, action }
}

export interface RaiseDraft {
  /** As typed. */
  readonly usd: string
  /** Local time, `2026-11-22T18:00`. */
  readonly ends: string
  readonly reason: string
}

export const NEW_RAISE: RaiseDraft = { usd: '', ends: '', reason: '' }

export function raiseProblem({ usd }: RaiseDraft): string | undefined {
  return readNumber(usd, { min: 0.000000001, max: MAX_USD }).problem
}

/** @param now Unix milliseconds. */
export function missingOfRaise(draft: RaiseDraft, now: number): string | undefined {
  const { usd, ends, reason } = draft
  if (usd.trim() === '') return 'Enter an amount.'
  if (ends === '') return 'Choose an end.'
  if (Date.parse(ends) <= now) return 'Choose an end in the future.'
  return reason.trim() === '' ? 'Enter a reason.' : raiseProblem(draft)
}

export function raiseBody({ usd, ends, reason }: RaiseDraft): RaiseBody {
  const amount = readNumber(usd, BOUNDS).value ?? 0
  return { usd: amount, ends_at: new Date(ends).toISOString(), reason: reason.trim() }
}
