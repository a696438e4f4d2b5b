/**
 * Holds the credit of an admitted request: the most that it can cost at its model, or at the most expensive of several
 * models. Each of these then has its own limits within that hold. While a stream approaches its hold, raises it (LED-5).
 */

import { generatesText } from '../domain/chat.ts'
import { type Hold, type HoldRequest, MIN_FLEXIBLE_TOKENS } from '../domain/credit.ts'
import { GatewayError } from '../domain/errors.ts'
import type { NanoUsd } from '../domain/money.ts'
import { chargeNanoUsd } from '../domain/price/price.ts'
import { reach } from '../lib/crash-point.ts'
import { isCancelled } from './cancellation.ts'
import { type Completion, interrupt, type Reservation, type RoutedModel } from './completion.ts'
import type { GatewayPorts } from './ports.ts'
import { requireKey } from './resumable/idempotency.ts'
import { withMember } from './routing/candidates.ts'
import { skippedModel } from './routing/requested-models.ts'
import { boundsOf } from './settle.ts'
import { countGenerated, measureRoughly } from './usage/measure.ts'
import { type CallUsage, lengthOf } from './usage/meter.ts'
import { isCountable, recount, seemsTooLong, type WorstCase, type WorstCaseInput } from './worst-case.ts'

/**
 * Resolves when the most that the request can cost is held. Limited credit may lower its output limit. If the upper
 * bound of the prompt exceeds the window or the credit, the prompt is counted exactly, once.
 */
export async function holdCredit(completion: Completion, ports: GatewayPorts): Promise<void> {
  const { admitted, cancellation, idempotent } = completion
  if (isCancelled(cancellation)) throw new Error('The request was cancelled before credit was held for it.')
  const hold = await (admitted.fallbacks.length === 0
    ? holdOnly(completion, ports)
    : holdMostExpensive(completion, ports))
  reach('after_hold')
  admitted.trace?.steps.push({ name: 'hold', at: ports.clock(), value: Number(hold.amountNanoUsd) })
  if (idempotent !== undefined) requireKey(idempotent.run, hold)
}

async function holdOnly(completion: Completion, ports: GatewayPorts): Promise<Hold> {
  const isTooLong = seemsTooLong(completion.admitted.worst, completion.admitted)
  if (isTooLong) await countPrompt(completion, ports)
  const hold = await holdWorst(completion, ports, isTooLong)
  const { worst, promptTokens, outputTokens, lowered } = completion.reservation
  const isLowered = hold.outputTokens < outputTokens
  completion.reservation = {
    hold,
    worst,
    promptTokens,
    outputTokens: isLowered ? hold.outputTokens : outputTokens,
    lowered: lowered || isLowered,
  }
  return hold
}

function holdWorst(completion: Completion, ports: GatewayPorts, isCounted: boolean): Promise<Hold> {
  const mayCount = !isCounted && isCountable(completion.reservation.worst, completion.admitted)
  const held = ports.credit.hold(holdRequest(completion, mayCount))
  return mayCount ? held.catch((error: unknown) => holdCounted(completion, ports, error)) : held
}

/** @param error The reason why the upper bound of the prompt could not be held. */
async function holdCounted(completion: Completion, ports: GatewayPorts, error: unknown): Promise<Hold> {
  if (!(error instanceof GatewayError) || error.status !== 402) throw error
  await countPrompt(completion, ports)
  return await ports.credit.hold(holdRequest(completion, false))
}

async function countPrompt(completion: Completion, { countWhole }: GatewayPorts): Promise<void> {
  const { admitted } = completion
  const counted = await recount(admitted.worst, weighedOf(admitted, admitted.createdAt), countWhole)
  const { likelyTokens: promptTokens, outputTokens } = counted
  completion.reservation = { ...completion.reservation, worst: counted, promptTokens, outputTokens }
}

function weighedOf({ request, model, price, candidates, worst }: RoutedModel, now: number): WorstCaseInput {
  return { request, model: { ...model, price }, candidates, now, byokFeePpm: worst.byokFeePpm }
}

/** @param mayCount Whether the prompt can still be counted, so that a rejection is not final. */
function holdRequest({ admitted, reservation }: Completion, mayCount: boolean): HoldRequest {
  const { request, model, route } = admitted
  const { worst, promptTokens, outputTokens } = reservation
  return {
    id: admitted.id,
    caller: admitted.caller,
    model: model.aliasOf ?? model.id,
    provider: route.candidates[0]?.upstream.name ?? '',
    rates: worst.rates,
    priceVersion: admitted.priceVersion,
    stream: request.stream,
    promptTokens,
    outputTokens,
    choices: request.n,
    flexible: request.maxTokens === undefined && generatesText(request.task),
    tentative: mayCount || worst.bound.isOpen,
    createdAt: admitted.createdAt,
    clientRequestId: admitted.clientRequestId,
    byokFeePpm: worst.byokFeePpm,
    api: admitted.api.recordedAs,
    attribution: admitted.attribution,
    requestId: admitted.requestId,
    traceId: admitted.trace?.context.traceId,
  }
}

/*
 * Several models: the hold covers the most expensive one.
 */

interface Plan {
  readonly routed: RoutedModel
  readonly worst: WorstCase
}

async function holdMostExpensive(completion: Completion, ports: GatewayPorts): Promise<Hold> {
  const { admitted } = completion
  const all = [admitted, ...admitted.fallbacks].map((routed) => ({ routed, worst: routed.worst }))
  const fitting = await fittingPlans(completion, ports, all)
  const { hold, plans } = await holdPlans(completion, ports, fitting)
  const reservations = reservationsOf(plans, hold, mostExpensiveOf(plans))
  for (const { routed } of all) {
    if (!reservations.has(routed.model)) leaveOut(completion, routed, fitting)
  }
  completion.reservations = reservations
  const first = plans.find(({ routed }) => reservations.has(routed.model))
  const reservation = first && reservations.get(first.routed.model)
  if (first === undefined || reservation === undefined) throw new Error('A hold covers none of its models.')
  completion.current = first.routed
  completion.reservation = reservation
  return hold
}

/** Counts the prompt for models whose window it seems to exceed. @throws GatewayError if it fits none of them. */
async function fittingPlans(
  { admitted }: Completion,
  { countWhole }: GatewayPorts,
  all: readonly Plan[],
): Promise<readonly Plan[]> {
  const plans: Plan[] = []
  let failure: unknown
  for (const plan of all) {
    const { routed, worst } = plan
    try {
      const isTooLong = seemsTooLong(worst, routed)
      plans.push(isTooLong ? { routed, worst: await counted(plan, admitted.createdAt, countWhole) } : plan)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      failure ??= error
    }
  }
  if (plans.length === 0) throw failure
  return plans
}

function counted({ routed }: Plan, now: number, countWhole: GatewayPorts['countWhole']): Promise<WorstCase> {
  return recount(routed.worst, weighedOf(routed, now), countWhole)
}

interface Held {
  readonly hold: Hold
  /** The plans that the hold covers. */
  readonly plans: readonly Plan[]
}

/**
 * Holds credit for the plans. If it is not affordable, retries with counted prompts, then without the models that
 * cost more than the first.
 */
async function holdPlans(completion: Completion, ports: GatewayPorts, plans: readonly Plan[]): Promise<Held> {
  const { admitted } = completion
  const tries: (() => Promise<readonly Plan[]> | readonly Plan[])[] = [() => plans]
  if (plans.some(({ routed, worst }) => isCountable(worst, routed)))
    tries.push(() => countedPlans(completion, ports, plans))
  if (mostExpensiveOf(plans) !== plans[0])
    tries.push(async () => notMoreExpensive(await countedPlans(completion, ports, plans)))
  for (const [at, attempt] of tries.entries()) {
    const tried = await attempt()
    const isLast = at === tries.length - 1
    try {
      return { hold: await ports.credit.hold(mostExpensiveRequest(completion, tried, !isLast)), plans: tried }
    } catch (error) {
      if (isLast || !(error instanceof GatewayError) || error.status !== 402) throw error
    }
  }
  throw new Error(`No hold was tried for ${admitted.id}.`)
}

async function countedPlans(
  { admitted }: Completion,
  { countWhole }: GatewayPorts,
  plans: readonly Plan[],
): Promise<readonly Plan[]> {
  const all: Plan[] = []
  for (const plan of plans) {
    const { routed, worst } = plan
    if (isCountable(worst, routed)) all.push({ routed, worst: await counted(plan, admitted.createdAt, countWhole) })
    else all.push(plan)
  }
  return all
}

function notMoreExpensive(plans: readonly Plan[]): readonly Plan[] {
  const [first] = plans
  return first === undefined ? plans : plans.filter((plan) => picoUsdOf(plan) <= picoUsdOf(first))
}

/** Returns the cost before the first token of output, in pico-dollars. */
function startPicoUsd({ worst: { rates, likelyTokens } }: Plan): number {
  return likelyTokens * rates.inputMicroUsd + rates.fixedNanoUsd * 1000
}

function picoUsdOf(plan: Plan): number {
  const { worst, routed } = plan
  return startPicoUsd(plan) + worst.outputTokens * routed.request.n * worst.rates.outputMicroUsd
}

function mostExpensiveOf(plans: readonly Plan[]): Plan | undefined {
  let highest: Plan | undefined
  for (const plan of plans) if (highest === undefined || picoUsdOf(plan) > picoUsdOf(highest)) highest = plan
  return highest
}

/**
 * Returns the request for the most expensive plan. It names the first model: if this process dies before it reports
 * another one, the prompt is charged at that price.
 */
function mostExpensiveRequest(completion: Completion, plans: readonly Plan[], mayFail: boolean): HoldRequest {
  const [first] = plans
  const highest = mostExpensiveOf(plans)
  if (first === undefined || highest === undefined) throw new Error('There is nothing to hold for.')
  const { routed, worst } = first
  const { outputMicroUsd } = highest.worst.rates
  const { inputMicroUsd } = worst.rates
  const extra = startPicoUsd(highest) - worst.likelyTokens * inputMicroUsd
  return {
    ...holdRequest(completion, mayFail),
    model: routed.model.aliasOf ?? routed.model.id,
    provider: routed.candidates[0]?.upstream.name ?? '',
    rates: { inputMicroUsd, outputMicroUsd, fixedNanoUsd: Math.max(0, Math.ceil(extra / 1000)) },
    priceVersion: routed.priceVersion,
    promptTokens: worst.likelyTokens,
    outputTokens: highest.worst.outputTokens,
    byokFeePpm: worst.byokFeePpm,
    tentative: mayFail || plans.some((plan) => plan.worst.bound.isOpen),
  }
}

/** Returns the limits of each model within a hold, without models for which it leaves too little output. */
function reservationsOf(plans: readonly Plan[], hold: Hold, highest: Plan | undefined): Map<unknown, Reservation> {
  const reservations = new Map<unknown, Reservation>()
  for (const plan of plans) {
    const { routed, worst } = plan
    const { likelyTokens: promptTokens, outputTokens: most } = worst
    const outputTokens = Math.min(most, plan === highest ? hold.outputTokens : affordableTokens(plan, hold))
    if (outputTokens < Math.min(most, MIN_FLEXIBLE_TOKENS)) continue
    const lowered = worst.lowered || outputTokens < most
    reservations.set(routed.model, { hold, worst, promptTokens, outputTokens, lowered })
  }
  return reservations
}

function affordableTokens(plan: Plan, { amountNanoUsd }: Hold): number {
  const { outputMicroUsd } = plan.worst.rates
  if (outputMicroUsd === 0) return Number.POSITIVE_INFINITY
  const left = Number(amountNanoUsd) * 1000 - startPicoUsd(plan)
  return Math.floor(left / (outputMicroUsd * plan.routed.request.n))
}

/** Adds a model to `x-turnpike-route` whose window or cost the request exceeds. */
function leaveOut(completion: Completion, { model }: RoutedModel, plans: readonly Plan[]): void {
  const route = completion.route
  const isTooLong = !plans.some(({ routed }) => routed.model === model)
  const reason = isTooLong ? 'context_length_exceeded' : 'insufficient_credit'
  completion.route = {
    ...route,
    candidates: route.candidates.filter((candidate) => candidate.of !== model),
    skipped: withMember(route.skipped, skippedModel(model, reason)),
  }
}

// Raises the hold of a stream that approaches it (LED-5), or ends the stream. A network read costs two comparisons;
// tokens are estimated from bytes, and counted off the event loop only where the stream might be ended for it.

/** The shares of the hold at which the stream requests more credit, and at which it is ended. */
const EXTEND_AT = 0.9
const END_AT = 1.1
/** The share by which a hold is raised, and the share to be generated before the next check. */
const TOP_UP = 0.5
const STEP = 0.1
const MIN_TOP_UP_TOKENS = 256
/** The densest scripts have this many characters a token. An early check is cheap. */
const CHARACTERS_A_TOKEN = 4 / 3

/** The coverage of a stream's hold, and when to check it. */
export interface Coverage {
  /** Output tokens of all choices. */
  tokens: number
  /** The next check is due after this many generated characters, */
  checkAtLength: number
  /** or this many reported tokens of one call times the number of calls. */
  checkAtReported: number
  /** The response of the ledger or of the token counter is pending. */
  pending: boolean
}

export function createCoverage({ admitted: { request }, reservation: { outputTokens, worst } }: Completion): Coverage {
  const tokens = outputTokens * request.n
  const first = worst.rates.outputMicroUsd === 0 ? Number.POSITIVE_INFINITY : EXTEND_AT * tokens
  return { tokens, checkAtLength: first * CHARACTERS_A_TOKEN, checkAtReported: first, pending: false }
}

/** Returns whether `checkCoverage` is due after a network read of one of the calls. */
export function isCheckDue(coverage: Coverage, { usage }: CallUsage, usages: readonly CallUsage[]): boolean {
  if (lengthOf(usages) >= coverage.checkAtLength) return true
  return usage.completionTokens !== undefined && usage.completionTokens * usages.length >= coverage.checkAtReported
}

/** Raises the hold if the output approaches it. Ends a stream that credit does not cover. */
export function checkCoverage(completion: Completion, ports: GatewayPorts, coverage: Coverage): void {
  if (coverage.pending || isEnding(completion)) return
  const { usages } = completion.attempt
  const tokens = measureRoughly(usages, boundsOf(completion)).completionTokens
  scheduleCheck(lengthOf(usages), coverage, tokens)
  if (tokens < EXTEND_AT * coverage.tokens) return
  coverage.pending = true
  extend(completion, ports, { coverage, tokens }).then(
    () => {
      coverage.pending = false
    },
    () => {}, // neither the ledger nor the counter is available: the hold stays as it is
  )
}

interface Check {
  readonly coverage: Coverage
  /** The estimated number of tokens generated so far. */
  readonly tokens: number
}

async function extend(completion: Completion, { credit, countTokens }: GatewayPorts, check: Check): Promise<void> {
  const { coverage, tokens } = check
  const { attempt, reservation } = completion
  const { hold, worst } = reservation
  if (hold === undefined) return
  const more = Math.max(MIN_TOP_UP_TOKENS, Math.ceil(TOP_UP * coverage.tokens), tokens - coverage.tokens)
  if (await credit.extend(hold, costAtWorst(more, worst))) {
    coverage.tokens += more
    return
  }
  if (isEnding(completion)) return
  const counted = await countGenerated({ usages: attempt.usages, bounds: boundsOf(completion), countTokens })
  if (counted > END_AT * coverage.tokens) end(completion)
}

/**
 * Returns the cost of output tokens at the held rate: only the end of an answer reports which tier or service tier
 * applies.
 */
function costAtWorst(tokens: number, { rates: { outputMicroUsd } }: WorstCase): NanoUsd {
  return chargeNanoUsd({ prompt: 0, completion: tokens }, { inputMicroUsd: 0, outputMicroUsd })
}

/**
 * Schedules the next check at 90 % of the hold, but not before another tenth was generated.
 * @param length Characters generated so far.
 */
function scheduleCheck(length: number, coverage: Coverage, tokens: number): void {
  const ahead = Math.max(STEP * coverage.tokens, EXTEND_AT * coverage.tokens - tokens)
  // (hidden reasoning has tokens and no characters)
  const charactersAToken = tokens === 0 ? CHARACTERS_A_TOKEN : Math.max(1, length / tokens)
  coverage.checkAtLength = length + ahead * charactersAToken
  coverage.checkAtReported = tokens + ahead
}

function end(completion: Completion): void {
  if (isEnding(completion)) return
  const message = 'The remaining credit does not cover the rest of this answer.'
  interrupt(completion, new GatewayError('insufficient_credit', message))
}

/** Returns whether the answer is complete or cancelled, so that it is charged, or about to be. */
function isEnding({ admitted, attempt, cancellation, outcome }: Completion): boolean {
  if (outcome.record !== undefined || cancellation.interruption !== undefined) return true
  let finished = 0
  for (const { finishes } of attempt.usages) finished += finishes.size
  return finished >= admitted.request.n
}
