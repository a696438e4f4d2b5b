/**
 * While a stream grows beyond what is held for it (LED-5): more is held in time, or the stream is ended. A network read
 * costs two comparisons; how many tokens came is guessed from bytes, and counted off the event loop only where the
 * stream might be ended for it.
 */
import { GatewayError } from '../domain/errors.ts'
import type { NanoUsd } from '../domain/money.ts'
import { chargeNanoUsd } from '../domain/price.ts'
import { type Completion, interruptCompletion } from './completion.ts'
import type { GatewayPorts } from './ports.ts'
import { boundsOf } from './settle.ts'
import { countGenerated, measureRoughly } from './tally.ts'

/** Of what the hold covers. */
const ASK_AT = 0.9
const END_AT = 1.1
/** What is asked for more, and how much must have come before it is looked at again. */
const TOP_UP = 0.5
const STEP = 0.1
const MIN_TOP_UP_TOKENS = 256
/** Of the densest scripts. Looking too early costs a look. */
const CHARACTERS_A_TOKEN = 4 / 3

/** What the hold of a stream covers, and when to look whether that is enough. */
export interface Coverage {
  /** Output tokens of all choices. */
  tokens: number
  /** Look again when so many characters were generated, */
  lookAtLength: number
  /** or so many tokens reported for one of the calls times their number. */
  lookAtReported: number
  /** The ledger or the counter was asked and has not answered yet. */
  asking: boolean
}

export function createCoverage({ outputTokens, request, worst }: Completion): Coverage {
  const tokens = outputTokens * request.n
  const first = worst.rates.outputMicroUsd === 0 ? Number.POSITIVE_INFINITY : ASK_AT * tokens
  return { tokens, lookAtLength: first * CHARACTERS_A_TOKEN, lookAtReported: first, asking: false }
}

/** Holds more where what came is nearly all that is held for; what cannot be held for ends the stream. */
export function lookAtCoverage(completion: Completion, ports: GatewayPorts, coverage: Coverage): void {
  if (coverage.asking || isEnding(completion)) return
  const tokens = measureRoughly(completion.branches, boundsOf(completion)).completionTokens
  lookAgain(completion, coverage, tokens)
  if (tokens < ASK_AT * coverage.tokens) return
  coverage.asking = true
  ask(completion, ports, { coverage, tokens }).then(
    () => {
      coverage.asking = false
    },
    () => {}, // neither ledger nor counter can be asked: what is held has to do
  )
}

interface Look {
  readonly coverage: Coverage
  /** Generated so far, guessed. */
  readonly tokens: number
}

async function ask(completion: Completion, { credit, countTokens }: GatewayPorts, look: Look): Promise<void> {
  const { coverage, tokens } = look
  const { hold, branches } = completion
  if (hold === undefined) return
  const more = Math.max(MIN_TOP_UP_TOKENS, Math.ceil(TOP_UP * coverage.tokens), tokens - coverage.tokens)
  if (await credit.extend(hold, dearestCost(more, completion))) {
    coverage.tokens += more
    return
  }
  if (isEnding(completion)) return
  const counted = await countGenerated({ branches, bounds: boundsOf(completion), countTokens })
  if (counted > END_AT * coverage.tokens) end(completion)
}

/** Of output tokens at the rate that is held for: a tier or service tier may apply that only the end tells. */
function dearestCost(tokens: number, { worst }: Completion): NanoUsd {
  const { outputMicroUsd } = worst.rates
  return chargeNanoUsd({ prompt: 0, completion: tokens }, { inputMicroUsd: 0, outputMicroUsd })
}

/** Where 90 % will have come, but not before another tenth has. */
function lookAgain({ generated }: Completion, coverage: Coverage, tokens: number): void {
  const ahead = Math.max(STEP * coverage.tokens, ASK_AT * coverage.tokens - tokens)
  // (hidden reasoning has tokens and no characters)
  const charactersAToken = tokens === 0 ? CHARACTERS_A_TOKEN : Math.max(1, generated / tokens)
  coverage.lookAtLength = generated + ahead * charactersAToken
  coverage.lookAtReported = tokens + ahead
}

function end(completion: Completion): void {
  if (isEnding(completion)) return
  const message = 'The credit that is left does not pay for the rest of this answer.'
  interruptCompletion(completion, new GatewayError('insufficient_credit', message))
}

/** Nothing more will be generated: it is charged for, or about to be. */
function isEnding({ record, interruption, branches, request }: Completion): boolean {
  if (record !== undefined || interruption !== undefined) return true
  let finished = 0
  for (const { finishes } of branches) finished += finishes.size
  return finished >= request.n
}
