/** What a request may hold: within the account's credit, its budget and its key's budget, all in one step. */
import { CREDIT_SCOPES, type CreditScope, MIN_FLEXIBLE_TOKENS } from '../../domain/credit.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { chargeNanoUsd } from '../../domain/price.ts'
import { monthStart } from '../../lib/months.ts'
import { alertsOfRefusal } from './alert-rules.ts'
import { ALREADY, changed, NOTHING } from './applied.ts'
import { keyInMonth, type Turned, turnMonth } from './month-turn.ts'
import type { Applied, HoldState, KeyState, World } from './rules.ts'
import type { ExtendUnit, HoldUnit, PlanTerms, Refusal } from './unit.ts'

/** Everything that a hold must fit. */
interface Standing extends Turned {
  readonly terms: PlanTerms
  /** Undefined: the key has no budget, or none that counts here. */
  readonly keyBudget: NanoUsd | undefined
  readonly key: KeyState | undefined
  readonly now: number
}

/**
 * A flexible request that does not fit is lowered to the largest answer that does, if that is at least
 * `MIN_FLEXIBLE_TOKENS`. What costs nothing always fits, whatever is owed.
 */
export function applyHold(unit: HoldUnit, world: World, now: number): Applied {
  if (world.hold !== undefined) return ALREADY
  const { account, rows } = turnMonth(world.account, unit.terms, now)
  const keyBudget = unit.keyBudgetNanoUsd
  const key = keyBudget === undefined ? undefined : budgetedKey(world, account.month)
  const standing: Standing = { account, rows, terms: unit.terms, keyBudget, key, now }
  const asked = worstCost(unit, unit.outputTokens)
  const scope = scopeTooSmall(asked, standing)
  if (scope === undefined) return held(newHold(unit, asked), { more: asked, outputTokens: unit.outputTokens }, standing)
  const affordable = affordableTokens(unit, standing)
  if (unit.flexible && affordable >= MIN_FLEXIBLE_TOKENS) {
    const amount = worstCost(unit, affordable)
    return held(newHold(unit, amount), { more: amount, outputTokens: affordable }, standing)
  }
  const least = worstCost(unit, Math.min(unit.outputTokens, MIN_FLEXIBLE_TOKENS))
  const outcome = refused({ scope, required: asked, least, affordable }, standing, world)
  return unit.tentative ? { ...outcome, alerts: NOTHING.alerts } : outcome
}

/** Raises an open hold. A budget that the key was given after the hold was made does not count for it. */
export function applyExtend(unit: ExtendUnit, world: World, now: number): Applied {
  const { hold } = world
  if (hold === undefined) return ALREADY
  const { account, rows } = turnMonth(world.account, unit.terms, now)
  const key = hold.ofKeyBudget ? budgetedKey(world, account.month) : undefined
  const keyBudget = key === undefined ? undefined : unit.keyBudgetNanoUsd
  const standing: Standing = { account, rows, terms: unit.terms, keyBudget, key, now }
  const raised: HoldState = { ...hold, amount: hold.amount + unit.nanoUsd }
  const scope = scopeTooSmall(unit.nanoUsd, standing)
  if (scope === undefined) return held(raised, { more: unit.nanoUsd, outputTokens: 0 }, standing)
  return refused({ scope, required: unit.nanoUsd, least: raised.amount, affordable: 0 }, standing, world)
}

function newHold({ keyId, keyBudgetNanoUsd }: HoldUnit, amount: NanoUsd): HoldState {
  return { keyId, amount, ofKeyBudget: keyBudgetNanoUsd !== undefined }
}

function budgetedKey({ key, keySpentBefore }: World, month: number): KeyState {
  return key === undefined ? { month, spent: keySpentBefore, held: 0n } : keyInMonth(key, month)
}

/** Prices in micro-dollars per million tokens. */
function worstCost(unit: HoldUnit, outputTokens: number): NanoUsd {
  const tokens = chargeNanoUsd(
    { prompt: unit.promptTokens, completion: outputTokens * unit.choices },
    { inputMicroUsd: unit.inputPrice, outputMicroUsd: unit.outputPrice },
  )
  return unit.fixedNanoUsd === 0 ? tokens : tokens + BigInt(unit.fixedNanoUsd)
}

/** What is left to hold, below zero where more was spent than held; undefined: no limit. */
function left(scope: CreditScope, { account, terms, keyBudget, key }: Standing): NanoUsd | undefined {
  switch (scope) {
    case 'credit':
      return terms.billing === 'prepaid' ? account.balance - account.held : undefined
    case 'account_budget':
      return account.monthlyBudget === undefined ? undefined : account.monthlyBudget - account.spent - account.held
    case 'key_budget':
      return keyBudget === undefined || key === undefined ? undefined : keyBudget - key.spent - key.held
  }
}

function scopeTooSmall(amount: NanoUsd, standing: Standing): CreditScope | undefined {
  if (amount === 0n) return undefined
  for (const scope of CREDIT_SCOPES) {
    const room = left(scope, standing)
    if (room !== undefined && amount > room) return scope
  }
  return undefined
}

/** Of one choice: the most that fits all limits, 0 when the prompt alone does not. For requests that do not fit. */
function affordableTokens(unit: HoldUnit, standing: Standing): number {
  let least: NanoUsd | undefined
  for (const scope of CREDIT_SCOPES) {
    const room = left(scope, standing)
    if (room !== undefined && (least === undefined || room < least)) least = room
  }
  const room = (least ?? 0n) - BigInt(unit.fixedNanoUsd)
  const pico = room * 1000n - BigInt(unit.promptTokens) * BigInt(unit.inputPrice)
  const picoAToken = BigInt(unit.choices) * BigInt(unit.outputPrice)
  return pico < 0n || picoAToken === 0n ? 0 : Number(pico / picoAToken)
}

function held(
  hold: HoldState,
  { more, outputTokens }: { readonly more: NanoUsd; readonly outputTokens: number },
  { account, rows, key }: Standing,
): Applied {
  return {
    ...NOTHING,
    account: { ...account, held: account.held + more },
    key: key === undefined ? undefined : { ...key, held: key.held + more },
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
function refused(shortfall: Shortfall, standing: Standing, world: World): Applied {
  const { account, rows, now } = standing
  const outcome: Refusal = {
    kind: 'refused',
    scope: shortfall.scope,
    requiredNanoUsd: shortfall.required,
    availableNanoUsd: left(shortfall.scope, standing) ?? 0n,
    affordableTokens: shortfall.affordable,
    resetsAt: shortfall.scope === 'credit' ? undefined : monthStart(account.month + 1),
  }
  const alerts = alertsOfRefusal(shortfall, account, now)
  return { ...NOTHING, account: changed(account, world), rows, alerts, outcome }
}
