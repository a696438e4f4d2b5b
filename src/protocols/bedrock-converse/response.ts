/**
 * Parses a whole answer into the same events as a stream, with the readers that both share. The wire is checked by
 * hand.
 * Invalid values read as absent, unless the answer would lose something by it.
 *
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, and recorded answers.
 */
import type { ChatEvent, FinishReason, Usage } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { citationEvent, citePages, nativeEvent } from '../anthropic-messages/response.ts'
import { count, type MutableUsage, putSome, serviceTierOf } from '../body-fields.ts'
import { ANSWER_TOOL } from '../conversation.ts'
import { brokenAnswer, ProviderError } from '../protocol.ts'
import type { UrlCitation } from '../server-tools.ts'
import { type ContextEntry, renderContext } from './context.ts'
import { failureOf } from './errors.ts'

/** Without a stop reason there is no finish event. @throws ProviderError if the body is not JSON or has no message. */
export function parseResponse(body: string): ChatEvent[] {
  const answer = parseJson(body)
  if (!isRecord(answer)) throw brokenAnswer('The provider answered with something that is not JSON.')
  const message = isRecord(answer['output']) ? answer['output']['message'] : undefined
  if (!isRecord(message)) throw new ProviderError(failureOf({ status: 200, type: '', body: answer }))
  const raw = textOf(answer['stopReason'])
  const reading: Reading = { events: [], entries: [], pages: [], textLength: 0, calls: 0, isText: false }
  const blocks = Array.isArray(message['content']) ? message['content'] : []
  for (const block of blocks) if (isRecord(block)) readBlock(block, reading)
  const { events, entries, pages, calls } = reading
  events.push(...annotationEvents(pages))
  const context = renderContext(entries)
  if (context !== undefined) events.push({ type: 'extension', index: 0, field: 'provider_context', value: context })
  if (raw !== '') events.push({ type: 'finish', index: 0, reason: parseFinish(raw, calls > 0), raw })
  const usage = parseUsage(answer['usage'], answer['serviceTier'])
  if (usage !== undefined) events.push({ type: 'usage', usage })
  return events
}

interface Reading {
  readonly events: ChatEvent[]
  readonly entries: ContextEntry[]
  readonly pages: UrlCitation[]
  textLength: number
  calls: number
  /** Whether the previous block was text. */
  isText: boolean
}

/** Ignores blocks of unknown kinds. */
function readBlock(block: Json, reading: Reading): void {
  const { text, toolUse, reasoningContent, citationsContent } = block
  const isText = typeof text === 'string' || isRecord(citationsContent)
  if (isText && reading.isText) reading.events.push(nativeEvent('stop'))
  reading.isText = isText
  if (typeof text === 'string') readText(text, reading)
  if (isRecord(citationsContent)) readCited(citationsContent, reading)
  if (isRecord(reasoningContent)) readReasoning(reasoningContent, reading)
  if (isRecord(toolUse) && isClientCall(toolUse)) readCall(toolUse, reading)
}

function readText(text: string, reading: Reading): void {
  if (text === '') return
  reading.textLength += text.length
  reading.events.push({ type: 'text', index: 0, text })
}

function readCited({ content, citations }: Json, reading: Reading): void {
  const cited = { start: reading.textLength, citations: [] }
  if (Array.isArray(content)) for (const piece of content) if (isRecord(piece)) readText(textOf(piece['text']), reading)
  if (Array.isArray(citations)) for (const citation of citations) readCitation(cited, citation, reading.events)
  addPages(reading.pages, cited, reading.textLength)
}

function readReasoning(
  { reasoningText, redactedContent }: Json,
  { events, entries, textLength, calls }: Reading,
): void {
  const position = { textBefore: textLength, callsBefore: calls }
  const redacted = textOf(redactedContent)
  if (redacted !== '') entries.push({ redacted, ...position })
  if (!isRecord(reasoningText)) return
  const text = textOf(reasoningText['text'])
  const signature = textOf(reasoningText['signature'])
  if (text !== '') events.push({ type: 'reasoning', index: 0, text })
  if (signature !== '') entries.push({ text, signature, ...position })
}

function readCall(toolUse: Json, reading: Reading): void {
  const name = textOf(toolUse['name'])
  const input = JSON.stringify(toolUse['input'] ?? {})
  if (name === '') throw brokenAnswer('The provider called a tool without a name.')
  if (name === ANSWER_TOOL) {
    readText(input, reading)
    return
  }
  const toolIndex = reading.calls++
  const id = textOf(toolUse['toolUseId']) || `tooluse_${toolIndex}`
  reading.events.push({ type: 'tool-call', index: 0, toolIndex, id, name, arguments: input })
}

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
}

/** Values in place of a stop reason that report an incomplete answer. */
const BREAKDOWNS: readonly string[] = ['malformed_model_output', 'malformed_tool_use']

/**
 * An unknown reason is a normal end, since new ones are added.
 * @throws ProviderError for reasons that report that the model broke down.
 * @param calledTools Whether the client's tools were called; `tool_use` alone may be the answer tool.
 */
export function parseFinish(raw: string, calledTools: boolean): FinishReason {
  if (BREAKDOWNS.includes(raw)) throw brokenAnswer('The model wrote an answer that could not be read.')
  const reason = Object.hasOwn(FINISH_REASONS, raw) ? FINISH_REASONS[raw] : undefined
  return reason ?? (calledTools ? 'tool_calls' : 'stop')
}

/** Returns whether the client must run the call, not the service itself. */
export function isClientCall(toolUse: Json): boolean {
  return toolUse['type'] !== 'server_tool_use'
}

/**
 * Counts that are absent, negative or no whole numbers are left out, never zero. Tokens read from and written to the
 * cache are beside `inputTokens`, not within it.
 *
 * Source: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
 * @param serviceTier The answer's own, which is beside its usage.
 * @returns undefined when nothing was counted.
 */
export function parseUsage(value: unknown, serviceTier?: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const input = count(value['inputTokens'])
  const output = count(value['outputTokens'])
  const read = count(value['cacheReadInputTokens'])
  const written = count(value['cacheWriteInputTokens'])
  const usage: MutableUsage = {}
  if (input !== undefined) usage.promptTokens = input + (read ?? 0) + (written ?? 0)
  if (output !== undefined) usage.completionTokens = output
  if (read !== undefined) usage.cachedTokens = read
  if (written !== undefined) usage.cacheWriteTokens = written
  if (Object.keys(usage).length === 0) return undefined
  putSome(usage, 'cacheWrite1hTokens', writtenFor(value['cacheDetails'], '1h'))
  putSome(usage, 'cacheWrite12hTokens', writtenFor(value['cacheDetails'], '12h'))
  const tier = serviceTierOf(isRecord(serviceTier) ? serviceTier['type'] : serviceTier)
  if (tier !== undefined) usage.serviceTier = tier
  return usage
}

/** Returns the tokens written with one lifetime, in a list such as `[{"ttl": "1h", "inputTokens": 12}]`. */
function writtenFor(details: unknown, ttl: string): number {
  let total = 0
  if (!Array.isArray(details)) return total
  for (const each of details) if (isRecord(each) && each['ttl'] === ttl) total += count(each['inputTokens']) ?? 0
  return total
}

/*
 * Citations of an answer: in the form of Anthropic's API, whose models the service has, for clients of that API; cited
 * pages also as annotations, for the others. Source:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html, read 2026-11-24.
 */

/** The citations of one block. */
export interface Cited {
  /** The text of the block within the answer's, in UTF-16 units. */
  readonly start: number
  readonly citations: Json[]
}

/** Appends the event of a citation of the text before it. Citations without a position are ignored. */
export function readCitation(cited: Cited, citation: unknown, events: ChatEvent[]): void {
  const own = isRecord(citation) ? renderCitation(citation) : undefined
  if (own === undefined) return
  cited.citations.push(own)
  events.push(citationEvent(own))
}

/** Adds the pages that a block cites. @param end Of its text. */
export function addPages(pages: UrlCitation[], { citations, start }: Cited, end: number): void {
  citePages(pages, citations, { start, end })
}

export function annotationEvents(pages: readonly UrlCitation[]): ChatEvent[] {
  return pages.length === 0 ? [] : [{ type: 'extension', index: 0, field: 'annotations', value: pages }]
}

function renderCitation({ title, source, sourceContent, location }: Json): Json | undefined {
  if (!isRecord(location)) return undefined
  const cited = { cited_text: textsOf(sourceContent) }
  const document = (kind: string, unit: string) => {
    const { [kind]: range } = location
    if (!isRecord(range)) return undefined
    const { documentIndex, start, end } = range
    const ends = { [`start_${unit}`]: count(start) ?? 0, [`end_${unit}`]: count(end) ?? 0 }
    return { ...cited, document_index: count(documentIndex) ?? 0, document_title: title ?? null, ...ends }
  }
  const { web, searchResultLocation: result } = location
  const char = document('documentChar', 'char_index')
  if (char !== undefined) return { type: 'char_location', ...char, file_id: null }
  const page = document('documentPage', 'page_number')
  if (page !== undefined) return { type: 'page_location', ...page, file_id: null }
  const chunk = document('documentChunk', 'block_index')
  if (chunk !== undefined) return { type: 'content_block_location', ...chunk, file_id: null }
  if (isRecord(result)) {
    const { searchResultIndex, start, end } = result
    const range = { start_block_index: count(start) ?? 0, end_block_index: count(end) ?? 0 }
    const of = { search_result_index: count(searchResultIndex) ?? 0, source: textOf(source), title: title ?? null }
    return { type: 'search_result_location', ...cited, ...of, ...range }
  }
  if (!isRecord(web) || textOf(web['url']) === '') return undefined
  const of = { url: textOf(web['url']), title: textOf(title), encrypted_index: '' }
  return { type: 'web_search_result_location', ...cited, ...of }
}

function textsOf(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return content.map((piece: unknown) => (isRecord(piece) ? textOf(piece['text']) : '')).join('')
}
