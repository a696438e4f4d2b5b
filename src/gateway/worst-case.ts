/**
 * The most that a request can cost: an upper bound of its prompt, the limit of its output, and the highest rates that
 * can apply. Admission holds this cost and reserves these tokens from the rate limits.
 */
import { type PromptBound, type PromptContent, promptBound, promptText } from '../domain/bounds/reservation.ts'
import { isKnownModel, tokenFamilyOf } from '../domain/bounds/token-bound.ts'
import { type ChatRequest, generatesText, inputCount, textParam } from '../domain/chat.ts'
import type { HoldRates } from '../domain/credit.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import { highestRates, type Price, type RequestFacts } from '../domain/price/tariff.ts'
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
import type { Target } from './upstream/transport.ts'

export interface WorstCase {
  /** The upper bound for all calls together. */
  readonly promptTokens: number
  /** The expected tokens of all calls together. */
  readonly likelyTokens: number
  /** The output limit of one choice. */
  readonly outputTokens: number
  /** Reasoning tokens of one choice that a provider may charge in addition to `outputTokens`. */
  readonly reasoningTokens: number
  /** The client's limit exceeded the model's maximum. */
  readonly lowered: boolean
  readonly rates: HoldRates
  /** Set if all candidates use the account's own credentials. `rates` are then this share, in millionths. */
  readonly byokFeePpm?: number | undefined
  /** Tools that run at the provider. */
  readonly tools: ToolWorst
  /** The input of `recount`. */
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
  /** The request's prompt if it was measured before. */
  readonly content?: PromptContent | undefined
  /** The share of the cost, in millionths, that the account pays for calls with its own credentials. */
  readonly byokFeePpm?: number | undefined
}

/** The error of our own count: templates, and texts divided at other positions. */
const COUNT_MARGIN = 1.03
/** The factor by which another model's tokenizer may count more than the model's own. */
const FOREIGN_MARGIN = 2

/** @throws GatewayError for a limit that no provider of the model accepts. */
export function worstCase(input: WorstCaseInput): WorstCase {
  const { request, model } = input
  const { contextWindow } = model
  const bound = promptBound(request, { contextWindow, names: namesOf(input) }, input.content)
  return withPrompt(input, bound, Math.min(bound.tokens, promptWindow(input)))
}

/** Returns the longest prompt of one call: the window applies to each input of an embedding and to each document. */
function promptWindow({
  request,
  model,
}: Pick<WorstCaseInput, 'request'> & { readonly model: Pick<Model, 'contextWindow'> }) {
  return model.contextWindow * inputCount(request.task)
}

/**
 * Returns the names of the models behind the candidates: the host's own name, or ours if that one is not informative.
 */
function namesOf({ model, candidates }: Named): readonly string[] {
  const names: string[] = []
  for (const target of candidates) {
    const name = isKnownModel(target.model) ? target.model : model.id
    if (!names.includes(name)) names.push(name)
  }
  return names
}

/** Computes the worst case of a prompt. Its bound is limited to the window, which no answered prompt exceeds. */
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

/**
 * Returns rates that cover a share of the cost: each rate is rounded up, and so is the fee, once more than the cost.
 */
function feeRates({ inputMicroUsd, outputMicroUsd, fixedNanoUsd }: HoldRates, feePpm: number): HoldRates {
  const share = (whole: number): number => Math.ceil((whole * feePpm) / 1e6)
  return {
    inputMicroUsd: share(inputMicroUsd),
    outputMicroUsd: share(outputMicroUsd),
    fixedNanoUsd: feePpm === 0 ? 0 : share(fixedNanoUsd) + 1,
  }
}

/** Returns the number of calls: if a provider returns one choice a call, every choice pays for the prompt. */
export function callsAtWorst({ n }: ChatRequest, candidates: readonly Candidate[]): number {
  return n > 1 && candidates.some((target) => spreads(target, n)) ? n : 1
}

interface Counted {
  readonly bound: PromptBound
  /** The prompt of one call, including what the provider's tools may add. */
  readonly promptTokens: number
  readonly calls: number
  /** Output tokens in addition to the limit. */
  readonly extraOutputTokens: number
  /** Prompt tokens beyond the expected ones, which are held, and charged only if a provider counts them. */
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
  const rates = highestRates(model.price, facts)
  const pico = extraOutputTokens * rates.outputMicroUsd + unlikelyPromptTokens * rates.inputMicroUsd
  const { inputMicroUsd, outputMicroUsd, fixedNanoUsd } = rates
  return { inputMicroUsd, outputMicroUsd, fixedNanoUsd: fixedNanoUsd + Math.ceil(pico / 1000) }
}

const ANY_WISH = 'any'

/** Returns which cache writes to expect: Claude's only on request, those of other makers in any case. */
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

/** Returns whether the prompt seems too long for the window, so that it must be counted before credit is held. */
export function seemsTooLong({ bound }: WorstCase, prompt: Parameters<typeof promptWindow>[0]): boolean {
  return bound.tokens > promptWindow(prompt)
}

/** Returns whether an exact count would lower the hold. */
export function isCountable({ bound }: WorstCase, named: Named): boolean {
  return !bound.isOpen && namesOf(named).every((name) => tokenFamilyOf(name).exact !== undefined)
}

/** How long a request waits for an exact count. After that its upper bound applies. */
const COUNT_TIMEOUT_MS = 500
/** The timeout if the bound is so far above the window that the provider would probably refuse the prompt. */
const LIKELY_TOO_LONG_TIMEOUT_MS = 3000
/** The timeout if the client requests only the count: the first count loads the tokenizer. */
const ASKED_COUNT_TIMEOUT_MS = 10_000

/**
 * Returns the worst case with the prompt's text counted off the event loop, never above the bound. Returns the same one
 * if it cannot be counted in time.
 * @throws GatewayError `context_length_exceeded` where the prompt cannot fit the window.
 */
export async function recount(
  worst: WorstCase,
  input: WorstCaseInput,
  countWhole: GatewayPorts['countWhole'],
): Promise<WorstCase> {
  const { bound } = worst
  const window = promptWindow(input)
  const isExact = isCountable(worst, input)
  const enough = isExact ? window : window * FOREIGN_MARGIN
  const timeoutMs = bound.tokens > window * FOREIGN_MARGIN ? LIKELY_TOO_LONG_TIMEOUT_MS : COUNT_TIMEOUT_MS
  const counted = await countWhole(promptText(input.request), timeoutMs, enough)
  if (counted === undefined) return worst
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
 * The output limit, decided before credit is held: the client's limit or the model's maximum. The hold covers it, and
 * the provider receives it (`RenderTarget.outputTokens`).
 */

/** The part of the window that remains for the answer of a request without a limit, however long its prompt seems. */
const MIN_OUTPUT_TOKENS = 4096

interface OutputLimit {
  /** The output limit of one choice. */
  readonly tokens: number
  /** Whether the model's maximum is lower than the client's limit. */
  readonly lowered: boolean
  /** Reasoning tokens of one choice that providers may charge in addition to `tokens`. */
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

/**
 * @throws GatewayError `invalid_value` for a limit above the model's maximum if every provider of it would reject
 * that.
 */
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
    const message = `\`max_tokens\` must be at most ${known}, the output limit of the model '${model.id}', not ${requested}.`
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
 * Tools that run at the provider, and the hold for their fees.
 */

/** The destination of a call. */
export type Addressed = Pick<Target, 'upstream' | 'model'>

export interface ToolWorst {
  /** The most uses of all calls together, by the name in prices. */
  readonly uses: Readonly<Record<string, number>>
  /** Whether the model reads the results of a tool, so that the prompt may grow to the window. */
  readonly growsPrompt: boolean
}

const NONE: ToolWorst = { uses: {}, growsPrompt: false }

/**
 * Returns the most uses of tools, whatever target answers.
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

/** Returns the uses that one call of the target may charge. */
export function usesAt(request: ChatRequest, { upstream, model }: Addressed): ToolUses {
  const { toolUses } = protocolOf(upstream.provider, request)
  return toolUses === undefined ? requestedToolUses(request) : toolUses(request, model)
}

function unlimited({ serverTools = [] }: ChatRequest, name: string): GatewayError {
  const param = serverTools.find((tool) => tool.name === name)?.param ?? name
  const message = `\`${param}\` needs \`max_uses\`: each use has a fee, and the provider does not limit the number of uses.`
  return new GatewayError('unsupported_parameter', message, { param })
}

/** The tokens that providers add to each message. */
const MESSAGE_TOKENS = 4

/** Counts the prompt of one call with the gateway's own tokenizer, with an estimate for images and files. */
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
