/**
 * Decides what a request may hold within the account's credit and the budgets of all levels, in one step, and how
 * budgets move.
 */
import { CREDIT_SCOPES, type CreditScope, MIN_FLEXIBLE_TOKENS, type RefusalScope } from '../../../domain/credit.ts'
import type { KeyBudget } from '../../../domain/identity/caller.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { chargeNanoUsd } from '../../../domain/price/price.ts'
import { monthStart } from '../../../lib/time.ts'
import { alertsOfRefusal, keyInMonth, type RolledOver, rollOverMonth } from './movements.ts'
import {
  ALREADY,
  type Applied,
  type BudgetAlertRow,
  type BudgetState,
  changed,
  type HoldState,
  heldAncestors,
  type KeyState,
  NOTHING,
  type Snapshot,
} from './state.ts'
import type { ExtendUnit, HoldUnit, PlanTerms, Refusal } from './unit.ts'

/** All limits that a hold must fit. */
interface Limits extends RolledOver {
  readonly terms: PlanTerms
  /** Undefined if the key has no budget that applies. */
  readonly keyBudget: NanoUsd | undefined
  readonly key: KeyState | undefined
  /** The same for the ancestors of the key. */
  readonly ancestors: readonly Budgeted[] | undefined
  readonly budgets: readonly BudgetState[] | undefined
  readonly now: number
}

/** `key` is undefined if the key has no budget that applies. */
interface Budgeted {
  readonly budget: NanoUsd | undefined
  readonly key: KeyState | undefined
}

/**
 * Lowers a flexible request that does not fit to the largest answer that does, if that is at least
 * `MIN_FLEXIBLE_TOKENS`. A free request always fits, even with a negative balance.
 */
export function applyHold(unit: HoldUnit, snapshot: Snapshot, now: number): Applied {
  if (snapshot.hold !== undefined) return ALREADY
  const { account, rows } = rollOverMonth(snapshot.account, unit.terms, now)
  const keyBudget = unit.keyBudgetNanoUsd
  const key = keyBudget === undefined ? undefined : budgetedKey(snapshot, account.month)
  const ancestors = unit.ancestors && budgetsAbove(unit.ancestors, snapshot, account.month)
  const { budgets } = snapshot
  const limits: Limits = { account, rows, terms: unit.terms, keyBudget, key, ancestors, budgets, now }
  const requested = worstCost(unit, unit.outputTokens)
  const tooSmall = limitTooSmall(requested, limits)
  if (tooSmall === undefined)
    return held(newHold(unit, requested, budgets), { more: requested, outputTokens: unit.outputTokens }, limits)
  const affordable = affordableTokens(unit, limits)
  if (unit.flexible && affordable >= MIN_FLEXIBLE_TOKENS) {
    const amount = worstCost(unit, affordable)
    return held(newHold(unit, amount, budgets), { more: amount, outputTokens: affordable }, limits)
  }
  const least = worstCost(unit, Math.min(unit.outputTokens, MIN_FLEXIBLE_TOKENS))
  const outcome = refused({ tooSmall, required: requested, least, affordable }, limits, snapshot)
  return unit.tentative ? { ...outcome, alerts: NOTHING.alerts, budgetAlerts: [] } : outcome
}

/** Raises an open hold. A budget that the key was given after the hold was made does not count for it. */
export function applyExtend(unit: ExtendUnit, snapshot: Snapshot, now: number): Applied {
  const { hold } = snapshot
  if (hold === undefined) return ALREADY
  const { account, rows } = rollOverMonth(snapshot.account, unit.terms, now)
  const key = hold.ofKeyBudget ? budgetedKey(snapshot, account.month) : undefined
  const keyBudget = key === undefined ? undefined : unit.keyBudgetNanoUsd
  const above = hold.ancestors?.map(({ keyId, ofBudget }): KeyBudget => {
    const budget = unit.ancestors?.find((one) => one.keyId === keyId)
    return { keyId, nanoUsd: ofBudget ? (budget?.nanoUsd ?? NO_LIMIT) : undefined }
  })
  const ancestors = above && budgetsAbove(above, snapshot, account.month)
  const { budgets } = snapshot
  const limits: Limits = { account, rows, terms: unit.terms, keyBudget, key, ancestors, budgets, now }
  const raised: HoldState = { ...hold, amount: hold.amount + unit.nanoUsd }
  const tooSmall = limitTooSmall(unit.nanoUsd, limits)
  if (tooSmall === undefined) return held(raised, { more: unit.nanoUsd, outputTokens: 0 }, limits)
  return refused({ tooSmall, required: unit.nanoUsd, least: raised.amount, affordable: 0 }, limits, snapshot)
}

/** Returns the state of a key whose budget was removed while it had holds. */
const NO_LIMIT = 2n ** 62n

function newHold(
  { keyId, keyBudgetNanoUsd, ancestors }: HoldUnit,
  amount: NanoUsd,
  budgets: readonly BudgetState[] | undefined,
): HoldState {
  const own = { keyId, amount, ofKeyBudget: keyBudgetNanoUsd !== undefined }
  const hold = ancestors === undefined ? own : { ...own, ancestors: heldAncestors(ancestors) }
  if (budgets === undefined) return hold
  return { ...hold, budgets: budgets.map(({ budgetId, start }) => ({ budgetId, start })) }
}

function budgetedKey({ key, keySpentBefore }: Pick<Snapshot, 'key' | 'keySpentBefore'>, month: number): KeyState {
  return key === undefined ? { month, spent: keySpentBefore, held: 0n } : keyInMonth(key, month)
}

function budgetsAbove(above: readonly KeyBudget[], { ancestors }: Snapshot, month: number): readonly Budgeted[] {
  return above.map(({ nanoUsd: budget }, at) => {
    if (budget === undefined) return { budget, key: undefined }
    const { state: key, spentBefore: keySpentBefore = 0n } = ancestors?.[at] ?? {}
    return { budget, key: budgetedKey({ key, keySpentBefore }, month) }
  })
}

/** Returns the maximum cost of a request with the given output tokens of each choice. */
export function worstCost(unit: HoldUnit, outputTokens: number): NanoUsd {
  const tokens = chargeNanoUsd(
    { prompt: unit.promptTokens, completion: outputTokens * unit.choices },
    { inputMicroUsd: unit.inputPrice, outputMicroUsd: unit.outputPrice },
  )
  return unit.fixedNanoUsd === 0 ? tokens : tokens + BigInt(unit.fixedNanoUsd)
}

/** Returns the amount left to hold, negative if more was spent than held; undefined without a limit. */
function left(scope: CreditScope, { account, terms, keyBudget, key, ancestors }: Limits): NanoUsd | undefined {
  switch (scope) {
    case 'credit':
      return terms.billing === 'prepaid' ? account.balance - account.held : undefined
    case 'account_budget':
      return account.monthlyBudget === undefined ? undefined : account.monthlyBudget - account.spent - account.held
    case 'key_budget':
      return tightestOf({ budget: keyBudget, key }, ancestors)?.left
  }
}

interface KeyRoom {
  readonly left: NanoUsd
  readonly limit: NanoUsd
}

/** Returns the budget of a key or its ancestors that has the least left. */
function tightestOf(own: Budgeted, ancestors: readonly Budgeted[] | undefined): KeyRoom | undefined {
  let least = roomOf(own)
  if (ancestors === undefined) return least
  for (const ancestor of ancestors) {
    const room = roomOf(ancestor)
    if (room !== undefined && (least === undefined || room.left < least.left)) least = room
  }
  return least
}

function roomOf({ budget, key }: Budgeted): KeyRoom | undefined {
  return budget === undefined || key === undefined ? undefined : { left: budget - key.spent - key.held, limit: budget }
}

function leftOfBudget({ action, limit, spent, held }: BudgetState): NanoUsd | undefined {
  return limit === undefined || action === 'warn' ? undefined : limit - spent - held
}

/** A limit that an amount exceeds. */
interface TooSmall {
  readonly scope: RefusalScope
  readonly left: NanoUsd
  /** Undefined for credit and for the monthly budget of an account or key. */
  readonly budget: BudgetState | undefined
}

/** Returns the first limit, by scope and level, that an amount exceeds. */
function limitTooSmall(amount: NanoUsd, limits: Limits): TooSmall | undefined {
  if (amount === 0n) return undefined
  for (const scope of CREDIT_SCOPES) {
    const room = left(scope, limits)
    if (room !== undefined && amount > room) return { scope, left: room, budget: undefined }
  }
  if (limits.budgets === undefined) return undefined
  for (const budget of limits.budgets) {
    const room = leftOfBudget(budget)
    if (room !== undefined && amount > room) return { scope: `${budget.level}_budget`, left: room, budget }
  }
  return undefined
}

/** Returns when the exhausted budget resets; undefined for credit. */
function limitOf({ scope, budget }: TooSmall, limits: Limits): NanoUsd | undefined {
  if (budget !== undefined) return budget.limit
  if (scope === 'account_budget') return limits.account.monthlyBudget
  if (scope === 'credit') return undefined
  return tightestOf({ budget: limits.keyBudget, key: limits.key }, limits.ancestors)?.limit
}

/** Returns the most output tokens of one choice that fit all limits, for requests that do not fit. */
function affordableTokens(unit: HoldUnit, limits: Limits): number {
  let least: NanoUsd | undefined
  const narrow = (room: NanoUsd | undefined): void => {
    if (room !== undefined && (least === undefined || room < least)) least = room
  }
  for (const scope of CREDIT_SCOPES) narrow(left(scope, limits))
  for (const budget of limits.budgets ?? []) narrow(leftOfBudget(budget))
  return tokensWithin(unit, least ?? 0n)
}

/** Returns the output tokens of one choice that `room` covers after prompt and fees; 0 if it does not cover those. */
export function tokensWithin(unit: HoldUnit, room: NanoUsd): number {
  const pico = (room - BigInt(unit.fixedNanoUsd)) * 1000n - BigInt(unit.promptTokens) * BigInt(unit.inputPrice)
  const picoAToken = BigInt(unit.choices) * BigInt(unit.outputPrice)
  return pico < 0n || picoAToken === 0n ? 0 : Number(pico / picoAToken)
}

function held(
  hold: HoldState,
  { more, outputTokens }: { readonly more: NanoUsd; readonly outputTokens: number },
  { account, rows, key, ancestors, budgets }: Limits,
): Applied {
  return {
    ...NOTHING,
    account: { ...account, held: account.held + more },
    key: key === undefined ? undefined : { ...key, held: key.held + more },
    ancestors: ancestors?.map(({ key: above }) => above && { ...above, held: above.held + more }),
    budgets: budgets?.map((budget) => ({ ...budget, held: budget.held + more })),
    hold,
    rows,
    outcome: { kind: 'held', nanoUsd: hold.amount, outputTokens },
  }
}

interface Shortfall {
  readonly tooSmall: TooSmall
  readonly required: NanoUsd
  /** The cost of the shortest useful answer. */
  readonly least: NanoUsd
  readonly affordable: number
}

/** Returns the state without a hold, but with the changes of a new month. */
function refused({ tooSmall, required, least, affordable }: Shortfall, limits: Limits, snapshot: Snapshot): Applied {
  const { account, rows, now } = limits
  const { scope, budget } = tooSmall
  const outcome: Refusal = {
    kind: 'refused',
    scope,
    limitNanoUsd: limitOf(tooSmall, limits),
    requiredNanoUsd: required,
    availableNanoUsd: tooSmall.left,
    affordableTokens: affordable,
    resetsAt: budget === undefined ? monthlyReset(scope, account.month) : budget.end,
    budget: budget && { id: budget.budgetId, level: budget.level, window: budget.window },
  }
  const refusal = { ...NOTHING, account: changed(account, snapshot), rows, outcome }
  if (budget === undefined) return { ...refusal, alerts: alertsOfRefusal({ scope, least }, account, now) }
  return { ...refusal, budgetAlerts: budgetAlertsOfRefusal(budget, { least, thresholds: account.thresholds, now }) }
}

function monthlyReset(scope: RefusalScope, month: number): number | undefined {
  return scope === 'credit' ? undefined : monthStart(month + 1)
}

/* How budgets move with holds and charges, and the alerts that they raise. */

const NO_ALERTS: readonly BudgetAlertRow[] = []
const USED_UP = 100

/** Returns the windows after a charge and the end of its hold, if there was one. */
export function chargedBudgets(
  budgets: readonly BudgetState[] | undefined,
  { cost, held }: { readonly cost: NanoUsd; readonly held: NanoUsd },
): readonly BudgetState[] | undefined {
  if (cost === 0n && held === 0n) return undefined
  return budgets?.map((budget) => ({ ...budget, spent: budget.spent + cost, held: budget.held - held }))
}

interface AlertTerms {
  /** Percentages, ascending. */
  readonly thresholds: readonly number[]
  readonly now: number
}

/** Returns the thresholds that charges have reached. */
export function budgetAlertsOfCharge(
  before: readonly BudgetState[] | undefined,
  after: readonly BudgetState[] | undefined,
  terms: AlertTerms,
): readonly BudgetAlertRow[] {
  if (before === undefined || after === undefined) return NO_ALERTS
  return after.flatMap((budget, at) => thresholdsReached(before[at]?.spent ?? 0n, budget, terms))
}

/** Returns the thresholds that spending has reached already when they or the limit are set: no later charge does. */
export function budgetAlertsOfSettings(budget: AlertedBudget, terms: AlertTerms): readonly BudgetAlertRow[] {
  return thresholdsReached(0n, budget, terms)
}

type AlertedBudget = Pick<BudgetState, 'budgetId' | 'start' | 'limit' | 'spent'>

function thresholdsReached(
  spentBefore: NanoUsd,
  budget: AlertedBudget,
  { thresholds, now }: AlertTerms,
): readonly BudgetAlertRow[] {
  const { limit, spent } = budget
  if (limit === undefined || spent <= spentBefore) return NO_ALERTS
  const reached = thresholds.filter((threshold) => {
    const reachedAt = BigInt(threshold) * limit
    return spentBefore * 100n < reachedAt && spent * 100n >= reachedAt
  })
  return reached.map((threshold) => alertOf(budget, { threshold, limit, now }))
}

/** Holds stop short of the limit, so a rejected hold, not a charge, usually reveals that a budget is exhausted. */
function budgetAlertsOfRefusal(
  budget: BudgetState,
  { least, thresholds, now }: AlertTerms & { readonly least: NanoUsd },
): readonly BudgetAlertRow[] {
  const { limit = 0n, spent } = budget
  if (limit <= 0n || least <= limit - spent || !thresholds.includes(USED_UP)) return NO_ALERTS
  return [alertOf(budget, { threshold: USED_UP, limit, now })]
}

function alertOf(
  { budgetId, start, spent }: AlertedBudget,
  { threshold, limit, now }: { readonly threshold: number; readonly limit: NanoUsd; readonly now: number },
): BudgetAlertRow {
  return { budgetId, start, threshold, spent, limit, createdAt: now }
}
