/** Finds the budgets of a batch's units by the subjects of each request, in the windows of the transaction's time. */
import {
  type BudgetAction,
  type BudgetLevel,
  type BudgetSubject,
  type BudgetWindow,
  subjectName,
} from '../../../domain/budget.ts'
import type { AccountId, BudgetId, KeyId, TeamId, UserId } from '../../../domain/ids.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { windowAt } from '../../../lib/calendar-window.ts'
import type { BudgetState, BudgetWindowRef, WindowState } from './state.ts'

/** A row of `budget`, with the raises that are in force. */
export interface KnownBudget {
  readonly id: BudgetId
  readonly level: BudgetLevel
  readonly window: BudgetWindow
  readonly timezone: string
  readonly startsAt: number | undefined
  readonly action: BudgetAction
  readonly limit: NanoUsd
  readonly isRemoved: boolean
}

/** A row of `budget_window`. */
export interface KnownWindow extends WindowState {
  readonly start: number
}

/** The owner of a key. */
export interface KeyOwner {
  /** The user who created the key, connected the device or signed in. */
  readonly userId: UserId | undefined
}

export interface AccountBudget {
  readonly accountId: AccountId
  readonly budgetId: BudgetId
}

export interface OwnedWindow extends AccountBudget {
  readonly start: number
}

/** The queries of budgets. Accounts without budgets call none of them. */
export interface BudgetReads {
  keyOwner(accountId: AccountId, keyId: KeyId): KeyOwner
  /** The current budgets of a subject, in the order of their creation. */
  budgetsOf(accountId: AccountId, subject: BudgetSubject): readonly KnownBudget[]
  budget(ref: AccountBudget): KnownBudget | undefined
  latestWindow(ref: AccountBudget): KnownWindow | undefined
  window(ref: OwnedWindow): WindowState | undefined
}

export interface LoadedWindow {
  readonly ref: BudgetWindowRef
  /** Undefined without a row. */
  readonly read: WindowState | undefined
  state: WindowState
}

interface Current {
  readonly window: LoadedWindow
  readonly end: number | undefined
}

/** The budgets of an account that a batch has loaded. */
export interface LoadedBudgets {
  /** By `windowName`. */
  readonly windows: Map<string, LoadedWindow>
  readonly bySubject: Map<string, readonly KnownBudget[]>
  readonly owners: Map<KeyId, KeyOwner>
  /** The current windows; undefined before the first request in one. */
  readonly current: Map<BudgetId, Current | undefined>
}

export interface BudgetWork {
  readonly reads: BudgetReads
  readonly now: number
  readonly accountId: AccountId
  readonly loaded: LoadedBudgets
}

export function noBudgetsLoaded(): LoadedBudgets {
  return { windows: new Map(), bySubject: new Map(), owners: new Map(), current: new Map() }
}

/** The subjects whose budgets a request counts against. */
export interface Counted {
  readonly keyId: KeyId
  /** The ancestors of the key. */
  readonly ancestors: readonly KeyId[]
  /** Other subjects: the team and the tags. */
  readonly subjects: readonly BudgetSubject[]
}

/** @param ancestors Of a request without a hold. */
export function countedBy(
  { keyId, teamId, subjects = [] }: CountedRequest,
  ancestors: readonly KeyId[] | undefined,
): Counted {
  const team = teamId === undefined ? [] : [{ level: 'team', id: teamId } as const]
  return { keyId, ancestors: ancestors ?? [], subjects: [...team, ...subjects] }
}

/** A hold unit, or the record of a completion. */
interface CountedRequest {
  readonly keyId: KeyId
  readonly teamId?: TeamId | undefined
  readonly subjects?: readonly BudgetSubject[] | undefined
}

/** Returns the budgets that a request counts against, in their current windows, by level; undefined if there are none. */
export function currentBudgets(work: BudgetWork, counted: Counted): readonly BudgetState[] | undefined {
  const states: BudgetState[] = []
  for (const subject of subjectsOf(work, counted)) {
    for (const budget of budgetsOf(work, subject)) {
      const current = currentOf(work, budget)
      if (current !== undefined) states.push(stateOf(budget, current))
    }
  }
  return states.length === 0 ? undefined : states
}

/** Returns the budgets of given windows. A window without a row is empty: a free hold leaves none. */
export function heldBudgets(
  work: BudgetWork,
  refs: readonly BudgetWindowRef[] | undefined,
): readonly BudgetState[] | undefined {
  if (refs === undefined) return undefined
  const { reads, accountId } = work
  const states = refs.flatMap(({ budgetId, start }) => {
    const window = windowOf(work, { budgetId, start })
    const budget = reads.budget({ accountId, budgetId })
    return budget === undefined ? [] : [stateOf(budget, { window, end: undefined })]
  })
  return states.length === 0 ? undefined : states
}

/** Makes the states those of the loaded windows. */
export function moveBudgets({ windows }: LoadedBudgets, states: readonly BudgetState[]): void {
  for (const { budgetId, start, spent, held } of states) {
    const window = windows.get(windowName({ budgetId, start }))
    if (window !== undefined) window.state = { spent, held }
  }
}

/** Sorts by level and removes duplicates: a rejection names the first that is exhausted. */
function subjectsOf(work: BudgetWork, { keyId, ancestors, subjects }: Counted): Iterable<BudgetSubject> {
  const { userId } = ownerOf(work, keyId)
  const of = (level: BudgetLevel) => subjects.filter((subject) => subject.level === level)
  const member: BudgetSubject[] = userId === undefined ? [] : [{ level: 'member', id: userId }]
  const keys = [keyId, ...ancestors].map((id): BudgetSubject => ({ level: 'key', id }))
  const all = [
    { level: 'account', id: work.accountId } as const,
    ...of('team'),
    ...member,
    ...of('member'),
    ...keys,
    ...of('tag'),
  ]
  return new Map(all.map((subject) => [subjectName(subject), subject])).values()
}

function ownerOf({ reads, accountId, loaded: { owners } }: BudgetWork, keyId: KeyId): KeyOwner {
  const known = owners.get(keyId)
  if (known !== undefined) return known
  const owner = reads.keyOwner(accountId, keyId)
  owners.set(keyId, owner)
  return owner
}

function budgetsOf({ reads, accountId, loaded: { bySubject } }: BudgetWork, subject: BudgetSubject) {
  const name = subjectName(subject)
  const known = bySubject.get(name)
  if (known !== undefined) return known
  const budgets = reads.budgetsOf(accountId, subject)
  bySubject.set(name, budgets)
  return budgets
}

/** Returns the latest window with a row if the clock has gone back: an earlier window is not reopened. */
function currentOf(work: BudgetWork, budget: KnownBudget): Current | undefined {
  const { loaded, reads, accountId, now } = work
  const { id: budgetId, window: unit, timezone: timeZone, startsAt: anchor } = budget
  if (loaded.current.has(budgetId)) return loaded.current.get(budgetId)
  const recurrence = { unit, timeZone, anchor }
  const latest = reads.latestWindow({ accountId, budgetId })
  const window = windowAt(recurrence, Math.max(now, latest?.start ?? now))
  const current = window && { window: loadCurrent(work, { budgetId, start: window.start }, latest), end: window.end }
  loaded.current.set(budgetId, current)
  return current
}

function loadCurrent(
  { loaded: { windows } }: BudgetWork,
  ref: BudgetWindowRef,
  latest: KnownWindow | undefined,
): LoadedWindow {
  const name = windowName(ref)
  const known = windows.get(name)
  if (known !== undefined) return known
  const read = latest?.start === ref.start ? latest : undefined
  const window = { ref, read, state: read ?? NOTHING_SPENT }
  windows.set(name, window)
  return window
}

const NOTHING_SPENT: WindowState = { spent: 0n, held: 0n }

function windowOf({ reads, accountId, loaded: { windows } }: BudgetWork, ref: BudgetWindowRef): LoadedWindow {
  const name = windowName(ref)
  const known = windows.get(name)
  if (known !== undefined) return known
  const read = reads.window({ accountId, ...ref })
  const window: LoadedWindow = { ref, read, state: read ?? NOTHING_SPENT }
  windows.set(name, window)
  return window
}

function windowName({ budgetId, start }: BudgetWindowRef): string {
  return `${budgetId}@${start}`
}

function stateOf(budget: KnownBudget, { window, end }: Current): BudgetState {
  const { level, window: unit, action, limit, isRemoved } = budget
  return { ...window.ref, ...window.state, level, window: unit, action, limit: isRemoved ? undefined : limit, end }
}
