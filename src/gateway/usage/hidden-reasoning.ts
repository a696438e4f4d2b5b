/**
 * Reasoning that a stream does not show but its provider charges: whether an answer may contain any, and its estimate
 * if the answer ended before its provider reported it. The estimate uses the provider's intermediate figures, else the
 * visible text, else the elapsed time.
 */
import { isKnownModel, tokenFamilyOf } from '../../domain/bounds/token-bound.ts'
import { type ChatRequest, generatesText } from '../../domain/chat.ts'
import type { Model } from '../../domain/model.ts'
import { isRecord } from '../../lib/json.ts'
import { readThinking } from '../../protocols/parameters.ts'
import type { Provider } from '../../providers/provider.ts'
import type { CountedUsage, OutputScale } from './measure.ts'
import { type CallUsage, estimateTokens } from './meter.ts'

/** A request, and the attempt whose provider reasons. */
export interface Reasoning {
  readonly request: ChatRequest
  readonly model: Model
  readonly running:
    | {
        readonly candidate: {
          readonly model: string
          readonly upstream: { readonly provider: Pick<Provider, 'hiddenReasoning'> }
          readonly deployment: { readonly output: OutputMeasure }
        }
        /** Monotonic milliseconds. */
        readonly startedAt: number
      }
    | undefined
}

export interface LimitedReasoning extends Reasoning {
  /** The output limit of one choice. */
  readonly outputTokens: number
}

/** The highest share of its limit at which an incomplete answer is estimated. */
const MOST_OF_LIMIT = 0.9

/** Returns whether the answer may contain reasoning that no event shows. */
export function mayHideReasoning({ request, model, running }: Reasoning): boolean {
  const asked = requestsReasoning(request)
  if (running === undefined || asked === false || !generatesText(request.task)) return false
  const { deployment, upstream } = running.candidate
  const measured = hasHidden(deployment.output, asked === true)
  if (measured !== undefined) return measured
  const { hiddenReasoning: facts } = upstream.provider
  const canReason = facts !== undefined && model.supportedParameters.includes('reasoning_effort')
  return canReason && (asked === true || facts === 'unasked')
}

/** Undefined if the request does not specify it. */
function requestsReasoning({ reasoningEffort, extra }: ChatRequest): boolean | undefined {
  if (reasoningEffort !== undefined) return reasoningEffort !== 'none'
  const thinking = readThinking(extra['thinking'])
  if (thinking !== undefined) return thinking.type !== 'disabled'
  return isRecord(extra['reasoning']) ? extra['reasoning']['enabled'] !== false : undefined
}

/** Returns how to convert our own count of an answer to the provider's tokens. @param now Monotonic milliseconds. */
export function outputScale(reasoning: LimitedReasoning, now: number): OutputScale {
  const { running, outputTokens, model } = reasoning
  if (running === undefined) return { text: 1, summary: undefined, generated: () => 0 }
  const { candidate, startedAt } = running
  const { output } = candidate.deployment
  const text = tokenFamilyOf(isKnownModel(candidate.model) ? candidate.model : model.id).perOwnToken
  const hides = mayHideReasoning(reasoning)
  const most = MOST_OF_LIMIT * outputTokens
  return {
    text,
    summary: hides ? text * reasoningRatio(output) : undefined,
    generated: ({ begunAt }) => (hides ? Math.min(most, tokensWithin(output, (begunAt ?? now) - startedAt)) : 0),
  }
}

export interface Ended {
  readonly usages: readonly CallUsage[]
  /** The provider's figures for the whole answer. */
  readonly usage: CountedUsage
  /** Monotonic milliseconds. */
  readonly endedAt: number
}

/** Updates the measure of a deployment with a complete answer that its client did not slow down. */
export function recordOutput(reasoning: LimitedReasoning, { usages, usage, endedAt }: Ended): void {
  const { running, request } = reasoning
  const [call] = usages
  const { completionTokens: total, reasoningTokens } = usage
  if (running === undefined || call === undefined || call.slowed || total === 0) return
  if (usages.length > 1 || request.n > 1 || usage.audioOutputTokens || usage.imageOutputTokens) return
  const { output } = running.candidate.deployment
  if (!noteOutput(output, { tokens: total, ms: endedAt - running.startedAt })) return
  const asked = requestsReasoning(request) === true
  const { text } = outputScale(reasoning, endedAt)
  const counted = estimateTokens(call) * text
  const shown = call.length === 0 ? 0 : (counted * call.reasoningLength) / call.length
  const unreported = asked || shown > 0 ? Math.max(0, total - (counted - shown)) : 0
  noteReasoning(output, { total, reasoned: reasoningTokens ?? unreported, shown, asked })
}

/*
 * The measure of a deployment: how fast it generates, and how much of its reasoning it shows, from complete answers
 * with the provider's own figures. It serves to estimate the usage of answers that broke off.
 */

/** Decayed sums of tokens, of which the ratio is used. */
interface Ratio {
  reported: number
  counted: number
}

export interface OutputMeasure {
  /** Decayed sums over answers: their number, tokens, milliseconds, squares of tokens, tokens × milliseconds. */
  answers: number
  tokens: number
  ms: number
  squares: number
  products: number
  /** The tokens of the longest recent answer. */
  longest: number
  /** The number of answers, which determines whether one is sampled. */
  seen: number
  /** The ratio of reported reasoning to our own count of its visible text. */
  readonly reasoning: Ratio
  /**
   * The ratio of reasoning that no text showed (`reported`) to all output (`counted`), by whether the request asked
   * for reasoning.
   */
  readonly hiddenAsked: Ratio
  readonly hiddenUnasked: Ratio
}

/** The decay, by which about the last fifty answers count. */
const DECAY = 0.98
const LONGEST_DECAY = 0.99
/** The answers whose text is counted: the first ones, then one of this many. */
const FIRST_SAMPLES = 8
const SAMPLE_EVERY = 16
/** The highest ratio of reasoning to its summary, whatever is reported. */
const REASONING_RANGE = [0.5, 30] as const
/** Below this share of the output, reasoning counts as visible: our own count of its text is imprecise. */
const HIDDEN_SHARE = 0.3
/**
 * The defaults before the first measurement: the pace of common reasoning models and their wait for the first token.
 */
const UNMEASURED = { msPerToken: 15, waitMs: 800 } as const
/** The range of milliseconds a token: from 10,000 tokens a second to 1. */
const PACE_RANGE = [0.1, 1000] as const
/** The variation of lengths (standard deviation by mean) that is needed to separate the wait from the pace. */
const LEAST_SPREAD = 0.1

export function createOutputMeasure(): OutputMeasure {
  const ratio = (): Ratio => ({ reported: 0, counted: 0 })
  const sums = { answers: 0, tokens: 0, ms: 0, squares: 0, products: 0, longest: 0, seen: 0 }
  return { ...sums, reasoning: ratio(), hiddenAsked: ratio(), hiddenUnasked: ratio() }
}

/** Adds an answer. @returns whether it is a sample, for which to call `noteReasoning`. */
function noteOutput(measure: OutputMeasure, { tokens, ms }: { tokens: number; ms: number }): boolean {
  measure.answers = measure.answers * DECAY + 1
  measure.tokens = measure.tokens * DECAY + tokens
  measure.ms = measure.ms * DECAY + ms
  measure.squares = measure.squares * DECAY + tokens * tokens
  measure.products = measure.products * DECAY + tokens * ms
  measure.longest = Math.max(tokens, measure.longest * LONGEST_DECAY)
  measure.seen += 1
  return measure.seen <= FIRST_SAMPLES || measure.seen % SAMPLE_EVERY === 0
}

interface ReasoningSample {
  /** The output tokens of the answer. */
  readonly total: number
  /** The reasoning tokens among them. */
  readonly reasoned: number
  /** Our own count of its visible text. */
  readonly shown: number
  /** The request asked for reasoning. */
  readonly asked: boolean
}

/** Adds the reasoning of a sampled answer. */
function noteReasoning(measure: OutputMeasure, { total, reasoned, shown, asked }: ReasoningSample): void {
  if (shown > 0) add(measure.reasoning, reasoned, shown)
  add(asked ? measure.hiddenAsked : measure.hiddenUnasked, Math.max(0, reasoned - shown), total)
}

function add(ratio: Ratio, reported: number, counted: number): void {
  ratio.reported = ratio.reported * DECAY + reported
  ratio.counted = ratio.counted * DECAY + counted
}

/**
 * Returns the reasoning tokens for each token of visible reasoning, which may be a summary. Returns 1 before the
 * first measurement.
 */
function reasoningRatio({ reasoning: { reported, counted } }: OutputMeasure): number {
  return counted === 0 ? 1 : within(reported / counted, REASONING_RANGE)
}

/** Returns whether answers contain reasoning that their text does not show. Undefined if nothing was measured. */
function hasHidden({ hiddenAsked, hiddenUnasked }: OutputMeasure, asked: boolean): boolean | undefined {
  const { reported, counted } = asked ? hiddenAsked : hiddenUnasked
  return counted === 0 ? undefined : reported > HIDDEN_SHARE * counted
}

/**
 * Estimates the tokens generated in the first `ms` milliseconds of a call, at most those of the longest recent answer.
 * The time of an answer consists of a wait and a pace, which a least-squares line through the measured answers
 * separates.
 */
function tokensWithin(measure: OutputMeasure, ms: number): number {
  const { msPerToken, waitMs } = paceOf(measure)
  const tokens = Math.max(0, Math.round((ms - waitMs) / msPerToken))
  return measure.answers === 0 ? tokens : Math.min(tokens, Math.ceil(measure.longest))
}

interface Pace {
  readonly msPerToken: number
  readonly waitMs: number
}

function paceOf({ answers, tokens, ms, squares, products }: OutputMeasure): Pace {
  if (tokens === 0) return UNMEASURED
  const mean = tokens / answers
  const variance = squares / answers - mean * mean
  const covariance = products / answers - (mean * ms) / answers
  const slope = variance > (LEAST_SPREAD * mean) ** 2 ? covariance / variance : 0
  const waitMs = (ms - slope * tokens) / answers
  if (slope > 0 && waitMs >= 0) return { msPerToken: within(slope, PACE_RANGE), waitMs }
  return { msPerToken: within(ms / tokens, PACE_RANGE), waitMs: 0 }
}

function within(value: number, [least, most]: readonly [number, number]): number {
  return Math.min(Math.max(value, least), most)
}
