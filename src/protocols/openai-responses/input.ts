/** Renders the conversation as input items: messages, function and custom calls with their results, reasoning. */
import type { ChatMessage, ContentPart, FilePart, ImagePart, ToolCall } from '../../domain/chat.ts'
import type { Price } from '../../domain/price/tariff.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import { CACHE_LIFETIME_PARAM, hasMark, isCachingPriced, withKnownMarks, withoutLifetime } from '../body-fields.ts'
import { createUniqueNames, type UniqueNames } from '../conversation.ts'
import { unsupportedContent } from '../parameters.ts'
import { contextOf, weave } from './context.ts'

export interface InputSettings {
  /** The names of parameters that were dropped or adjusted. */
  readonly warnings: Set<string>
  readonly price: Price | undefined
}

export interface RenderedInput {
  /** A leading system message that is one text; undefined: none, or the only message. */
  readonly instructions: string | undefined
  readonly input: readonly Json[]
}

interface Rendering extends InputSettings {
  readonly items: Json[]
  readonly ids: UniqueNames
  /** The last call with each of the client's IDs. */
  readonly calls: Map<string, SentCall>
}

interface SentCall {
  readonly wireId: string
  readonly isCustom: boolean
}

/** The limit of the API. */
export const MAX_CALL_ID = 64

/** @throws GatewayError `unsupported_content` for content that the API cannot read. */
export function renderInput(messages: readonly ChatMessage[], settings: InputSettings): RenderedInput {
  const rendering: Rendering = { ...settings, items: [], ids: createUniqueNames('_'), calls: new Map() }
  const instructions = messages.length > 1 ? instructionsOf(messages[0]) : undefined
  for (const [at, message] of messages.entries()) {
    if (at === 0 && instructions !== undefined) continue
    addMessage(rendering, message, `messages[${at}]`)
  }
  return { instructions, input: rendering.items }
}

function instructionsOf(message: ChatMessage | undefined): string | undefined {
  if (message?.role !== 'system' || typeof message.content !== 'string' || message.name !== undefined) return undefined
  return message.content
}

function addMessage(rendering: Rendering, message: ChatMessage, path: string): void {
  const { items, warnings } = rendering
  const { role, content } = message
  if (message.name !== undefined && role !== 'tool') warnings.add('messages[].name')
  if (role === 'tool') items.push(renderResult(rendering, message, path))
  else if (role === 'assistant') addAssistant(rendering, message, path)
  else items.push({ type: 'message', role, content: renderContent(content, path, rendering) })
}

function renderResult(rendering: Rendering, { tool_call_id: id = '', content }: ChatMessage, path: string): Json {
  const call = rendering.calls.get(id)
  const type = call?.isCustom ? 'custom_tool_call_output' : 'function_call_output'
  return { type, call_id: call?.wireId ?? id, output: renderContent(content, path, rendering) }
}

function renderContent(content: ChatMessage['content'], path: string, settings: InputSettings): string | Json[] {
  if (content === null || content === undefined) return ''
  if (typeof content === 'string') return content
  return content.map((part, at) => ({
    ...renderPart(part, `${path}.content[${at}]`),
    ...renderBreakpoint(part, settings),
  }))
}

function renderPart(part: ContentPart, path: string): Json {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text }
    case 'image_url':
      return renderImage(part)
    case 'file':
      return renderFile(part)
    default:
      throw unsupportedContent(path, `'${part.type}' content`)
  }
}

function renderImage({ image_url: { url, detail = 'auto' } }: ImagePart): Json {
  return { type: 'input_image', image_url: url, detail }
}

function renderFile({ file: { filename, file_data, file_id } }: FilePart): Json {
  return { type: 'input_file', filename, file_data, file_id }
}

/** The request to cache the prompt up to a part; Anthropic's mark of it has no counterpart on every model. */
function renderBreakpoint(part: ContentPart, { price, warnings }: InputSettings): Json {
  const fields: Json = { ...part }
  if (hasMark(part)) withKnownMarks(part, ['prompt_cache_breakpoint'], warnings)
  const { prompt_cache_breakpoint: breakpoint } = fields
  if (!isRecord(breakpoint)) return {}
  const own = { prompt_cache_breakpoint: breakpoint }
  if (isCachingPriced(own, price) && isReportedLifetime(breakpoint)) return own
  warnings.add(CACHE_LIFETIME_PARAM)
  return withoutLifetime(own)
}

/** Returns whether the usage of an answer reports the cache lifetime of the prompt. */
export function isReportedLifetime({ ttl }: Json): boolean {
  return ttl === undefined || ttl === null || ttl === '30m' || ttl === '12h'
}

function addAssistant(rendering: Rendering, message: ChatMessage, path: string): void {
  const { items, warnings } = rendering
  const { content, refusal, tool_calls: calls = [], reasoning_content: reasoning } = message
  const context = contextOf(message)
  if (context === undefined && typeof reasoning === 'string' && reasoning !== '') {
    warnings.add('messages[].reasoning_content')
  }
  const rendered = calls.map((call) => renderCall(rendering, call))
  if (context !== undefined) {
    items.push(...weave(context, typeof content === 'string' ? content : '', rendered))
    return
  }
  const said = typeof content === 'string' ? content : (content ?? []).map((part, at) => renderSaid(part, path, at))
  if (said.length > 0) items.push({ type: 'message', role: 'assistant', content: said })
  else if (refusal) items.push({ type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal }] })
  items.push(...rendered)
}

function renderSaid(part: ContentPart, path: string, at: number): Json {
  if (part.type === 'refusal') return { type: 'refusal', refusal: part.refusal }
  if (part.type === 'text') return { type: 'output_text', text: part.text }
  throw unsupportedContent(`${path}.content[${at}]`, `'${part.type}' content`)
}

/** IDs of other providers may be too long, or repeat in a later message. */
function renderCall({ ids, calls }: Rendering, { id, custom, function: called }: ToolCall): Json {
  const stem = id.slice(0, MAX_CALL_ID - 8) || 'call'
  const wireId = ids.take(id === '' || id.length > MAX_CALL_ID ? stem : id, stem)
  const isCustom = custom === true
  calls.set(id, { wireId, isCustom })
  const { name, arguments: text } = called
  return isCustom
    ? { type: 'custom_tool_call', call_id: wireId, name, input: text }
    : { type: 'function_call', call_id: wireId, name, arguments: text }
}
