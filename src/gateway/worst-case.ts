/**
 * The most that a request can cost, whatever its provider makes of it: an upper bound of its prompt, the limit of its
 * answer, and the dearest rates that can apply. It is what admission holds and reserves of the rate limits.
 */
import type { ChatRequest } from '../domain/chat.ts'
import type { HoldRates } from '../domain/credit.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import { dearestRates, type Price, type RequestFacts } from '../domain/price.ts'
import { type PromptBound, promptBound, promptText } from '../domain/reservation.ts'
import { isKnownModel, tokenFamilyOf } from '../domain/token-family.ts'
import { planOutput } from './output-limit.ts'
import type { GatewayPorts } from './ports.ts'
import { type Candidate, spreads } from './routing/candidate.ts'

export interface WorstCase {
  /** Of all calls together, at most. */
  readonly promptTokens: number
  /** Of all calls together, as expected. */
  readonly likelyTokens: number
  /** Of one choice. */
  readonly outputTokens: number
  /** Of one choice, that a provider may count beside `outputTokens`. */
  readonly reasoningTokens: number
  /** The client's limit was above the model's maximum. */
  readonly lowered: boolean
  readonly rates: HoldRates
  /** What `recount` needs to know. */
  readonly bound: PromptBound
}

interface Named {
  readonly model: Pick<Model, 'id'>
  readonly targets: readonly Candidate[]
}

export interface Weighed {
  readonly request: ChatRequest
  readonly model: Model & { readonly price: Price }
  readonly targets: readonly Candidate[]
  /** Unix milliseconds. */
  readonly now: number
}

/** What a tokenizer's count of ours may be wrong by: templates, and pieces cut at other places. */
const COUNT_MARGIN = 1.03
/** How far a count by another model's tokenizer may be above that of its own. */
const FOREIGN_MARGIN = 2

/** @throws GatewayError for a limit that no provider of the model takes. */
export function worstCase(weighed: Weighed): WorstCase {
  const { request, model } = weighed
  const { contextWindow } = model
  const bound = promptBound(request, { contextWindow, names: namesOf(weighed) })
  return withPrompt(weighed, bound, Math.min(bound.tokens, contextWindow))
}

/** Of the models behind the targets; where a host's own name for one says nothing, ours. */
function namesOf({ model, targets }: Named): readonly string[] {
  const names = new Set<string>()
  for (const target of targets) names.add(isKnownModel(target.model) ? target.model : model.id)
  return [...names]
}

/** No prompt that is answered exceeds the window. */
function withPrompt(weighed: Weighed, bound: PromptBound, inputTokens: number): WorstCase {
  const { request, model, targets } = weighed
  const { tokens, ...limit } = planOutput({ request, model, promptTokens: inputTokens, targets })
  const calls = callsAtWorst(request, targets)
  const beside = (limit.reasoningTokens + bound.predictionTokens) * request.n
  const likely = Math.min(bound.likelyTokens, inputTokens)
  const rates = ratesFor(weighed, { bound, inputTokens, calls, beside, unlikely: (inputTokens - likely) * calls })
  return {
    promptTokens: inputTokens * calls,
    likelyTokens: likely * calls,
    outputTokens: tokens,
    ...limit,
    rates,
    bound,
  }
}

/** Where a provider gives one choice a call, every choice pays for the prompt. */
function callsAtWorst({ n }: ChatRequest, targets: readonly Candidate[]): number {
  return n > 1 && targets.some((target) => spreads(target, n)) ? n : 1
}

interface Counted {
  readonly bound: PromptBound
  readonly inputTokens: number
  readonly calls: number
  /** Output tokens beside the limit. */
  readonly beside: number
  /** Prompt tokens beyond those that are expected: held for, and charged only if a provider counts them. */
  readonly unlikely: number
}

function ratesFor({ request, model, now }: Weighed, counted: Counted): HoldRates {
  const { bound, inputTokens, calls, beside, unlikely } = counted
  const { modalities, serviceTier } = request
  const facts: RequestFacts = {
    promptTokens: inputTokens,
    serviceTier,
    at: now,
    calls,
    images: bound.images * calls,
    may: {
      ...cacheWrites(request, model),
      audioInput: bound.hasAudio,
      audioOutput: modalities?.includes('audio') === true,
    },
  }
  const rates = dearestRates(model.price, facts)
  const pico = beside * rates.outputMicroUsd + unlikely * rates.inputMicroUsd
  return { ...rates, fixedNanoUsd: rates.fixedNanoUsd + Math.ceil(pico / 1000) }
}

/** Claude's cache is written where the request says so; other makers' may be by itself. */
function cacheWrites(request: ChatRequest, { id, price }: Weighed['model']): RequestFacts['may'] {
  if (price.cacheWriteMicroUsd === undefined || !/claude/i.test(id)) return {}
  const wish = cacheWish(request)
  return { cacheWrite: wish !== undefined, cacheWrite1h: wish === '1h', cacheWrite12h: false }
}

function cacheWish({ messages, tools = [], extra }: ChatRequest): '5m' | '1h' | undefined {
  let wish = wishOf(extra)
  for (const tool of tools) wish = longer(wish, longer(wishOf(tool), wishOf(tool.function)))
  for (const message of messages) {
    wish = longer(wish, wishOf(message))
    if (Array.isArray(message.content)) for (const part of message.content) wish = longer(wish, wishOf(part))
  }
  return wish
}

type Wish = '5m' | '1h' | undefined

function wishOf(place: object): Wish {
  const { cache_control: control, prompt_cache_breakpoint: breakpoint } = place as Readonly<Record<string, unknown>>
  const wish = breakpoint ?? control
  if (wish === undefined || wish === null) return undefined
  return (wish as { readonly ttl?: unknown }).ttl === '1h' ? '1h' : '5m'
}

function longer(one: Wish, other: Wish): Wish {
  return one === '1h' || other === undefined ? one : other
}

/** Whether the prompt seems not to fit, so that it is to be counted before anything is held. */
export function seemsTooLong({ bound }: WorstCase, { contextWindow }: Pick<Model, 'contextWindow'>): boolean {
  return bound.tokens > contextWindow
}

/** Whether an exact count would lower what is held. */
export function isCountable({ bound }: WorstCase, named: Named): boolean {
  return !bound.isOpen && namesOf(named).every((name) => tokenFamilyOf(name).exact !== undefined)
}

/** How long a request waits for an exact count; without one its bound stands. */
const COUNT_TIMEOUT_MS = 500

/**
 * The worst case with the prompt's text counted off the event loop, never above the bound; the same where it cannot be
 * counted in time.
 * @throws GatewayError `context_length_exceeded` where the prompt cannot fit the window.
 */
export async function recount(
  worst: WorstCase,
  weighed: Weighed,
  countWhole: GatewayPorts['countWhole'],
): Promise<WorstCase> {
  const { bound } = worst
  const { contextWindow } = weighed.model
  const counted = await countWhole(promptText(weighed.request), COUNT_TIMEOUT_MS)
  if (counted === undefined) return worst
  const isExact = isCountable(worst, weighed)
  const least = isExact ? counted : counted / FOREIGN_MARGIN
  if (least > contextWindow) throw tooLong(weighed.model, Math.ceil(least))
  if (!isExact) return worst
  const tokens = Math.min(Math.ceil(counted * COUNT_MARGIN) + bound.otherTokens, bound.tokens, contextWindow)
  return withPrompt(weighed, bound, tokens)
}

function tooLong({ id, contextWindow }: Model, tokens: number): GatewayError {
  const message = `The prompt has at least ${tokens} tokens; the context window of the model '${id}' is ${contextWindow}. Shorten the messages.`
  return new GatewayError('context_length_exceeded', message, { param: 'messages' })
}
