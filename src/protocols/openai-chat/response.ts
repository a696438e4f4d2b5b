/**
 * Parses a whole answer into the same events as a stream, with the readers that both share: texts, usage, reasoning
 * details. The wire is checked by hand, since a schema library costs more than the parse itself. Invalid values read as
 * absent, unless the answer would lose something by it.
 *
 * Sources: https://platform.openai.com/docs/api-reference/chat, the recorded answers of the hosts, and
 * https://openrouter.ai/docs/use-cases/reasoning-tokens for `reasoning_details`, read 2026-11-20.
 */
import type { ChatEvent, FinishReason, Usage } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { count, type MutableUsage, put, putSome, putToolUses, serviceTierOf } from '../body-fields.ts'
import { brokenAnswer, ProviderError } from '../protocol.ts'
import { failureOf } from './errors.ts'

/**
 * A choice without a finish reason has no finish event: the gateway invents none.
 * @throws ProviderError for no JSON, an `error` in its place, no choices, a choice that broke down or is empty.
 */
export function parseResponse(body: string): ChatEvent[] {
  const answer = parseAnswer(body)
  const { choices } = answer
  if (!Array.isArray(choices) || choices.length === 0) throw brokenAnswer('The provider answered without choices.')
  const events: ChatEvent[] = []
  choices.forEach((choice: unknown, position) => {
    if (!isRecord(choice)) throw brokenAnswer('The provider answered with an unreadable choice.')
    readChoice(choice, { position, answerId: textOf(answer.id) }, events)
  })
  const usage = parseUsage(answer.usage, answer.service_tier)
  if (usage !== undefined) events.push({ type: 'usage', usage })
  return events
}

function parseAnswer(body: string): Json {
  const answer = parseJson(body)
  if (!isRecord(answer)) throw brokenAnswer('The provider answered with something that is not JSON.')
  if (hasError(answer)) throw new ProviderError(failureOf(answer, 200))
  return answer
}

interface ChoicePosition {
  readonly position: number
  readonly answerId: string
}

function readChoice(choice: Json, at: ChoicePosition, events: ChatEvent[]): void {
  const index =
    typeof choice.index === 'number' && Number.isInteger(choice.index) && choice.index >= 0 ? choice.index : at.position
  const raw = textOf(choice.finish_reason)
  if (isBreakdown(raw)) throw new ProviderError(failureOf({ error: choice.error ?? { code: raw } }, 200))
  const before = events.length
  const message = isRecord(choice.message) ? choice.message : {}
  readTexts({ index, events }, message, choice.logprobs)
  const calls = toolCalls(message)
  calls.forEach((call, toolIndex) => {
    events.push(toolCallEvent(call, { index, toolIndex, answerId: at.answerId }))
  })
  readExtensions({ index, events }, message)
  const details = detailsIn(message)
  if (details.length > 0) {
    events.push({ type: 'extension', index, field: 'provider_context', value: contextOf(details) })
  }
  if (raw === '' && events.length === before) throw brokenAnswer('The provider answered with an empty choice.')
  if (raw === '') return
  const reason = parseFinish(raw, calls.length > 0)
  const isNull = message.content === null && calls.length === 0
  const finish = { type: 'finish', index, reason, raw, ...stopSequenceOf(choice) } as const
  events.push(isNull ? { ...finish, contentIsNull: true } : finish)
}

export interface NamedStop {
  readonly stopSequence: string
}

/** vLLM and its relatives name the stop sequence as `stop_reason` beside `finish_reason: "stop"`. */
export function stopSequenceOf({ finish_reason: reason, stop_reason: stop }: Json): NamedStop | undefined {
  return reason === 'stop' && typeof stop === 'string' && stop !== '' ? { stopSequence: stop } : undefined
}

/** Both current and legacy (`function_call`) calls. */
function toolCalls(message: Json): readonly Json[] {
  if (Array.isArray(message.tool_calls) && message.tool_calls.length > 0) return message.tool_calls.filter(isRecord)
  return isRecord(message.function_call) ? [{ function: message.function_call }] : []
}

interface CallPosition {
  readonly index: number
  readonly toolIndex: number
  readonly answerId: string
}

function toolCallEvent(call: Json, { index, toolIndex, answerId }: CallPosition): ChatEvent {
  const { called, isCustom } = calledTool(call)
  const name = textOf(called.name)
  if (name === '') throw brokenAnswer('The provider called a tool without a name.')
  const id = textOf(call.id) || generatedCallId(answerId, index, toolIndex)
  const event = { type: 'tool-call', index, toolIndex, id, name } as const
  if (isCustom) return { ...event, arguments: textOf(called.input), custom: true }
  return { ...event, arguments: argumentsText(called.arguments) || '{}' }
}

/** The characters of an answer's ID that are examined, once for each call. */
const LONGEST_ID = 256

/** An ID for calls of hosts that give none: unique within a conversation as far as the host's answer ids are. */
export function generatedCallId(answerId: string, index: number, toolIndex: number): string {
  return `call_${answerId
    .slice(-LONGEST_ID)
    .replace(/[^A-Za-z0-9_-]/g, '')
    .slice(-24)}_${index}_${toolIndex}`
}

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  function_call: 'tool_calls',
  tool_use: 'tool_calls',
  model_length: 'length',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  sensitive: 'content_filter',
}

/** Values in place of a finish reason that report an incomplete answer. */
const BREAKDOWNS: readonly string[] = ['error', 'abort', 'insufficient_system_resource', 'network_error']

/** Returns whether a finish reason reports a failure of the host. */
export function isBreakdown(raw: unknown): boolean {
  return typeof raw === 'string' && BREAKDOWNS.includes(raw)
}

/**
 * Hosts have many names for a normal end (`eos`, `end_turn`, …), so an unknown one is `stop`.
 * @param calledTools Whether the choice has tool calls; then `stop` becomes `tool_calls`.
 */
export function parseFinish(raw: string, calledTools: boolean): FinishReason {
  const reason = Object.hasOwn(FINISH_REASONS, raw) ? FINISH_REASONS[raw] : undefined
  return calledTools && (reason === undefined || reason === 'stop') ? 'tool_calls' : (reason ?? 'stop')
}

/** JSON text of a tool call's arguments, which some hosts send as an object; '' when there are none. */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** The function or custom tool in a tool call or a fragment of one. */
function calledTool(call: Json): { readonly called: Json; readonly isCustom: boolean } {
  if (isRecord(call.function)) return { called: call.function, isCustom: false }
  return isRecord(call.custom) ? { called: call.custom, isCustom: true } : NO_TOOL
}

const NO_TOOL = { called: {}, isCustom: false }

/** Returns whether a choice's `logprobs` have entries. */
function hasLogprobs(logprobs: unknown): boolean {
  if (!isRecord(logprobs)) return false
  const { content, refusal } = logprobs
  return (Array.isArray(content) && content.length > 0) || (Array.isArray(refusal) && refusal.length > 0)
}

/** Returns whether a body or chunk reports an error instead of an answer. */
export function hasError(body: Json): boolean {
  const { error } = body
  return (error !== undefined && error !== null && error !== '') || body.object === 'error'
}

/** Receives the events of one choice. */
export interface ChoiceSink {
  readonly index: number
  readonly events: ChatEvent[]
}

/**
 * Appends the reasoning, text and refusal of a message or delta, in this order. Two names for reasoning are in use;
 * a host that sends both sends the same text twice.
 */
export function readTexts(sink: ChoiceSink, message: Json, logprobs: unknown): void {
  const { index, events } = sink
  const reasoning = textOf(message.reasoning_content) || textOf(message.reasoning)
  if (reasoning !== '') events.push({ type: 'reasoning', index, text: reasoning })
  const { content } = message
  const refusal = textOf(message.refusal)
  if (Array.isArray(content)) readParts(sink, content)
  else if (refusal === '' && hasLogprobs(logprobs))
    events.push({ type: 'text', index, text: textOf(content), logprobs })
  else if (typeof content === 'string' && content !== '') events.push({ type: 'text', index, text: content })
  if (refusal === '') return
  if (hasLogprobs(logprobs)) events.push({ type: 'refusal', index, text: refusal, logprobs })
  else events.push({ type: 'refusal', index, text: refusal })
}

/** Appends fields that the gateway passes on without reading them. */
export function readExtensions(sink: ChoiceSink, message: Json): void {
  carry(sink, 'annotations', message.annotations)
  carry(sink, 'audio', message.audio)
  carry(sink, 'images', message.images)
}

function carry(sink: ChoiceSink, field: string, value: unknown): void {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return
  sink.events.push({ type: 'extension', index: sink.index, field, value })
}

/**
 * Content in parts: `{type: 'text', text}` and `{type: 'thinking', thinking: string | {text}[]}`; others are unknown.
 */
function readParts({ index, events }: ChoiceSink, parts: readonly unknown[]): void {
  for (const part of parts) {
    if (!isRecord(part)) continue
    const text = part.type === 'thinking' ? thinkingText(part.thinking) : textOf(part.text)
    if (text !== '') events.push({ type: part.type === 'thinking' ? 'reasoning' : 'text', index, text })
  }
}

function thinkingText(value: unknown): string {
  if (!Array.isArray(value)) return textOf(value)
  return value.map((part: unknown) => (isRecord(part) ? textOf(part.text) : '')).join('')
}

/**
 * Reads the usage of an answer or a chunk, so that both are counted alike. Counts that are absent, negative or not
 * whole numbers are left out, never zero.
 * @param serviceTier Of the answer, beside its usage.
 * @returns undefined when nothing was counted.
 */
export function parseUsage(value: unknown, serviceTier?: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const prompt = details(value.prompt_tokens_details)
  const completion = details(value.completion_tokens_details)
  const reasoning = count(completion.reasoning_tokens)
  const usage: MutableUsage = {}
  put(usage, 'promptTokens', count(value.prompt_tokens))
  put(usage, 'completionTokens', completionTokens(value, reasoning))
  put(usage, 'cachedTokens', cachedTokens(value, prompt))
  put(usage, 'cacheWriteTokens', cacheWriteTokens(value, prompt))
  put(usage, 'reasoningTokens', reasoning)
  if (Object.keys(usage).length === 0) return undefined
  putSome(usage, 'cacheWrite1hTokens', count(lifetimes(value, prompt).ephemeral_1h_input_tokens))
  putSome(usage, 'cacheWrite12hTokens', count(lifetimes(value, prompt).ephemeral_12h_input_tokens))
  putSome(usage, 'audioInputTokens', count(prompt.audio_tokens))
  putSome(usage, 'cachedAudioTokens', count(details(prompt.cached_tokens_details).audio_tokens))
  putSome(usage, 'audioOutputTokens', count(completion.audio_tokens))
  putSome(usage, 'imageOutputTokens', count(completion.image_tokens))
  putUses(usage, value)
  const tier = serviceTierOf(serviceTier ?? value.service_tier)
  if (tier !== undefined) usage.serviceTier = tier
  return usage
}

/** OpenRouter, Alibaba and proxies of Anthropic's models. */
function cacheWriteTokens(usage: Json, prompt: Json): number | undefined {
  return (
    count(prompt.cache_write_tokens) ??
    count(prompt.cache_creation_tokens) ??
    count(prompt.cache_creation_input_tokens) ??
    count(usage.cache_creation_input_tokens)
  )
}

/** Cache writes by lifetime, as Anthropic splits them. */
function lifetimes(usage: Json, prompt: Json): Json {
  return details(prompt.cache_creation ?? usage.cache_creation)
}

/** OpenRouter's and xAI's tools, Perplexity's searches, and the sources of xAI's older live search. */
function putUses(usage: MutableUsage, wire: Json): void {
  const { server_tool_use: requests, server_side_tool_usage_details: calls } = wire
  if (requests !== undefined) putToolUses(usage, requests, (name) => name.replace(/_requests$/, ''))
  if (calls !== undefined) putToolUses(usage, calls, (name) => name.replace(/_calls$/, ''))
  const { num_search_queries: web_search, num_sources_used: live_search } = wire
  if (web_search || live_search) putToolUses(usage, { web_search, live_search }, (name) => name)
  if (wire.plugins !== undefined) putPlugins(usage, details(wire.plugins))
}

/** Alibaba's searches, whose strategies have fees of their own: `{"search": {"count": 1, "strategy": "agent"}}`. */
function putPlugins(usage: MutableUsage, { search }: Json): void {
  const { count: uses, strategy } = details(search)
  putToolUses(usage, { search: uses }, () => searchByStrategy(strategy))
}

/** The name in prices of a search by one of Alibaba's strategies. */
export function searchByStrategy(strategy: unknown): string {
  return strategy === 'agent' || strategy === 'agent_max' ? `web_search_${strategy}` : 'web_search'
}

/**
 * Returns the completion tokens. Some hosts count reasoning in addition to the completion, which their total reveals.
 */
function completionTokens(usage: Json, reasoning: number | undefined): number | undefined {
  const completion = count(usage.completion_tokens)
  const prompt = count(usage.prompt_tokens)
  if (completion === undefined || prompt === undefined || reasoning === undefined) return completion
  const isBeside = reasoning > 0 && count(usage.total_tokens) === prompt + completion + reasoning
  return isBeside ? completion + reasoning : completion
}

function cachedTokens(usage: Json, prompt: Json): number | undefined {
  return (
    count(prompt.cached_tokens) ??
    count(usage.prompt_cache_hit_tokens) ??
    count(usage.cached_tokens) ??
    count(usage.num_cached_tokens)
  )
}

function details(value: unknown): Json {
  return isRecord(value) ? value : {}
}

/** The key of this protocol in `provider_context`. */
const KEY = 'openai-chat'
/** The fields that a stream sends in pieces. */
const PIECEWISE = ['text', 'summary'] as const

/** The reasoning details of a message or delta; invalid entries are ignored. */
export function detailsIn(message: Json): readonly Json[] {
  const { reasoning_details: details } = message
  return Array.isArray(details) ? details.filter(isRecord) : []
}

/**
 * The value of `provider_context` for reasoning details (text with its signature, summaries, encrypted data), which a
 * follow-up must return unchanged. Each detail has its `index`, which clients that join deltas require.
 */
export function contextOf(details: readonly Json[]): Json {
  const indexed = details.map((detail, index) => (Number.isInteger(detail.index) ? detail : { ...detail, index }))
  return { [KEY]: { reasoning_details: indexed } }
}

/** @param context `provider_context` of a client's message, unvalidated. */
export function detailsOf(context: unknown): readonly Json[] {
  const ours = isRecord(context) ? context[KEY] : undefined
  return isRecord(ours) ? detailsIn(ours) : []
}

/** Reasoning details of a stream, gathered from their pieces in time that grows with their length alone. */
export interface ReasoningDetails {
  /** Appends a piece, or continues the last detail of its index and type. */
  add(piece: Json): void
  /** Returns a copy of the list. */
  list(): readonly Json[]
  /** Returns the number of pieces that were added. */
  pieces(): number
}

export function createReasoningDetails(): ReasoningDetails {
  const gathered: Record<string, unknown>[] = []
  /** The last detail of each index and type. */
  const latest = new Map<string, Record<string, unknown>>()
  let pieces = 0
  return {
    add(piece) {
      pieces += 1
      const kind = JSON.stringify([piece.index, piece.type])
      const earlier = latest.get(kind)
      if (earlier !== undefined && PIECEWISE.some((field) => field in earlier)) return continueDetail(earlier, piece)
      const detail = { ...piece }
      latest.set(kind, detail)
      gathered.push(detail)
    },
    list: () => gathered.map((detail) => ({ ...detail })),
    pieces: () => pieces,
  }
}

function continueDetail(detail: Record<string, unknown>, piece: Json): void {
  for (const [field, value] of Object.entries(piece)) {
    const earlier = detail[field]
    const isJoined = (field === 'text' || field === 'summary') && typeof earlier === 'string'
    if (isJoined && typeof value === 'string') detail[field] = earlier + value
    else if (value !== null) detail[field] = value
  }
}
