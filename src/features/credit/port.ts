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
import type { KeyBudget } from '../../domain/identity/caller.ts'
import type { AccountId } from '../../domain/ids.ts'
import { type NanoUsd, usdNumber, usdText } from '../../domain/money.ts'
import { invariant, reach } from '../../lib/crash-point.ts'
import type { Committer } from './commit/committer.ts'
import { tokensWithin, worstCost } from './ledger/hold-rules.ts'
import {
  ESTIMATED,
  type ExtendUnit,
  type HoldUnit,
  type Outcome,
  type PlanTerms,
  type Refusal,
  type SettleUnit,
} from './ledger/unit.ts'
import type { Spool, SpooledHold } from './spool/spool.ts'

const RETRY_AFTER_MS = 1_000

export interface CreditPortInput {
  readonly committer: Committer
  readonly spool: Spool
  /** Terms of a plan by its name; asked for with every request. */
  readonly terms: (plan: string) => PlanTerms
  readonly instanceId: string
  /** See `InstanceLease.ensure`; undefined: the lease is somebody else's concern. */
  readonly ensureLease?: () => Promise<boolean> | boolean
  /** What each account may have under way while the database is away; 0: nothing is admitted then. */
  readonly exposureNanoUsd: () => NanoUsd
  readonly log: { error(fields: object, message: string): void }
}

/** A hold with what its end needs to know. Each request has one, so all have the same shape. */
interface OpenHold extends Hold, SpooledHold {
  readonly terms: PlanTerms
  readonly keyBudgetNanoUsd: NanoUsd | undefined
  readonly ancestors: readonly KeyBudget[] | undefined
  /** It was settled or released. */
  resolved: boolean
}

interface PortState extends CreditPortInput {
  readonly exposure: Exposure
  /** Requests that are admitted, or about to be, and not settled. */
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
    dispatched: (held) => spool.dispatched(asOpenHold(held)),
    extend: (held, nanoUsd) =>
      held.unrecorded ? extendUnrecorded(state, held, nanoUsd) : extend(state, held, nanoUsd),
    release: (held) => release(state, asOpenHold(held)),
    settle(held, record, kept) {
      const open = asOpenHold(held)
      const { terms, unrecorded, amountNanoUsd } = open
      const promisedNanoUsd = unrecorded ? amountNanoUsd : undefined
      return settle(state, open, { kind: 'settle', record, terms, unrecorded, promisedNanoUsd, kept })
    },
  }
}

function asOpenHold(held: Hold): OpenHold {
  return held as OpenHold // the port is only ever given what it has made
}

async function hold(state: PortState, request: HoldRequest): Promise<Hold> {
  if (!state.spool.room(state.running)) throw unavailable('Charges cannot be recorded; retry after 1 s.')
  const terms = state.terms(request.caller.plan)
  state.running += 1
  let held: OpenHold | undefined
  try {
    held = await holdRecorded(state, request, terms)
  } finally {
    if (held === undefined) state.running -= 1
  }
  return held
}

async function holdRecorded(state: PortState, request: HoldRequest, terms: PlanTerms): Promise<OpenHold> {
  let outcome: Outcome
  try {
    const leased = state.ensureLease?.() ?? true
    // Others may sweep at once what is held under a lease that has lapsed.
    if (leased !== true && state.committer.available() && !(await leased))
      throw unavailable('The lease of this process could not be renewed.')
    outcome = await state.committer.hold(holdUnit(request, terms, state.instanceId))
  } catch (error) {
    if (!isDatabaseUnavailable(error) || state.exposureNanoUsd() <= 0n) throw error
    return holdUnrecorded(state, { request, terms, cause: error })
  }
  if (outcome.kind === 'held') {
    const { nanoUsd, outputTokens } = outcome
    return openHold({ request, terms, nanoUsd, outputTokens, unrecorded: false })
  }
  if (outcome.kind === 'refused') throw paymentRequired(outcome)
  state.log.error({ id: request.id, outcome }, 'a hold was refused by the database')
  throw new GatewayError('internal_error', 'The cost of this request could not be reserved.')
}

interface UnrecordedHold {
  readonly request: HoldRequest
  readonly terms: PlanTerms
  /** That the database is away. */
  readonly cause: unknown
}

async function holdUnrecorded(state: PortState, { request, terms, cause }: UnrecordedHold): Promise<OpenHold> {
  const { spool, exposure } = state
  const { accountId } = request.caller
  const unit = holdUnit(request, terms, state.instanceId)
  const fit = fitExposure(unit, exposure.left(accountId))
  if (fit === undefined) throw cause
  const held = openHold({ request, terms, ...fit, unrecorded: true })
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
  const { accountId, id, terms, keyBudgetNanoUsd, ancestors } = asOpenHold(held)
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

function release(state: PortState, held: OpenHold): void {
  const { accountId, id } = held
  resolve(state, held)
  state.spool.released(held)
  if (held.unrecorded) state.exposure.add(accountId, -held.amountNanoUsd)
  else state.committer.release({ kind: 'release', accountId, id })
}

function settle(state: PortState, held: OpenHold, unit: SettleUnit): Promise<void> {
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

/** The database would take no notice of a second time; a process that tries does not know what it has promised. */
function resolve(state: PortState, held: OpenHold): void {
  invariant(!held.resolved, `The hold of ${held.id} was resolved twice.`)
  held.resolved = true
  state.running -= 1
  invariant(state.running >= 0, 'More requests were settled than were admitted.')
}

/** What it came to is outstanding instead of what was held, until the database has it. */
function settleExposure(
  { exposure }: PortState,
  end: { readonly held: OpenHold; readonly unit: SettleUnit; readonly committed: Promise<void> },
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

/** Budgets of tags count for the requests that have them. */
function tagSubjects(attribution: Attribution | undefined): readonly BudgetSubject[] | undefined {
  if (attribution === undefined || attribution.tags.length === 0) return undefined
  return attribution.tags.map((id) => ({ level: 'tag', id }))
}

interface Granted {
  readonly request: HoldRequest
  readonly terms: PlanTerms
  readonly nanoUsd: NanoUsd
  readonly outputTokens: number
  readonly unrecorded: boolean
}

function openHold({ request, terms, nanoUsd, outputTokens, unrecorded }: Granted): OpenHold {
  const { caller } = request
  return {
    id: request.id,
    accountId: caller.accountId,
    keyId: caller.keyId,
    outputTokens,
    amountNanoUsd: nanoUsd,
    unrecorded,
    terms,
    keyBudgetNanoUsd: caller.monthlyBudgetNanoUsd,
    ancestors: caller.ancestors,
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

/** The budgets of account and key that are no rows of `budget` are monthly. */
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

/** Names the budget; nothing for credit. */
function budgetDetails({ scope, limitNanoUsd: limit, budget }: Refusal) {
  if (limit === undefined) return {}
  const level = budget?.level ?? (scope === 'account_budget' ? 'account' : 'key')
  const named = { level, window: budget?.window ?? 'month', limit_usd: usdNumber(limit) }
  return budget === undefined ? named : { ...named, budget_id: budget.id }
}

/*
 * Admission while the database is away, where the operator allows it: each account may have so much under way that nobody
 * can check against its credit. It is noted on the local disk first, and charged when the database is back.
 */

interface Exposure {
  /** What one account may still be admitted for. */
  left(accountId: AccountId): NanoUsd
  /** @param nanoUsd What was admitted or charged; below zero: what is not outstanding any more. */
  add(accountId: AccountId, nanoUsd: NanoUsd): void
}

/** Counts, for each account, what is held or charged and in no database. @param limit For each account. */
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
 * What of a request fits, by the same rule as in the database: one that named no maximum is lowered to what does.
 * @returns Tokens of one choice and what they cost at worst; undefined: it does not fit.
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

/** What is charged should this process die before it knows better: the prompt, as for every hold. */
function intentUnit(unit: HoldUnit): SettleUnit {
  const { id, accountId, keyId, model, provider, stream, promptTokens, priceVersion, createdAt } = unit
  const { byokFeePpm: feePpm } = unit
  const record: SettleUnit['record'] = {
    ...ESTIMATED,
    id,
    accountId,
    keyId,
    model,
    provider,
    stream,
    promptTokens,
    completionTokens: 0,
    costNanoUsd: worstCost(unit, 0),
    priceVersion,
    createdAt,
    durationMs: 0,
    clientRequestId: unit.clientRequestId,
    api: unit.api,
    teamId: unit.teamId,
    attribution: unit.attribution,
    requestId: unit.requestId,
    ...(feePpm === undefined ? {} : { usageDetail: { byok: { feePpm } } }),
  }
  return { kind: 'settle', record, terms: unit.terms, unrecorded: true, provisional: true, kept: undefined }
}
