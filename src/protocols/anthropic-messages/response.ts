/**
 * Parses a whole answer into the same events as a stream, with the readers that both share. The wire is checked by
 * hand.
 * Invalid values read as absent, unless the answer would lose something by it.
 *
 * Source: https://platform.claude.com/docs/en/api/messages, and recorded answers.
 */
import type { ChatEvent, FinishReason, NativeEvent, Usage } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { count, firstToolUses, type MutableUsage, putSome, putToolUses, serviceTierOf } from '../body-fields.ts'
import { ANSWER_TOOL } from '../conversation.ts'
import { brokenAnswer, ProviderError } from '../protocol.ts'
import { addCitation, type UrlCitation } from '../server-tools.ts'
import { type ContextEntry, renderContext } from './context.ts'
import { failureOf } from './errors.ts'

interface Reading {
  readonly messageId: string
  readonly events: ChatEvent[]
  readonly entries: ContextEntry[]
  toolCount: number
  /** UTF-16 units of text so far. */
  textLength: number
  readonly annotations: UrlCitation[]
  /** The type of the previous block. */
  lastType: unknown
}

/**
 * Parses an answer. Empty content is an answer; without a stop reason it has no finish event.
 * @throws ProviderError if the body is not JSON, is an error, or has no content.
 */
export function parseResponse(body: string): ChatEvent[] {
  const answer = parseAnswer(body)
  const { content, stop_reason: reason } = answer
  if (!Array.isArray(content)) throw brokenAnswer('The provider answered without content.')
  const messageId = textOf(answer['id'])
  const reading: Reading = {
    messageId,
    events: [],
    entries: [],
    toolCount: 0,
    textLength: 0,
    annotations: [],
    lastType: undefined,
  }
  for (const block of content) {
    if (!isRecord(block)) continue
    readBlock(block, reading)
    reading.lastType = block['type']
  }
  const raw = textOf(reason)
  const { events, entries, toolCount, annotations } = reading
  if (annotations.length > 0) events.push({ type: 'extension', index: 0, field: 'annotations', value: annotations })
  const context = renderContext(entries)
  if (context !== undefined) events.push({ type: 'extension', index: 0, field: 'provider_context', value: context })
  const others = otherFields(answer)
  if (others !== undefined) events.push(others)
  if (raw !== '') {
    const ending = { reason: parseFinish(raw, toolCount > 0), raw, ...stopSequenceOf(answer) }
    events.push({ type: 'finish', index: 0, ...ending })
  }
  const results = content.filter(isRecord).reduce<Counts>(withResult, {})
  const usage = usageOf({ ...results, ...readCounts(answer['usage']) })
  if (usage !== undefined) events.push({ type: 'usage', usage })
  return events
}

function parseAnswer(body: string): Json {
  const answer = parseJson(body)
  if (!isRecord(answer)) throw brokenAnswer('The provider answered with something that is not JSON.')
  if (answer['type'] === 'error' || isRecord(answer['error'])) throw new ProviderError(failureOf(answer, 200))
  return answer
}

/**
 * Blocks of other types (the provider's own tools and containers, later additions) are for clients of this API only.
 */
function readBlock(block: Json, reading: Reading): void {
  const { events, entries } = reading
  const { type, text, thinking, signature, data } = block
  if (type === 'text') {
    const start = reading.textLength
    if (reading.lastType === 'text') events.push(nativeEvent('stop'))
    readText(textOf(text), reading)
    if (Array.isArray(block['citations'])) events.push(...block['citations'].filter(isRecord).map(citationEvent))
    citePages(reading.annotations, block['citations'], { start, end: reading.textLength })
  }
  if (type === 'tool_use') readCall(block, reading)
  else if (isForeign(type)) events.push(nativeEvent('start', block), nativeEvent('stop'))
  else if (type === 'redacted_thinking' && textOf(data) !== '') {
    entries.push({ type, data: textOf(data) })
    events.push({ type: 'reasoning', index: 0, text: '', redacted: textOf(data) })
  } else if (type === 'thinking') {
    entries.push({ type, thinking: textOf(thinking), signature: textOf(signature) })
    if (textOf(thinking) !== '') events.push({ type: 'reasoning', index: 0, text: textOf(thinking) })
    if (textOf(signature) !== '') events.push({ type: 'reasoning', index: 0, text: '', signature: textOf(signature) })
  }
}

const TYPES: ReadonlySet<unknown> = new Set(['text', 'tool_use', 'thinking', 'redacted_thinking'])

/** Returns whether only clients of this API know the type of block. */
export function isForeign(type: unknown): boolean {
  return typeof type === 'string' && !TYPES.has(type)
}

export function nativeEvent(part: NativeEvent['part'], value: Json = {}): NativeEvent {
  return { type: 'native', index: 0, protocol: 'anthropic', part, value }
}

/** @param citation Of the text before it. */
export function citationEvent(citation: Json): NativeEvent {
  return nativeEvent('delta', { type: 'citations_delta', citation })
}

/**
 * Returns the fields of a message, or of the event that ends it, that the gateway does not read. Undefined if there
 * are none.
 */
export function otherFields(message: Json): NativeEvent | undefined {
  const { usage } = message
  const fields = OTHER_FIELDS.flatMap((name) => (isRecord(message[name]) ? [[name, message[name]] as const] : []))
  const tools = isRecord(usage) && isRecord(usage['server_tool_use']) ? usage['server_tool_use'] : undefined
  if (fields.length === 0 && tools === undefined) return undefined
  return nativeEvent('message', { ...Object.fromEntries(fields), ...(tools && { usage: { server_tool_use: tools } }) })
}

const OTHER_FIELDS = ['container', 'context_management', 'stop_details'] as const

function readText(text: string, reading: Reading): void {
  const { events, entries } = reading
  if (text === '') return
  reading.textLength += text.length
  events.push({ type: 'text', index: 0, text })
  entries.push({ type: 'text', length: text.length })
}

function readCall(block: Json, reading: Reading): void {
  const { events, entries, messageId } = reading
  const name = textOf(block['name'])
  if (name === '') throw brokenAnswer('The provider called a tool without a name.')
  const input = JSON.stringify(block['input'] ?? {})
  if (name === ANSWER_TOOL) {
    readText(input, reading)
    return
  }
  const toolIndex = reading.toolCount++
  const id = textOf(block['id']) || generatedCallId(messageId, toolIndex)
  events.push({ type: 'tool-call', index: 0, toolIndex, id, name, arguments: input })
  entries.push({ type: 'tool_use', id })
}

/** @param ending The message, or the delta that ends it. */
export function stopSequenceOf({ stop_sequence: stop }: Json): { readonly stopSequence: string } | undefined {
  return typeof stop === 'string' && stop !== '' ? { stopSequence: stop } : undefined
}

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
}

/**
 * An unknown reason is a normal end, since new ones are added.
 * @param calledTools Whether the client's tools were called; `tool_use` alone may be the answer tool.
 */
export function parseFinish(raw: string, calledTools: boolean): FinishReason {
  const reason = Object.hasOwn(FINISH_REASONS, raw) ? FINISH_REASONS[raw] : undefined
  return (reason ?? 'stop') === 'stop' ? (calledTools ? 'tool_calls' : 'stop') : (reason ?? 'stop')
}

/** The characters of a message's ID that are examined, once for each call. */
const LONGEST_ID = 256

/** An ID for calls of hosts that give none: unique within a conversation as far as the host's message ids are. */
export function generatedCallId(messageId: string, toolIndex: number): string {
  return `toolu_${messageId
    .slice(-LONGEST_ID)
    .replace(/[^A-Za-z0-9_-]/g, '')
    .slice(-24)}_${toolIndex}`
}

/** Adds the pages that the range of the text cites. Sources without an address are ignored. */
export function citePages(
  known: UrlCitation[],
  citations: unknown,
  { start, end }: { start: number; end: number },
): void {
  if (!Array.isArray(citations)) return
  for (const cited of citations) {
    if (!isRecord(cited)) continue
    const { url, title } = cited
    addCitation(known, { start_index: start, end_index: end, url: textOf(url), title: textOf(title) })
  }
}

/** The provider's own counts, which are totals of the call so far. Cached tokens are beside `input`, not within it. */
export interface Counts {
  readonly input?: number
  readonly cacheRead?: number
  /** The tokens of all lifetimes together. */
  readonly cacheWrite?: number
  readonly cacheWrite1h?: number
  readonly output?: number
  readonly thinking?: number
  /** Uses by the wire's names: `web_search_requests`, … */
  readonly toolUses?: Json
  /** Undefined for the standard tier. */
  readonly serviceTier?: string
}

/** Counts that are absent, null, negative or no whole numbers are left out, never zero. */
export function readCounts(value: unknown): Counts {
  if (!isRecord(value)) return {}
  const details = isRecord(value['output_tokens_details']) ? value['output_tokens_details'] : {}
  const lifetimes = isRecord(value['cache_creation']) ? value['cache_creation'] : {}
  const toolUses = value['server_tool_use']
  return withoutUndefined({
    input: count(value['input_tokens']),
    cacheRead: count(value['cache_read_input_tokens']),
    cacheWrite: count(value['cache_creation_input_tokens']),
    output: count(value['output_tokens']),
    thinking: count(details['thinking_tokens']),
    cacheWrite1h: count(lifetimes['ephemeral_1h_input_tokens']),
    toolUses: firstToolUses(toolUses),
    // Fast mode has its own prices.
    serviceTier: value['speed'] === 'fast' ? 'fast' : serviceTierOf(value['service_tier']),
  })
}

/** @returns undefined when nothing was counted. */
export function usageOf(counts: Counts): Usage | undefined {
  const { input, cacheRead, cacheWrite, output, thinking } = counts
  const usage: MutableUsage = withoutUndefined({
    promptTokens: input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0),
    completionTokens: output,
    cachedTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: thinking,
  })
  if (Object.keys(usage).length === 0) return undefined
  putSome(usage, 'cacheWrite1hTokens', counts.cacheWrite1h)
  putToolUses(usage, counts.toolUses, (name) => name.replace(/_requests$/, ''))
  if (counts.serviceTier !== undefined) usage.serviceTier = counts.serviceTier
  return usage
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

function withoutUndefined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>
}

/** Counts a use where the block is the result of a successful search, since those are charged for. */
export function withResult(counts: Counts, { type, content }: Json): Counts {
  if (type !== 'web_search_tool_result' || !Array.isArray(content)) return counts
  const { toolUses = {} } = counts
  return {
    ...counts,
    toolUses: { ...toolUses, web_search_requests: (count(toolUses['web_search_requests']) ?? 0) + 1 },
  }
}
