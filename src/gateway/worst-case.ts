/**
 * The most that a request can cost: an upper bound of its prompt, the limit of its output, and the highest rates that can
 * apply. Admission holds it, and reserves it of the rate limits.
 */
import { type PromptBound, type PromptContent, promptBound, promptText } from '../domain/bounds/reservation.ts'
import { isKnownModel, tokenFamilyOf } from '../domain/bounds/token-bound.ts'
import type { ChatRequest } from '../domain/chat.ts'
import type { HoldRates } from '../domain/credit.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import { dearestRates, type Price, type RequestFacts } from '../domain/price/tariff.ts'
import { generatesText, inputCount, textParam } from '../domain/task.ts'
import {
  refuseUnpricedTools,
  requestedToolUses,
  type ToolUses,
  toolFee,
  unpricedTool,
} from '../protocols/server-tools.ts'
import { protocolOf } from '../providers/provider.ts'
import type { GatewayPorts } from './ports.ts'
import { isOwn } from './routing/account-credentials.ts'
import { spreads } from './routing/candidates.ts'
import type { Candidate } from './routing/health.ts'
import type { Target } from './upstream/registry.ts'

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
  /** All candidates are called with the account's own credentials: `rates` are this share, in millionths. */
  readonly byokFeePpm?: number | undefined
  /** Tools that run at the provider. */
  readonly tools: ToolWorst
  /** What `recount` needs to know. */
  readonly bound: PromptBound
}

interface Named {
  readonly model: Pick<Model, 'id'>
  readonly candidates: readonly Candidate[]
}

export interface WorstCaseInput {
  readonly request: ChatRequest
  readonly model: Model & { readonly price: Price }
  readonly candidates: readonly Candidate[]
  /** Unix milliseconds. */
  readonly now: number
  /** Of the request, where it was measured before. */
  readonly content?: PromptContent | undefined
  /** Share of the cost, in millionths, that is charged for calls with the account's own credentials. */
  readonly byokFeePpm?: number | undefined
}

/** Error of our own count: templates, and texts split at other positions. */
const COUNT_MARGIN = 1.03
/** How far a count by another model's tokenizer may be above that of its own. */
const FOREIGN_MARGIN = 2

/** @throws GatewayError for a limit that no provider of the model takes. */
export function worstCase(input: WorstCaseInput): WorstCase {
  const { request, model } = input
  const { contextWindow } = model
  const bound = promptBound(request, { contextWindow, names: namesOf(input) }, input.content)
  return withPrompt(input, bound, Math.min(bound.tokens, promptWindow(input)))
}

/** The longest prompt of one call: the window is that of each input of an embedding, and of each document. */
function promptWindow({
  request,
  model,
}: Pick<WorstCaseInput, 'request'> & { readonly model: Pick<Model, 'contextWindow'> }) {
  return model.contextWindow * inputCount(request.task)
}

/** Of the models behind the candidates; where a host's own name for one says nothing, ours. */
function namesOf({ model, candidates }: Named): readonly string[] {
  const names: string[] = []
  for (const target of candidates) {
    const name = isKnownModel(target.model) ? target.model : model.id
    if (!names.includes(name)) names.push(name)
  }
  return names
}

/** No prompt that is answered exceeds the window. */
function withPrompt(input: WorstCaseInput, bound: PromptBound, inputTokens: number): WorstCase {
  const { request, model, candidates } = input
  const { tokens, lowered, reasoningTokens } = planOutput({ request, model, promptTokens: inputTokens, candidates })
  const calls = callsAtWorst(request, candidates)
  const extraOutputTokens = (reasoningTokens + bound.predictionTokens) * request.n
  const likely = Math.min(bound.likelyTokens, inputTokens)
  const tools = worstOfTools(request, { price: model.price, targets: candidates, calls })
  const promptTokens = tools.growsPrompt ? Math.max(inputTokens, model.contextWindow) : inputTokens
  const unlikelyPromptTokens = (promptTokens - likely) * calls
  const byokFeePpm = input.byokFeePpm !== undefined && candidates.every(isOwn) ? input.byokFeePpm : undefined
  const listRates = ratesFor(input, {
    bound,
    promptTokens,
    calls,
    extraOutputTokens,
    unlikelyPromptTokens,
    tools,
  })
  return {
    promptTokens: inputTokens * calls,
    likelyTokens: likely * calls,
    outputTokens: tokens,
    reasoningTokens,
    lowered,
    rates: byokFeePpm === undefined ? listRates : feeRates(listRates, byokFeePpm),
    byokFeePpm,
    tools,
    bound,
  }
}

/** Rates of which no fee exceeds the cost: each is rounded up, and so is the fee, once more than the cost. */
function feeRates({ inputMicroUsd, outputMicroUsd, fixedNanoUsd }: HoldRates, feePpm: number): HoldRates {
  const share = (whole: number): number => Math.ceil((whole * feePpm) / 1e6)
  return {
    inputMicroUsd: share(inputMicroUsd),
    outputMicroUsd: share(outputMicroUsd),
    fixedNanoUsd: feePpm === 0 ? 0 : share(fixedNanoUsd) + 1,
  }
}

/** Where a provider gives one choice a call, every choice pays for the prompt. */
export function callsAtWorst({ n }: ChatRequest, candidates: readonly Candidate[]): number {
  return n > 1 && candidates.some((target) => spreads(target, n)) ? n : 1
}

interface Counted {
  readonly bound: PromptBound
  /** Of one call, with what tools of the provider may find. */
  readonly promptTokens: number
  readonly calls: number
  /** Output tokens beside the limit. */
  readonly extraOutputTokens: number
  /** Prompt tokens beyond those that are expected: held for, and charged only if a provider counts them. */
  readonly unlikelyPromptTokens: number
  readonly tools: ToolWorst
}

function ratesFor({ request, model, now }: WorstCaseInput, counted: Counted): HoldRates {
  const { bound, promptTokens, calls, extraOutputTokens, unlikelyPromptTokens, tools } = counted
  const { modalities, serviceTier } = request
  const wish = cacheWish(request, model)
  const facts: RequestFacts = {
    promptTokens,
    serviceTier,
    at: now,
    calls,
    images: bound.images * calls,
    serverTools: tools.uses,
    may: {
      cacheWrite: wish !== undefined,
      cacheWrite1h: wish === ANY_WISH || wish === '1h',
      cacheWrite12h: wish === ANY_WISH,
      audioInput: bound.hasAudio,
      audioOutput: modalities?.includes('audio') === true,
    },
  }
  const rates = dearestRates(model.price, facts)
  const pico = extraOutputTokens * rates.outputMicroUsd + unlikelyPromptTokens * rates.inputMicroUsd
  const { inputMicroUsd, outputMicroUsd, fixedNanoUsd } = rates
  return { inputMicroUsd, outputMicroUsd, fixedNanoUsd: fixedNanoUsd + Math.ceil(pico / 1000) }
}

const ANY_WISH = 'any'

/** Claude's cache is written where the request asks for it; other makers may write theirs in any case. */
function cacheWish(request: ChatRequest, { id, price }: WorstCaseInput['model']): Wish | typeof ANY_WISH {
  return price.cacheWriteMicroUsd === undefined || !/claude/i.test(id) ? ANY_WISH : requestedCacheTtl(request)
}

function requestedCacheTtl({ messages, tools = [], extra, native }: ChatRequest): Wish {
  let wish = longer(cacheTtlOf(extra), native?.caching)
  for (const tool of tools) wish = longer(wish, longer(cacheTtlOf(tool), cacheTtlOf(tool.function)))
  for (const message of messages) {
    wish = longer(wish, cacheTtlOf(message))
    if (Array.isArray(message.content)) for (const part of message.content) wish = longer(wish, cacheTtlOf(part))
  }
  return wish
}

type Wish = '5m' | '1h' | undefined

function cacheTtlOf(part: object): Wish {
  const { cache_control: control, prompt_cache_breakpoint: breakpoint } = part as Readonly<Record<string, unknown>>
  const wish = breakpoint ?? control
  if (wish === undefined || wish === null) return undefined
  return (wish as { readonly ttl?: unknown }).ttl === '1h' ? '1h' : '5m'
}

function longer(one: Wish, other: Wish): Wish {
  return one === '1h' || other === undefined ? one : other
}

/** Whether the prompt seems not to fit, so that it is to be counted before anything is held. */
export function seemsTooLong({ bound }: WorstCase, prompt: Parameters<typeof promptWindow>[0]): boolean {
  return bound.tokens > promptWindow(prompt)
}

/** Whether an exact count would lower what is held. */
export function isCountable({ bound }: WorstCase, named: Named): boolean {
  return !bound.isOpen && namesOf(named).every((name) => tokenFamilyOf(name).exact !== undefined)
}

/** How long a request waits for an exact count; without one its bound stands. */
const COUNT_TIMEOUT_MS = 500
/** Where the client asks for nothing but the count: the tokenizer is loaded by the first one. */
const ASKED_COUNT_TIMEOUT_MS = 10_000

/**
 * The worst case with the prompt's text counted off the event loop, never above the bound; the same where it cannot be
 * counted in time.
 * @throws GatewayError `context_length_exceeded` where the prompt cannot fit the window.
 */
export async function recount(
  worst: WorstCase,
  input: WorstCaseInput,
  countWhole: GatewayPorts['countWhole'],
): Promise<WorstCase> {
  const { bound } = worst
  const window = promptWindow(input)
  const counted = await countWhole(promptText(input.request), COUNT_TIMEOUT_MS)
  if (counted === undefined) return worst
  const isExact = isCountable(worst, input)
  const least = isExact ? counted : counted / FOREIGN_MARGIN
  if (least > window) throw tooLong(input, Math.ceil(least))
  if (!isExact) return worst
  const tokens = Math.min(Math.ceil(counted * COUNT_MARGIN) + bound.otherTokens, bound.tokens, window)
  return withPrompt(input, bound, tokens)
}

function tooLong({ request, model }: WorstCaseInput, tokens: number): GatewayError {
  const param = textParam(request.task)
  const window = promptWindow({ request, model })
  const message = `The prompt has at least ${tokens} tokens; the context window of the model '${model.id}' is ${window}. Shorten the ${param}.`
  return new GatewayError('context_length_exceeded', message, { param })
}

/*
 * How long an answer may be, decided before anything is held: the client's limit or the model's maximum. What is decided
 * here is held, and what is held is sent as the limit (`RenderTarget.outputTokens`).
 */

/** A request that names no limit is left so many tokens of the window at least, however long its prompt seems. */
const MIN_OUTPUT_TOKENS = 4096

interface OutputLimit {
  /** Of one choice. */
  readonly tokens: number
  /** Less than the client requested, because the model's maximum is less. */
  readonly lowered: boolean
  /** Of one choice, that providers may count and charge beside `tokens`. */
  readonly reasoningTokens: number
}

interface OutputPlanning {
  readonly request: ChatRequest
  readonly model: Model
  /** The upper bound of the prompt. */
  readonly promptTokens: number
  readonly candidates: readonly Candidate[]
}

const NO_OUTPUT: OutputLimit = { tokens: 0, lowered: false, reasoningTokens: 0 }

/** @throws GatewayError `invalid_value` for a limit above the model's maximum where every provider of it would refuse that. */
function planOutput({ request, model, promptTokens, candidates }: OutputPlanning): OutputLimit {
  const { contextWindow, maxOutputTokens: known } = model
  if (!generatesText(request.task)) return NO_OUTPUT
  const { maxTokens: requested } = request
  const most = known ?? contextWindow
  const reasoningTokens = reasoningBeside(request, model, candidates)
  if (requested === undefined) {
    const room = Math.max(contextWindow - promptTokens, MIN_OUTPUT_TOKENS)
    return { tokens: Math.min(most, room), lowered: false, reasoningTokens }
  }
  if (requested <= most) return { tokens: requested, lowered: false, reasoningTokens }
  if (known !== undefined && candidates.every(({ upstream }) => upstream.provider.outputLimit?.refusesMore === true)) {
    const message = `\`max_tokens\` must be at most ${known}, the longest answer of the model '${model.id}', not ${requested}.`
    throw new GatewayError('invalid_value', message, { param: 'max_tokens' })
  }
  return { tokens: most, lowered: true, reasoningTokens }
}

function reasoningBeside(request: ChatRequest, model: Model, candidates: readonly Candidate[]): number {
  let most = 0
  for (const { upstream } of candidates) {
    const tokens = upstream.provider.outputLimit?.reasoningOutside?.(request, model) ?? 0
    if (tokens > most) most = tokens
  }
  return Math.min(most, model.contextWindow)
}

/*
 * Tools that run at the provider: what is held for their fees.
 */

/** Where a call goes. */
export type Addressed = Pick<Target, 'upstream' | 'model'>

export interface ToolWorst {
  /** Most uses of all calls together, by name in prices. */
  readonly uses: Readonly<Record<string, number>>
  /** What a tool finds is read by the model: prompts may grow to the window. */
  readonly growsPrompt: boolean
}

const NONE: ToolWorst = { uses: {}, growsPrompt: false }

/**
 * The most that tools can be used, whatever target answers.
 * @throws GatewayError `unsupported_parameter` for a tool without a price, or with a fee and without a limit.
 */
function worstOfTools(
  request: ChatRequest,
  { price, targets, calls }: { readonly price: Price; readonly targets: readonly Addressed[]; readonly calls: number },
): ToolWorst {
  if (price.serverToolNanoUsd === undefined && request.serverTools === undefined) return NONE
  refuseUnpricedTools(request, price)
  const uses: Record<string, number> = {}
  let growsPrompt = false
  for (const target of targets) {
    for (const [name, { limit, param = 'tools' }] of Object.entries(usesAt(request, target))) {
      growsPrompt = true
      const fee = toolFee(name, price)
      if (fee === undefined) throw unpricedTool(name, param)
      if (limit === undefined && fee > 0) throw unlimited(request, name)
      uses[name] = Math.max(uses[name] ?? 0, (limit ?? 0) * calls)
    }
  }
  return growsPrompt ? { uses, growsPrompt } : NONE
}

/** The uses that one call of the target may charge for. */
export function usesAt(request: ChatRequest, { upstream, model }: Addressed): ToolUses {
  const { toolUses } = protocolOf(upstream.provider, request)
  return toolUses === undefined ? requestedToolUses(request) : toolUses(request, model)
}

function unlimited({ serverTools = [] }: ChatRequest, name: string): GatewayError {
  const param = serverTools.find((tool) => tool.name === name)?.param ?? name
  const message = `\`${param}\` is not supported: nothing limits how often the provider uses it, and each use has a fee. Send \`max_uses\`.`
  return new GatewayError('unsupported_parameter', message, { param })
}

/** What providers add to each message. */
const MESSAGE_TOKENS = 4

/** The prompt of one call by the gateway's own tokenizer, with an estimate of images and files. */
export async function countPromptTokens(
  input: WorstCaseInput,
  countWhole: GatewayPorts['countWhole'],
): Promise<number> {
  const { bound, likelyTokens } = worstCase({ ...input, request: { ...input.request, n: 1 } })
  const counted = await countWhole(promptText(input.request), ASKED_COUNT_TIMEOUT_MS)
  return counted === undefined
    ? likelyTokens
    : Math.ceil(counted) + MESSAGE_TOKENS * input.request.messages.length + bound.mediaTokens
}
