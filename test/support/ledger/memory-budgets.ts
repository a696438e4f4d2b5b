/** Budgets of all levels of the ledger in memory, and a model of what is spent and held in each of their windows, said without the rules. */
import assert from 'node:assert/strict'
import { BUDGET_LEVELS, type BudgetSubject, type BudgetWindow, subjectName } from '../../../src/domain/budget.ts'
import type { AccountId, BudgetId, CompletionId, KeyId, UserId } from '../../../src/domain/ids.ts'
import type { NanoUsd } from '../../../src/domain/money.ts'
import {
  type BudgetReads,
  type BudgetWork,
  countedBy,
  currentBudgets,
  heldBudgets,
  type KnownBudget,
  type KnownWindow,
  noBudgetsLoaded,
} from '../../../src/features/credit/ledger/batch-budgets.ts'
import type { BudgetState, HoldState, PriorCharge, WindowState } from '../../../src/features/credit/ledger/state.ts'
import type { Outcome, Unit } from '../../../src/features/credit/ledger/unit.ts'

const DAY_MS = 86_400_000

/** The window of a time, by a number that is the same for all times in it. Weeks begin on Monday; all in UTC. */
export const NUMBER_OF: Readonly<Record<BudgetWindow, (at: number) => number>> = {
  day: (at) => Math.floor(at / DAY_MS),
  week: (at) => Math.floor((Math.floor(at / DAY_MS) + 3) / 7),
  month: (at) => new Date(at).getUTCFullYear() * 12 + new Date(at).getUTCMonth(),
  quarter: (at) => Math.floor(NUMBER_OF.month(at) / 3),
  total: () => 0,
}

export interface MemoryBudget extends KnownBudget {
  readonly accountId: AccountId
  readonly subject: BudgetSubject
  readonly raises: readonly { readonly nanoUsd: NanoUsd; readonly endsAt: number }[]
}

/** As the tables of a database. */
export interface MemoryBudgets {
  /** In the order of creation. */
  readonly all: Map<BudgetId, MemoryBudget>
  /** By their starts. */
  readonly windows: Map<BudgetId, Map<number, KnownWindow>>
  /** Who created a key. */
  readonly owners: Map<KeyId, UserId>
}

export const memoryBudgets = (): MemoryBudgets => ({ all: new Map(), windows: new Map(), owners: new Map() })

/** With the raises that are in force. */
function limitOf({ limit, raises }: MemoryBudget, now: number): NanoUsd {
  return raises.reduce((sum, { nanoUsd, endsAt }) => (endsAt > now ? sum + nanoUsd : sum), limit)
}

function readsOf({ all, windows, owners }: MemoryBudgets, now: number): BudgetReads {
  const known = (budget: MemoryBudget): KnownBudget => ({ ...budget, limit: limitOf(budget, now) })
  const isOf =
    (accountId: AccountId, { level, id }: BudgetSubject) =>
    (budget: MemoryBudget) =>
      !budget.isRemoved && budget.accountId === accountId && budget.level === level && budget.subject.id === id
  return {
    keyOwner: (_, keyId) => ({ userId: owners.get(keyId) }),
    budgetsOf: (accountId, subject) => [...all.values()].filter(isOf(accountId, subject)).map(known),
    budget({ budgetId }) {
      const found = all.get(budgetId)
      return found && known(found)
    },
    latestWindow({ budgetId }) {
      const known = windows.get(budgetId)
      return known?.get(Math.max(...known.keys()))
    },
    window: ({ budgetId, start }) => windows.get(budgetId)?.get(start),
  }
}

interface Read {
  readonly accountId: AccountId
  readonly hold: HoldState | undefined
  readonly charged: PriorCharge | undefined
  readonly now: number
}

/** What a transaction reads of budgets for a unit, as `apply-batch.ts` does. */
export function readBudgets(budgets: MemoryBudgets, unit: Unit, { accountId, hold, charged, now }: Read) {
  if (budgets.all.size === 0) return undefined
  const work: BudgetWork = { reads: readsOf(budgets, now), now, accountId, loaded: noBudgetsLoaded() }
  if (unit.kind === 'hold') return currentBudgets(work, countedBy(unit, undefined))
  if (unit.kind !== 'settle') return heldBudgets(work, hold?.budgets)
  const refs = hold === undefined ? charged?.entry?.budgets : hold.budgets
  if (refs !== undefined) return heldBudgets(work, refs)
  if (hold !== undefined || charged?.entry !== undefined) return undefined
  return currentBudgets(work, countedBy(unit.record, undefined))
}

/** A window that nothing was held in needs no row. */
export function writeBudgets({ windows }: MemoryBudgets, states: readonly BudgetState[] | undefined): void {
  for (const { budgetId, start, spent, held } of states ?? []) {
    const known = windows.get(budgetId) ?? new Map<number, KnownWindow>()
    if (known.has(start) || spent !== 0n || held !== 0n) windows.set(budgetId, known.set(start, { start, spent, held }))
  }
}

/** A window by its budget and the number that all times in it have. */
interface NumberedWindow {
  readonly budget: BudgetId
  readonly number: number
}

interface ModelledHold {
  readonly windows: readonly NumberedWindow[]
  readonly amount: NanoUsd
}

export interface BudgetModel {
  readonly budgets: MemoryBudgets
  /** Of each budget, by number, what settlements charged and open holds hold. */
  readonly windows: Map<BudgetId, Map<number, WindowState>>
  readonly holds: Map<CompletionId, ModelledHold>
  /** Where charges count. */
  readonly charged: Map<CompletionId, readonly NumberedWindow[]>
}

export function budgetModel(budgets: MemoryBudgets): BudgetModel {
  return { budgets, windows: new Map(), holds: new Map(), charged: new Map() }
}

/** Who a request counts for. */
export interface CountedFor {
  readonly accountId: AccountId
  readonly subjects: readonly BudgetSubject[]
}

/** In the order in which a refusal names them. A clock that goes back reopens no window. */
function currentWindows({ budgets, windows }: BudgetModel, of: CountedFor, now: number): readonly NumberedWindow[] {
  const names = new Set(of.subjects.map(subjectName))
  return [...budgets.all.values()]
    .filter(({ accountId, isRemoved, subject }) => {
      return !isRemoved && accountId === of.accountId && names.has(subjectName(subject))
    })
    .toSorted((one, other) => BUDGET_LEVELS.indexOf(one.level) - BUDGET_LEVELS.indexOf(other.level))
    .map(({ id: budget, window }) => {
      const known = [...(windows.get(budget)?.keys() ?? [])]
      return { budget, number: Math.max(NUMBER_OF[window](now), ...known) }
    })
}

const NOTHING: WindowState = { spent: 0n, held: 0n }
const stateOf = ({ windows }: BudgetModel, { budget, number }: NumberedWindow) => windows.get(budget)?.get(number)

function move(model: BudgetModel, window: NumberedWindow, { spent, held }: WindowState): void {
  const known = stateOf(model, window)
  if (spent === 0n && held === 0n) return
  const { budget, number } = window
  const ofBudget = model.windows.get(budget) ?? new Map<number, WindowState>()
  const before = known ?? NOTHING
  model.windows.set(budget, ofBudget.set(number, { spent: before.spent + spent, held: before.held + held }))
}

export interface ModelledStep {
  readonly unit: Unit
  readonly outcome: Outcome
  readonly of: CountedFor
  readonly now: number
  /** What the unit charged, less what it refunded. */
  readonly charged: NanoUsd
}

/**
 * Moves the model as a unit should have moved the budgets. Throws where the outcome is not what their limits say.
 * @returns What happened of that which a test should have seen.
 */
export function followUnit(model: BudgetModel, step: ModelledStep): readonly string[] {
  switch (step.unit.kind) {
    case 'hold':
      return followHold(model, { ...step, unit: step.unit })
    case 'extend':
      return followExtend(model, { ...step, unit: step.unit })
    case 'settle':
      return followSettle(model, { ...step, unit: step.unit })
    case 'release':
      if (step.outcome.kind === 'done') resolve(model, step.unit.id)
      return []
    default:
      return []
  }
}

type StepOf<Kind> = ModelledStep & { readonly unit: Extract<Unit, { kind: Kind }> }

function followHold(model: BudgetModel, step: StepOf<'hold'>): readonly string[] {
  const { unit, outcome, of, now } = step
  const windows = currentWindows(model, of, now)
  const seen = checkLimits(model, step, windows)
  if (outcome.kind !== 'held') return seen
  for (const window of windows) move(model, window, { spent: 0n, held: outcome.nanoUsd })
  model.holds.set(unit.id, { windows, amount: outcome.nanoUsd })
  return seen
}

function followExtend(model: BudgetModel, step: StepOf<'extend'>): readonly string[] {
  const { unit, outcome } = step
  const hold = model.holds.get(unit.id)
  if (hold === undefined) return []
  const { windows } = hold
  const seen = checkLimits(model, step, windows)
  if (outcome.kind !== 'held') return seen
  for (const window of windows) move(model, window, { spent: 0n, held: unit.nanoUsd })
  model.holds.set(unit.id, { ...hold, amount: hold.amount + unit.nanoUsd })
  return seen
}

function followSettle(model: BudgetModel, { unit, outcome, of, now, charged }: StepOf<'settle'>): readonly string[] {
  const { id } = unit.record
  if (outcome.kind !== 'done' && outcome.kind !== 'corrected') return []
  const before = outcome.kind === 'done' ? resolve(model, id) : model.charged.get(id)
  if (charged === 0n) return []
  const windows = before ?? currentWindows(model, of, now)
  for (const window of windows) move(model, window, { spent: charged, held: 0n })
  model.charged.set(id, windows)
  const isEnded = ({ budget, number }: NumberedWindow) => number < NUMBER_OF[windowOf(model, budget)](now)
  return windows.some(isEnded) ? ['charged in an ended window'] : []
}

const windowOf = ({ budgets: { all } }: BudgetModel, budget: BudgetId) => (all.get(budget) ?? assert.fail()).window

/** @returns The windows of the hold that has ended; undefined: there was none. */
function resolve(model: BudgetModel, id: CompletionId): readonly NumberedWindow[] | undefined {
  const hold = model.holds.get(id)
  if (hold === undefined) return undefined
  for (const window of hold.windows) move(model, window, { spent: 0n, held: -hold.amount })
  model.holds.delete(id)
  return hold.windows
}

/** What is held fits each budget; who is refused by one exceeds it, and none of those before it. */
function checkLimits(
  model: BudgetModel,
  { unit, outcome, now }: ModelledStep,
  windows: readonly NumberedWindow[],
): readonly string[] {
  const rooms = windows.flatMap((window) => {
    const budget = model.budgets.all.get(window.budget) ?? assert.fail()
    if (budget.action === 'warn' || budget.isRemoved) return []
    const { spent, held } = stateOf(model, window) ?? NOTHING
    return [{ window, budget, room: limitOf(budget, now) - spent - held, unraised: budget.limit - spent - held }]
  })
  if (outcome.kind === 'held') {
    const more = unit.kind === 'extend' ? unit.nanoUsd : outcome.nanoUsd
    if (more === 0n) return []
    for (const { budget, room } of rooms) assert.ok(more <= room, `INV-3: within the budget of the ${budget.level}`)
    return rooms.some(({ unraised }) => more > unraised) ? ['held by a raise'] : []
  }
  if (outcome.kind !== 'refused' || outcome.budget === undefined) return []
  const { requiredNanoUsd: required, availableNanoUsd, limitNanoUsd, resetsAt = 0, scope } = outcome
  const first = rooms.find(({ room }) => required > room) ?? assert.fail('INV-11: refused although it fits')
  const { budget, window, room } = first
  assert.equal(outcome.budget.id, budget.id, 'INV-11: the first that is too small')
  assert.deepEqual([scope, availableNanoUsd, limitNanoUsd], [`${budget.level}_budget`, room, limitOf(budget, now)])
  if (unit.kind === 'hold' && budget.window !== 'total') {
    const around = [resetsAt - 1, resetsAt].map((at) => NUMBER_OF[budget.window](at))
    assert.deepEqual(around, [window.number, window.number + 1], 'the end of the window')
  }
  return budget.raises.some(({ endsAt }) => endsAt <= now) ? ['refused after a raise'] : []
}

/** Compares every window of the ledger with the model. */
export function checkBudgets({ budgets, windows }: BudgetModel): void {
  assert.equal(budgets.windows.size, windows.size, 'INV-14: nothing is left out')
  for (const [id, known] of budgets.windows) {
    const { level, window } = budgets.all.get(id) ?? assert.fail()
    const modelled = windows.get(id)
    assert.equal(modelled?.size, known.size, 'INV-14: nothing is left out')
    for (const { start, spent, held } of known.values()) {
      const expected = modelled?.get(NUMBER_OF[window](start))
      assert.ok(expected?.spent === spent && expected.held === held, `INV-6, INV-14: the ${window} of the ${level}`)
    }
  }
}
