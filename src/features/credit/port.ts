/**
 * The credit port of everything that calls providers: holds and settlements go through the group commit, and each step is
 * written to the spool at the moment from which it must survive this process.
 */
import { isDatabaseUnavailable } from '../../db/failure.ts'
import type { Attribution } from '../../domain/attribution.ts'
import type { BudgetSubject, BudgetWindow } from '../../domain/budget.ts'
import {
  type CreditPort,
  type Hold,
  type HoldRequest,
  MIN_FLEXIBLE_TOKENS,
  type RefusalScope,
} from '../../domain/credit.ts'
import { type ErrorCode, GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import { type NanoUsd, usdNumber, usdText } from '../../domain/money.ts'
import { invariant, reach } from '../../lib/crash-point.ts'
import type { Committer } from './commit/committer.ts'
import { tokensWithin, worstCost } from './ledger/hold-rules.ts'
import {
  type ExtendUnit,
  type HoldUnit,
  type Outcome,
  type PlanTerms,
  type Refusal,
  type SettleUnit,
  unusedRecord,
} from './ledger/unit.ts'
import type { Spool, SpooledHold } from './spool/spool.ts'

const RETRY_AFTER_MS = 1_000

export interface CreditPortInput {
  readonly committer: Committer
  readonly spool: Spool
  /** Terms of a plan by its name; asked for with every request. */
  readonly terms: (plan: string) => PlanTerms
  readonly instanceId: string
  /** See `InstanceLease.ensure`; undefined: the lease is not verified. */
  readonly ensureLease?: () => Promise<boolean> | boolean
  /** The exposure of each account while the database is unavailable; 0 admits nothing. */
  readonly exposureNanoUsd: () => NanoUsd
  readonly log: { error(fields: object, message: string): void }
}

/** A hold with the state that its settlement needs. All have the same shape, since each request has one. */
interface HoldInFlight extends Hold, SpooledHold {
  readonly unit: HoldUnit
  /** Whether it was settled or released. */
  resolved: boolean
}

interface PortState extends CreditPortInput {
  readonly exposure: Exposure
  /** Requests being admitted or in flight, not settled. */
  running: number
}

export function createCreditPort(input: CreditPortInput): CreditPort {
  const { committer, spool, exposureNanoUsd } = input
  const state: PortState = { ...input, exposure: createExposure(exposureNanoUsd), running: 0 }
  committer.onAvailability((available) => {
    if (!available) spool.sync()
  })
  return {
    hold: (request) => hold(state, request),
    dispatched: (held) => spool.dispatched(inFlight(held)),
    extend: (held, nanoUsd) =>
      held.unrecorded ? extendUnrecorded(state, held, nanoUsd) : extend(state, held, nanoUsd),
    release: (held) => release(state, inFlight(held)),
    settle(held, record, kept) {
      const open = inFlight(held)
      const { unit, unrecorded, amountNanoUsd } = open
      const promisedNanoUsd = unrecorded ? amountNanoUsd : undefined
      return settle(state, open, { kind: 'settle', record, terms: unit.terms, unrecorded, promisedNanoUsd, kept })
    },
  }
}

function inFlight(held: Hold): HoldInFlight {
  return held as HoldInFlight // callers only pass holds that this port has made
}

async function hold(state: PortState, request: HoldRequest): Promise<Hold> {
  if (!state.spool.room(state.running)) throw unavailable('Charges cannot be recorded; retry after 1 s.')
  const unit = holdUnit(request, state.terms(request.caller.plan), state.instanceId)
  state.running += 1
  let held: HoldInFlight | undefined
  try {
    held = await holdRecorded(state, request, unit)
  } finally {
    if (held === undefined) state.running -= 1
  }
  return held
}

async function holdRecorded(state: PortState, request: HoldRequest, unit: HoldUnit): Promise<HoldInFlight> {
  let outcome: Outcome
  try {
    const leased = state.ensureLease?.() ?? true
    // Other processes may sweep holds as soon as this process's lease has lapsed.
    if (leased !== true && state.committer.available() && !(await leased))
      throw unavailable('The lease of this process could not be renewed.')
    outcome = await state.committer.hold(unit)
  } catch (error) {
    if (!isDatabaseUnavailable(error) || state.exposureNanoUsd() <= 0n) throw error
    return holdUnrecorded(state, unit, error)
  }
  if (outcome.kind === 'held') {
    const { nanoUsd, outputTokens } = outcome
    return openHold({ unit, nanoUsd, outputTokens, unrecorded: false })
  }
  if (outcome.kind === 'refused') throw paymentRequired(outcome)
  state.log.error({ id: request.id, trace_id: request.traceId, outcome }, 'a hold was refused by the database')
  throw new GatewayError('internal_error', 'The cost of this request could not be reserved.')
}

/** @param cause The database is unavailable. */
async function holdUnrecorded(state: PortState, unit: HoldUnit, cause: unknown): Promise<HoldInFlight> {
  const { spool, exposure } = state
  const { accountId } = unit
  const fit = fitExposure(unit, exposure.left(accountId))
  if (fit === undefined) throw cause
  const held = openHold({ unit, ...fit, unrecorded: true })
  exposure.add(accountId, fit.nanoUsd)
  try {
    await spool.intent(held, intentUnit(unit))
    return held
  } catch {
    exposure.add(accountId, -fit.nanoUsd)
    spool.released(held)
    throw cause
  }
}

async function extend({ committer }: PortState, held: Hold, nanoUsd: NanoUsd): Promise<boolean> {
  const { accountId, id, terms, keyBudgetNanoUsd, ancestors } = inFlight(held).unit
  const unit: ExtendUnit = { kind: 'extend', accountId, id, terms, keyBudgetNanoUsd, ancestors, nanoUsd }
  try {
    const outcome = await committer.extend(unit)
    if (outcome.kind !== 'held') return false
    held.amountNanoUsd = outcome.nanoUsd
    return true
  } catch (error) {
    if (error instanceof GatewayError) return false
    throw error
  }
}

function extendUnrecorded({ exposure }: PortState, held: Hold, nanoUsd: NanoUsd): Promise<boolean> {
  if (nanoUsd > exposure.left(held.accountId)) return Promise.resolve(false)
  exposure.add(held.accountId, nanoUsd)
  held.amountNanoUsd += nanoUsd
  return Promise.resolve(true)
}

function release(state: PortState, held: HoldInFlight): void {
  resolve(state, held)
  state.spool.released(held)
  if (held.unrecorded) state.exposure.add(held.accountId, -held.amountNanoUsd)
  else state.committer.release(held.unit)
}

function settle(state: PortState, held: HoldInFlight, unit: SettleUnit): Promise<void> {
  const { spool, committer } = state
  reach('before_settle')
  resolve(state, held)
  const entry = spool.settled(unit)
  reach('in_settle')
  const committed = committer.settle(unit)
  spool.follow(committed, entry, held)
  if (held.unrecorded) settleExposure(state, { held, unit, committed })
  if (!committer.available()) spool.sync()
  return committed
}

/** The ledger ignores a second settlement; a process that attempts one has lost track of its holds. */
function resolve(state: PortState, held: HoldInFlight): void {
  invariant(!held.resolved, `The hold of ${held.id} was resolved twice.`)
  held.resolved = true
  state.running -= 1
  invariant(state.running >= 0, 'More requests were settled than were admitted.')
}

/** The cost replaces the hold in the exposure until the database has committed it. */
function settleExposure(
  { exposure }: PortState,
  end: { readonly held: HoldInFlight; readonly unit: SettleUnit; readonly committed: Promise<void> },
): void {
  const { accountId, amountNanoUsd } = end.held
  const { costNanoUsd } = end.unit.record
  exposure.add(accountId, costNanoUsd - amountNanoUsd)
  void end.committed.then(() => exposure.add(accountId, -costNanoUsd))
}

function holdUnit(request: HoldRequest, terms: PlanTerms, instanceId: string): HoldUnit {
  const { caller, rates } = request
  return {
    kind: 'hold',
    accountId: caller.accountId,
    keyId: caller.keyId,
    id: request.id,
    terms,
    keyBudgetNanoUsd: caller.monthlyBudgetNanoUsd,
    ancestors: caller.ancestors,
    instanceId,
    promptTokens: request.promptTokens,
    outputTokens: request.outputTokens,
    choices: request.choices,
    flexible: request.flexible,
    tentative: request.tentative === true,
    inputPrice: rates.inputMicroUsd,
    outputPrice: rates.outputMicroUsd,
    fixedNanoUsd: rates.fixedNanoUsd,
    model: request.model,
    provider: request.provider,
    stream: request.stream,
    priceVersion: request.priceVersion,
    createdAt: request.createdAt,
    clientRequestId: request.clientRequestId,
    byokFeePpm: request.byokFeePpm,
    api: request.api,
    teamId: caller.teamId,
    subjects: request.subjects ?? tagSubjects(request.attribution),
    attribution: request.attribution,
    requestId: request.requestId,
  }
}

/** The subjects of tag budgets. */
function tagSubjects(attribution: Attribution | undefined): readonly BudgetSubject[] | undefined {
  if (attribution === undefined || attribution.tags.length === 0) return undefined
  return attribution.tags.map((id) => ({ level: 'tag', id }))
}

interface Granted {
  readonly unit: HoldUnit
  readonly nanoUsd: NanoUsd
  readonly outputTokens: number
  readonly unrecorded: boolean
}

function openHold({ unit, nanoUsd, outputTokens, unrecorded }: Granted): HoldInFlight {
  const { id, accountId, keyId } = unit
  return {
    id,
    accountId,
    keyId,
    outputTokens,
    amountNanoUsd: nanoUsd,
    unrecorded,
    unit,
    dispatchedAt: undefined,
    intentAt: undefined,
    resolved: false,
  }
}

function unavailable(message: string): GatewayError {
  return new GatewayError('database_unavailable', message, { retryAfterMs: RETRY_AFTER_MS })
}

const CODES: Readonly<Record<RefusalScope, ErrorCode>> = {
  credit: 'insufficient_credit',
  account_budget: 'account_budget_exceeded',
  team_budget: 'team_budget_exceeded',
  member_budget: 'member_budget_exceeded',
  key_budget: 'key_budget_exceeded',
  tag_budget: 'tag_budget_exceeded',
}
const OWNERS: Readonly<Record<RefusalScope, string>> = {
  credit: "the account's credit",
  account_budget: "the account's",
  team_budget: "the team's",
  member_budget: "the member's",
  key_budget: "the API key's",
  tag_budget: "the tag's",
}
const WINDOW_NAMES: Readonly<Record<BudgetWindow, string>> = {
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
  quarter: 'quarterly',
  total: 'total',
}

/** Budgets of accounts and keys without a row in `budget` are monthly. */
function nameOfLimit({ scope, limitNanoUsd: limit, budget }: Refusal): string {
  if (limit === undefined) return OWNERS[scope]
  return `${OWNERS[scope]} ${WINDOW_NAMES[budget?.window ?? 'month']} budget of $${usdText(limit)}`
}

function paymentRequired(refusal: Refusal): GatewayError {
  const { scope, requiredNanoUsd: required, availableNanoUsd: available, affordableTokens: affordable } = refusal
  const resetsAt = refusal.resetsAt === undefined ? undefined : new Date(refusal.resetsAt).toISOString()
  const leftText = usdText(available > 0n ? available : 0n)
  const sentences = [
    `This request may cost up to $${usdText(required)}, and $${leftText} of ${nameOfLimit(refusal)} is left.`,
    affordable > 0 ? `It would fit with max_tokens of at most ${affordable}.` : '',
    whatToDo(refusal, resetsAt),
  ]
  return new GatewayError(CODES[scope], sentences.filter((sentence) => sentence !== '').join(' '), {
    details: {
      required_usd: usdNumber(required),
      available_usd: usdNumber(available),
      affordable_max_tokens: affordable,
      ...budgetDetails(refusal),
      ...(resetsAt === undefined ? {} : { resets_at: resetsAt }),
    },
  })
}

function whatToDo({ limitNanoUsd: limit }: Refusal, resetsAt: string | undefined): string {
  if (limit === undefined) return 'Add credit to continue.'
  return resetsAt === undefined ? 'Raise the budget to continue.' : `The budget resets at ${resetsAt}.`
}

/** Describes the budget; empty for credit. */
function budgetDetails({ scope, limitNanoUsd: limit, budget }: Refusal) {
  if (limit === undefined) return {}
  const level = budget?.level ?? (scope === 'account_budget' ? 'account' : 'key')
  const named = { level, window: budget?.window ?? 'month', limit_usd: usdNumber(limit) }
  return budget === undefined ? named : { ...named, budget_id: budget.id }
}

/*
 * Admission while the database is unavailable, if the operator allows it: the exposure of each account is limited, since
 * its credit cannot be checked. Holds are written to the spool first, and charged when the database is back.
 */

interface Exposure {
  /** Returns the remaining exposure of an account. */
  left(accountId: AccountId): NanoUsd
  /** @param nanoUsd The amount admitted or charged; negative when it is no longer outstanding. */
  add(accountId: AccountId, nanoUsd: NanoUsd): void
}

/** Counts the amount of each account that is held or charged and not in the database. @param limit Of each account. */
function createExposure(limit: () => NanoUsd): Exposure {
  const outstanding = new Map<AccountId, NanoUsd>() // only accounts that have any
  return {
    left: (accountId) => limit() - (outstanding.get(accountId) ?? 0n),
    add(accountId, nanoUsd) {
      const sum = (outstanding.get(accountId) ?? 0n) + nanoUsd
      if (sum === 0n) outstanding.delete(accountId)
      else outstanding.set(accountId, sum)
    },
  }
}

/**
 * Returns the part of a request that fits, by the rule of the ledger: a flexible request is lowered to the exposure left.
 * @returns Output tokens of one choice and their maximum cost; undefined if it does not fit.
 */
function fitExposure(
  unit: HoldUnit,
  left: NanoUsd,
): { readonly outputTokens: number; readonly nanoUsd: NanoUsd } | undefined {
  const asked = worstCost(unit, unit.outputTokens)
  if (asked <= left) return { outputTokens: unit.outputTokens, nanoUsd: asked }
  const outputTokens = tokensWithin(unit, left)
  if (!unit.flexible || outputTokens < MIN_FLEXIBLE_TOKENS) return undefined
  return { outputTokens, nanoUsd: worstCost(unit, outputTokens) }
}

/** The estimate to charge if this process dies: the prompt, as for every hold. */
function intentUnit(unit: HoldUnit): SettleUnit {
  const { terms, promptTokens } = unit
  const record = { ...unusedRecord(unit), promptTokens, costNanoUsd: worstCost(unit, 0) }
  return { kind: 'settle', record, terms, unrecorded: true, provisional: true, kept: undefined }
}
