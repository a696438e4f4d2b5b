/**
 * Raises the hold of a stream that approaches it (LED-5), or ends the stream. A network read costs two comparisons;
 * tokens are estimated from bytes, and counted off the event loop only where the stream might be ended for it.
 */
import { GatewayError } from '../domain/errors.ts'
import type { NanoUsd } from '../domain/money.ts'
import { chargeNanoUsd } from '../domain/price/price.ts'
import { type Completion, interrupt } from './completion.ts'
import type { GatewayPorts } from './ports.ts'
import { boundsOf } from './settle.ts'
import { countGenerated, measureRoughly } from './usage/measure.ts'
import { type CallUsage, lengthOf } from './usage/meter.ts'
import type { WorstCase } from './worst-case.ts'

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
