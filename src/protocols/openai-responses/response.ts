/**
 * Parses a whole response into the same events as a stream, with the readers that both share: items, usage, endings. The
 * wire is checked by hand; invalid values read as absent, unless the answer would lose something by it.
 *
 * Sources: the types of OpenAI's SDK 7.55 and the Open Responses specification, read 2026-11-24.
 */
import type { ChatEvent, NativeEvent, ToolCallEvent, Usage } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { count, type MutableUsage, put, putSome, serviceTierOf } from '../body-fields.ts'
import { failureOf } from '../openai-chat/errors.ts'
import { argumentsText, generatedCallId, hasError } from '../openai-chat/response.ts'
import { brokenAnswer, type FailureKind, ProviderError } from '../protocol.ts'
import { type ContextEntry, readReasoning, renderContext } from './context.ts'

/** The answer so far; the API gives one choice. */
export interface Output {
  /** The events of the current push. */
  events: ChatEvent[]
  responseId: string
  /** The entries that go back with the next request, in order. */
  readonly entries: ContextEntry[]
  /** The `annotations` of the message, as in chat completions. */
  readonly annotations: Json[]
  /** Text of the items that are complete, in UTF-16 units. */
  textLength: number
  calls: number
  searches: number
  hasRefusal: boolean
}

/** The emitted part of one item. */
export interface ItemProgress {
  hasText: boolean
  hasRefusal: boolean
  hasReasoning: boolean
  hasArguments: boolean
  /** Set when the call was emitted. */
  toolIndex: number | undefined
  isCustom: boolean
  isDone: boolean
  /** The known part of the item before it is complete. */
  begun: Json | undefined
  isAnnounced: boolean
}

export function newOutput(events: ChatEvent[]): Output {
  return {
    ...{ events, responseId: '', entries: [], annotations: [] },
    ...{ textLength: 0, calls: 0, searches: 0, hasRefusal: false },
  }
}

export function newItem(): ItemProgress {
  return {
    ...{ hasText: false, hasRefusal: false, hasReasoning: false, hasArguments: false },
    ...{ toolIndex: undefined, isCustom: false, isDone: false, begun: undefined, isAnnounced: false },
  }
}

/**
 * A response that is still in progress gets no finish event: none is ever invented.
 * @throws ProviderError for no JSON, an `error` in its place, a response that failed, or one without output.
 */
export function parseResponse(body: string): ChatEvent[] {
  const response = parseJson(body)
  if (!isRecord(response)) throw brokenAnswer('The provider answered with something that is not JSON.')
  const events: ChatEvent[] = []
  if (isFailed(response)) throw failureIn(response)
  if (!Array.isArray(response['output'])) throw brokenAnswer('The provider answered without output.')
  const output = newOutput(events)
  output.responseId = textOf(response['id'])
  for (const item of response['output']) if (isRecord(item)) completeItem(output, item, newItem())
  endResponse(output, response)
  return events
}

function isFailed(response: Json): boolean {
  return hasError(response) || response['status'] === 'failed' || response['status'] === 'cancelled'
}

/** Emits what has not been emitted of a complete item, and remembers what must go back. Only once for each. */
export function completeItem(output: Output, item: Json, progress: ItemProgress): void {
  if (progress.isDone) return
  progress.isDone = true
  switch (item['type']) {
    case 'message':
      completeMessage(output, item, progress)
      break
    case 'reasoning':
      completeReasoning(output, item, progress)
      break
    case 'function_call':
    case 'custom_tool_call':
      completeCall(output, item, progress)
      break
    default:
      if (item['type'] === 'web_search_call' && isSearch(item)) output.searches += 1
      output.events.push(nativeEvent('start', item))
  }
}

/** An item for clients of this same API: before its content its ID, and whole where it has no counterpart. */
function nativeEvent(part: NativeEvent['part'], value: Json): ChatEvent {
  return { type: 'native', index: 0, protocol: 'openai-responses', part, value }
}

/** Announces an item once, and only when it has content: an answer that has not begun can still fail over. */
export function announce({ events }: Pick<Output, 'events'>, progress: ItemProgress, item = progress.begun): void {
  if (progress.isAnnounced || item === undefined) return
  progress.isAnnounced = true
  const { type, id, namespace, phase } = item
  events.push(nativeEvent('start', { type, id, namespace, phase }))
}

function completeMessage(output: Output, item: Json, progress: ItemProgress): void {
  const { content } = item
  const start = output.textLength
  announce(output, progress, item)
  for (const part of Array.isArray(content) ? content : []) {
    if (!isRecord(part)) continue
    if (part['type'] === 'refusal') readRefusal(output, part, progress)
    else readTextPart(output, part, { progress, start })
  }
  const length = output.textLength - start
  output.entries.push({ type: 'message', id: textOf(item['id']), phase: textOf(item['phase']) || undefined, length })
}

function readRefusal(output: Output, part: Json, { hasRefusal }: ItemProgress): void {
  output.hasRefusal = true
  const text = textOf(part['refusal'])
  if (!hasRefusal && text !== '') output.events.push({ type: 'refusal', index: 0, text })
}

/** @param start Where its message begins in the text of the answer. */
function readTextPart(
  output: Output,
  part: Json,
  { progress, start }: { readonly progress: ItemProgress; readonly start: number },
): void {
  const text = textOf(part['text'])
  if (!progress.hasText && text !== '') output.events.push(textEvent(text, part['logprobs']))
  const annotations = Array.isArray(part['annotations']) ? part['annotations'].filter(isRecord) : []
  for (const annotation of annotations) addAnnotation(output, annotation)
  if (annotations.length > 0) {
    const offset = output.textLength - start
    output.events.push(nativeEvent('delta', { annotations: annotations.map((each) => shifted(each, offset)) }))
  }
  output.textLength += text.length
}

export function textEvent(text: string, logprobs: unknown): ChatEvent {
  if (!Array.isArray(logprobs) || logprobs.length === 0) return { type: 'text', index: 0, text }
  return { type: 'text', index: 0, text, logprobs: { content: logprobs, refusal: null } }
}

/** Further ones are dropped, since answers are kept in memory. */
const MAX_ANNOTATIONS = 256

/** Adds an annotation in the nested form of chat completions, with positions in the content of the whole message. */
function addAnnotation({ annotations, textLength }: Output, { type, ...fields }: Json): void {
  const kind = textOf(type)
  if (kind !== '' && annotations.length < MAX_ANNOTATIONS) {
    annotations.push({ type: kind, [kind]: shifted(fields, textLength) })
  }
}

function shifted(fields: Json, offset: number): Json {
  const result: Record<string, unknown> = { ...fields }
  for (const name of ['start_index', 'end_index']) {
    if (typeof fields[name] === 'number') result[name] = fields[name] + offset
  }
  return result
}

function completeReasoning(output: Output, item: Json, progress: ItemProgress): void {
  const text = reasoningText(item['summary']) || reasoningText(item['content'])
  announce(output, progress, item)
  if (!progress.hasReasoning && text !== '') output.events.push({ type: 'reasoning', index: 0, text })
  const entry = readReasoning(item)
  if (entry !== undefined) output.entries.push(entry)
  const { encrypted_content } = item
  if (textOf(encrypted_content) !== '') output.events.push(nativeEvent('stop', { encrypted_content }))
}

/** The separator between parts of a summary, also in streams. */
export const PART_SEPARATOR = '\n\n'

function reasoningText(parts: unknown): string {
  if (!Array.isArray(parts)) return ''
  return parts.map((part: unknown) => (isRecord(part) ? textOf(part['text']) : '')).join(PART_SEPARATOR)
}

function completeCall(output: Output, item: Json, progress: ItemProgress): void {
  const callId = startCall(output, item, progress)
  output.entries.push({ type: 'call', id: textOf(item['id']), callId })
  if (progress.hasArguments) return
  const text = progress.isCustom ? textOf(item['input']) : argumentsText(item['arguments'])
  // A call that was cut off has no whole arguments.
  const isWhole = item['status'] !== 'incomplete' && !progress.isCustom
  emitArguments(output, progress, text || (isWhole ? '{}' : ''))
}

/**
 * Emits a call's beginning, unless it has begun. @returns its ID.
 * @throws ProviderError for a call of a tool without a name.
 */
export function startCall(output: Output, item: Json, progress: ItemProgress): string {
  const id = textOf(item['call_id']) || generatedCallId(output.responseId, 0, progress.toolIndex ?? output.calls)
  if (progress.toolIndex !== undefined) return id
  const name = textOf(item['name'])
  if (name === '') throw brokenAnswer('The provider called a tool without a name.')
  announce(output, progress, item)
  progress.toolIndex = output.calls++
  progress.isCustom = item['type'] === 'custom_tool_call'
  const event: ToolCallEvent = { type: 'tool-call', index: 0, toolIndex: progress.toolIndex, id, name, arguments: '' }
  output.events.push(progress.isCustom ? { ...event, custom: true } : event)
  return id
}

export function emitArguments(output: Output, progress: ItemProgress, text: string): void {
  if (text === '' || progress.toolIndex === undefined) return
  progress.hasArguments = true
  const event: ToolCallEvent = { type: 'tool-call', index: 0, toolIndex: progress.toolIndex, arguments: text }
  output.events.push(progress.isCustom ? { ...event, custom: true } : event)
}

/** Opening a page that was found has no fee. */
function isSearch({ action, status }: Json): boolean {
  const kind = isRecord(action) ? action['type'] : undefined
  return status !== 'failed' && (kind === undefined || kind === 'search')
}

/** Emits what is only known at the end. @param response The last state of the response. */
export function endResponse(output: Output, response: Json): void {
  const { events, annotations, entries } = output
  if (annotations.length > 0) events.push({ type: 'extension', index: 0, field: 'annotations', value: annotations })
  const context = output.hasRefusal ? undefined : renderContext(entries)
  if (context !== undefined) events.push({ type: 'extension', index: 0, field: 'provider_context', value: context })
  emitFinish(output, response)
  emitUsage(output, response)
}

export function emitUsage({ events, searches }: Output, response: Json): void {
  const usage = parseUsage(response['usage'], response['service_tier'])
  if (searches > 0) events.push({ type: 'usage', usage: { ...usage, serverToolUses: { web_search: searches } } })
  else if (usage !== undefined) events.push({ type: 'usage', usage })
}

function emitFinish({ events, calls }: Output, { status, incomplete_details: details }: Json): void {
  if (status === 'incomplete') {
    const raw = (isRecord(details) ? textOf(details['reason']) : '') || 'incomplete'
    events.push({ type: 'finish', index: 0, reason: raw === 'content_filter' ? raw : 'length', raw })
  } else if (status === 'completed' || status === undefined) {
    events.push({ type: 'finish', index: 0, reason: calls > 0 ? 'tool_calls' : 'stop', raw: 'completed' })
  }
}

/**
 * Reads the usage of a response. Counts that are absent, negative or not whole numbers are left out, never zero.
 * @returns undefined when nothing was counted.
 */
export function parseUsage(value: unknown, serviceTier?: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const input = details(value['input_tokens_details'])
  const usage: MutableUsage = {}
  put(usage, 'promptTokens', count(value['input_tokens']))
  put(usage, 'completionTokens', count(value['output_tokens']))
  put(usage, 'cachedTokens', count(input['cached_tokens']))
  put(usage, 'cacheWriteTokens', count(input['cache_write_tokens']))
  put(usage, 'reasoningTokens', count(details(value['output_tokens_details'])['reasoning_tokens']))
  if (Object.keys(usage).length === 0) return undefined
  putSome(usage, 'cacheWrite12hTokens', count(details(input['cache_write_tokens_details'])['ttl_12h_tokens']))
  const tier = serviceTierOf(serviceTier)
  if (tier !== undefined) usage.serviceTier = tier
  return usage
}

function details(value: unknown): Json {
  return isRecord(value) ? value : {}
}

// Classifies failures of a started response by its own codes, else as in chat completions.

/** Codes of `response.error` that chat completions lack. */
const CODES: Readonly<Record<string, FailureKind>> = {
  invalid_prompt: 'content_filter',
  bio_policy: 'content_filter',
  misalignment_policy_violation: 'content_filter',
  image_content_policy_violation: 'content_filter',
  invalid_image: 'rejected',
  invalid_image_format: 'rejected',
  invalid_base64_image: 'rejected',
  invalid_image_url: 'rejected',
  invalid_image_mode: 'rejected',
  image_too_large: 'rejected',
  image_too_small: 'rejected',
  image_parse_error: 'rejected',
  image_file_too_large: 'rejected',
  unsupported_image_media_type: 'rejected',
  empty_image_file: 'rejected',
  failed_to_download_image: 'rejected',
  image_file_not_found: 'rejected',
}

/** @param body An object with `error`, or an `error` event, which some hosts send without that object. */
export function failureIn(body: Json): ProviderError {
  const error = isRecord(body['error']) ? body['error'] : body
  const failure = failureOf({ error }, 200)
  const code = textOf(error['code'])
  const kind = Object.hasOwn(CODES, code) ? CODES[code] : undefined
  return new ProviderError(kind === undefined ? failure : { ...failure, kind })
}
