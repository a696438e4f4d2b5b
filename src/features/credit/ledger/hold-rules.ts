/** What a request may hold: within the account's credit, its budget and its key's budget, all in one step. */
import { CREDIT_SCOPES, type CreditScope, MIN_FLEXIBLE_TOKENS } from '../../../domain/credit.ts'
import type { KeyBudget } from '../../../domain/identity/caller.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { chargeNanoUsd } from '../../../domain/price/price.ts'
import { monthStart } from '../../../lib/time.ts'
import { alertsOfRefusal, keyInMonth, type RolledOver, rollOverMonth } from './movements.ts'
import {
  ALREADY,
  type Applied,
  changed,
  type HoldState,
  heldAncestors,
  type KeyState,
  NOTHING,
  type Snapshot,
} from './state.ts'
import type { ExtendUnit, HoldUnit, PlanTerms, Refusal } from './unit.ts'

/** Everything that a hold must fit. */
interface Limits extends RolledOver {
  readonly terms: PlanTerms
  /** Undefined: the key has no budget, or none that counts here. */
  readonly keyBudget: NanoUsd | undefined
  readonly key: KeyState | undefined
  /** The same of the keys above it. */
  readonly ancestors: readonly Budgeted[] | undefined
  readonly now: number
}

/** `key` is undefined where the key has no budget that counts here. */
interface Budgeted {
  readonly budget: NanoUsd | undefined
  readonly key: KeyState | undefined
}

/**
 * A flexible request that does not fit is lowered to the largest answer that does, if that is at least
 * `MIN_FLEXIBLE_TOKENS`. What costs nothing always fits, whatever is owed.
 */
export function applyHold(unit: HoldUnit, snapshot: Snapshot, now: number): Applied {
  if (snapshot.hold !== undefined) return ALREADY
  const { account, rows } = rollOverMonth(snapshot.account, unit.terms, now)
  const keyBudget = unit.keyBudgetNanoUsd
  const key = keyBudget === undefined ? undefined : budgetedKey(snapshot, account.month)
  const ancestors = unit.ancestors && budgetsAbove(unit.ancestors, snapshot, account.month)
  const limits: Limits = { account, rows, terms: unit.terms, keyBudget, key, ancestors, now }
  const requested = worstCost(unit, unit.outputTokens)
  const scope = scopeTooSmall(requested, limits)
  if (scope === undefined)
    return held(newHold(unit, requested), { more: requested, outputTokens: unit.outputTokens }, limits)
  const affordable = affordableTokens(unit, limits)
  if (unit.flexible && affordable >= MIN_FLEXIBLE_TOKENS) {
    const amount = worstCost(unit, affordable)
    return held(newHold(unit, amount), { more: amount, outputTokens: affordable }, limits)
  }
  const least = worstCost(unit, Math.min(unit.outputTokens, MIN_FLEXIBLE_TOKENS))
  const outcome = refused({ scope, required: requested, least, affordable }, limits, snapshot)
  return unit.tentative ? { ...outcome, alerts: NOTHING.alerts } : outcome
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
  const limits: Limits = { account, rows, terms: unit.terms, keyBudget, key, ancestors, now }
  const raised: HoldState = { ...hold, amount: hold.amount + unit.nanoUsd }
  const scope = scopeTooSmall(unit.nanoUsd, limits)
  if (scope === undefined) return held(raised, { more: unit.nanoUsd, outputTokens: 0 }, limits)
  return refused({ scope, required: unit.nanoUsd, least: raised.amount, affordable: 0 }, limits, snapshot)
}

/** Of a key that holds, and whose budget was taken away meanwhile. */
const NO_LIMIT = 2n ** 62n

function newHold({ keyId, keyBudgetNanoUsd, ancestors }: HoldUnit, amount: NanoUsd): HoldState {
  const hold = { keyId, amount, ofKeyBudget: keyBudgetNanoUsd !== undefined }
  return ancestors === undefined ? hold : { ...hold, ancestors: heldAncestors(ancestors) }
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

/** What a request costs at most with so many tokens of each choice. */
export function worstCost(unit: HoldUnit, outputTokens: number): NanoUsd {
  const tokens = chargeNanoUsd(
    { prompt: unit.promptTokens, completion: outputTokens * unit.choices },
    { inputMicroUsd: unit.inputPrice, outputMicroUsd: unit.outputPrice },
  )
  return unit.fixedNanoUsd === 0 ? tokens : tokens + BigInt(unit.fixedNanoUsd)
}

/** What is left to hold, below zero where more was spent than held; undefined: no limit. */
function left(scope: CreditScope, { account, terms, keyBudget, key, ancestors }: Limits): NanoUsd | undefined {
  switch (scope) {
    case 'credit':
      return terms.billing === 'prepaid' ? account.balance - account.held : undefined
    case 'account_budget':
      return account.monthlyBudget === undefined ? undefined : account.monthlyBudget - account.spent - account.held
    case 'key_budget':
      return leastLeft({ budget: keyBudget, key }, ancestors)
  }
}

/** Of a key and those above it: what the tightest of their budgets has left. */
function leastLeft(own: Budgeted, ancestors: readonly Budgeted[] | undefined): NanoUsd | undefined {
  let least = leftOf(own)
  if (ancestors === undefined) return least
  for (const ancestor of ancestors) {
    const room = leftOf(ancestor)
    if (room !== undefined && (least === undefined || room < least)) least = room
  }
  return least
}

function leftOf({ budget, key }: Budgeted): NanoUsd | undefined {
  return budget === undefined || key === undefined ? undefined : budget - key.spent - key.held
}

function scopeTooSmall(amount: NanoUsd, limits: Limits): CreditScope | undefined {
  if (amount === 0n) return undefined
  for (const scope of CREDIT_SCOPES) {
    const room = left(scope, limits)
    if (room !== undefined && amount > room) return scope
  }
  return undefined
}

/** Of one choice: the most that fits all limits. For requests that do not fit. */
function affordableTokens(unit: HoldUnit, limits: Limits): number {
  let least: NanoUsd | undefined
  for (const scope of CREDIT_SCOPES) {
    const room = left(scope, limits)
    if (room !== undefined && (least === undefined || room < least)) least = room
  }
  return tokensWithin(unit, least ?? 0n)
}

/** Of one choice: the tokens that `room` pays for after the prompt and fees; 0 when it does not even pay for those. */
export function tokensWithin(unit: HoldUnit, room: NanoUsd): number {
  const pico = (room - BigInt(unit.fixedNanoUsd)) * 1000n - BigInt(unit.promptTokens) * BigInt(unit.inputPrice)
  const picoAToken = BigInt(unit.choices) * BigInt(unit.outputPrice)
  return pico < 0n || picoAToken === 0n ? 0 : Number(pico / picoAToken)
}

function held(
  hold: HoldState,
  { more, outputTokens }: { readonly more: NanoUsd; readonly outputTokens: number },
  { account, rows, key, ancestors }: Limits,
): Applied {
  return {
    ...NOTHING,
    account: { ...account, held: account.held + more },
    key: key === undefined ? undefined : { ...key, held: key.held + more },
    ancestors: ancestors?.map(({ key: above }) => above && { ...above, held: above.held + more }),
    hold,
    rows,
    outcome: { kind: 'held', nanoUsd: hold.amount, outputTokens },
  }
}

interface Shortfall {
  readonly scope: CreditScope
  readonly required: NanoUsd
  /** What the least useful answer would cost. */
  readonly least: NanoUsd
  readonly affordable: number
}

/** Nothing is held; what the month brought stays. */
function refused(shortfall: Shortfall, limits: Limits, snapshot: Snapshot): Applied {
  const { account, rows, now } = limits
  const outcome: Refusal = {
    kind: 'refused',
    scope: shortfall.scope,
    requiredNanoUsd: shortfall.required,
    availableNanoUsd: left(shortfall.scope, limits) ?? 0n,
    affordableTokens: shortfall.affordable,
    resetsAt: shortfall.scope === 'credit' ? undefined : monthStart(account.month + 1),
  }
  const alerts = alertsOfRefusal(shortfall, account, now)
  return { ...NOTHING, account: changed(account, snapshot), rows, alerts, outcome }
}
