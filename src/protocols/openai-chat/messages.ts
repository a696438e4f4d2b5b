/** The conversation in the host's words. A message that need not change is the client's own object. */
import type { ChatMessage, ContentPart, ImagePart, ToolCall } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Price } from '../../domain/price.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { isCachingPriced, LIFETIME, withoutLifetime } from '../cache-lifetime.ts'
import { detailsIn, detailsOf } from './context.ts'
import type { OpenAiChatOptions } from './options.ts'
import { shortenedIds } from './tool-ids.ts'
import { alternating, partsOf, systemFirst } from './turns.ts'

export interface MessageSettings {
  readonly options: OpenAiChatOptions
  /** Names of parameters that were dropped or bent. */
  readonly warnings: Set<string>
  readonly price: Price | undefined
}

interface Rendering extends MessageSettings {
  /** Whether tools were called in this conversation. */
  readonly isToolLoop: boolean
  /** What stands for which id of a tool call. */
  readonly ids: ReadonlyMap<string, string>
}

/** Gives back its very message where there is nothing to do. */
type Edit = (message: Json, rendering: Rendering) => Json

const EDITS: readonly Edit[] = [
  takeContext,
  renameRole,
  sayRefusal,
  placeReasoning,
  joinText,
  shortenIds,
  dropToolName,
  sayCustomCalls,
  lowerDetail,
  shortenCaching,
  keepKnownFields,
]
const NO_IDS: ReadonlyMap<string, string> = new Map()

/** @throws GatewayError `unsupported_parameter` or `unsupported_content`, with the place, for what the host cannot read. */
export function renderMessages(messages: readonly ChatMessage[], settings: MessageSettings): readonly unknown[] {
  const { options, warnings } = settings
  let isToolLoop = false
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]
    if (message === undefined) continue
    checkMessage(message, at, options)
    if (message.tool_calls !== undefined) isToolLoop = true
  }
  const ids = options.shortToolIds && isToolLoop ? shortenedIds(messages) : NO_IDS
  const rendering = { ...settings, isToolLoop, ids }
  const rendered = messages.map((message) => editMessage(message as ChatMessage & Json, rendering)) // out of JSON
  const placed = options.systemFirst ? systemFirst(rendered) : rendered
  const turns = options.alternatingRoles ? alternating(placed) : placed
  if (turns !== rendered) warnings.add('messages')
  return turns
}

function editMessage(message: Json, rendering: Rendering): Json {
  let edited = message
  for (const edit of EDITS) edited = edit(edited, rendering)
  return edited
}

function checkMessage(message: ChatMessage, position: number, options: OpenAiChatOptions): void {
  const { name, role, content } = message
  const place = `messages[${position}]`
  if (options.refusedRoles?.includes(role)) throw unreadable(`${place}.role`, `messages of role '${role}'`)
  if (name !== undefined && role !== 'tool' && options.namedRoles?.includes(role) === false) {
    throw unsupported(`${place}.name`)
  }
  const custom = message.tool_calls?.findIndex((call) => call.custom) ?? -1
  if (custom >= 0 && !options.customTools) throw unsupported(`${place}.tool_calls[${custom}].type`)
  if (!Array.isArray(content)) return
  content.forEach((part: ContentPart, at) => {
    checkPart(part, `${place}.content[${at}]`, options)
  })
}

function checkPart(part: ContentPart, place: string, options: OpenAiChatOptions): void {
  if (options.refusedParts?.includes(part.type)) throw unreadable(place, `'${part.type}' content`)
  if (options.remoteImages !== false || part.type !== 'image_url' || /^data:/i.test(part.image_url.url)) return
  throw unreadable(place, 'images by their address; send a data URL')
}

function unreadable(param: string, what: string): GatewayError {
  return new GatewayError('unsupported_content', `The provider of this model does not read ${what}.`, { param })
}

/** For parameters that the host does not know. */
export function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', `The provider of this model does not support '${param}'.`, { param })
}

/** The context is between the client and us: of it the host gets what was the host's. */
function takeContext(message: Json, { options }: Rendering): Json {
  if (!('provider_context' in message)) return message
  const { provider_context: context, ...rest } = message
  const details = options.reasoningDetails && !('reasoning_details' in rest) ? detailsOf(context) : []
  return details.length === 0 ? rest : { ...rest, reasoning_details: details }
}

function renameRole(message: Json, { options }: Rendering): Json {
  return message.role === 'developer' && !options.developerRole ? { ...message, role: 'system' } : message
}

/** Only the originator knows refusals; to a model they are what it said. */
function sayRefusal(message: Json, { options }: Rendering): Json {
  const { role, refusal, content } = message
  if (role !== 'assistant' || options.refusals) return message
  if (Array.isArray(content) && content.some(isRefusal)) return { ...message, content: content.map(refusalAsText) }
  if (refusal === undefined) return message
  const { refusal: _, ...rest } = message
  return isNothing(content || null) && typeof refusal === 'string' ? { ...rest, content: refusal } : rest
}

function isRefusal(part: unknown): boolean {
  return isRecord(part) && part.type === 'refusal'
}

function refusalAsText(part: unknown): unknown {
  return isRecord(part) && part.type === 'refusal' ? { type: 'text', text: textOf(part.refusal) } : part
}

/** Clients send reasoning back under either of its two names; the host gets it under the one it knows. */
function placeReasoning(message: Json, { options, warnings, isToolLoop }: Rendering): Json {
  const { reasoningField: field = 'reasoning_content' } = options
  if (message.role !== 'assistant') return message
  const { reasoning_content: content, reasoning: alias, ...rest } = message
  const text = textOf(content) || textOf(alias)
  if (text === '') {
    const filler = isToolLoop ? options.missingReasoning : undefined
    if (filler !== undefined) return { ...rest, reasoning_content: filler }
    return content === undefined && alias === undefined ? message : rest
  }
  if (options.reasoningDetails && detailsIn(message).length > 0) return rest
  if (field === 'thinking') return { ...rest, content: [thinkingPart(text), ...partsOf(message.content)] }
  if (field !== 'none') return { ...rest, [field]: text }
  warnings.add('messages[].reasoning_content')
  return rest
}

function thinkingPart(text: string): Json {
  return { type: 'thinking', thinking: [{ type: 'text', text }] }
}

function joinText(message: Json, { options }: Rendering): Json {
  const { content } = message
  if (!options.joinedText || !Array.isArray(content)) return message
  const texts = content.map((part: unknown) => (isRecord(part) && part.type === 'text' ? textOf(part.text) : undefined))
  return texts.includes(undefined) ? message : { ...message, content: texts.join('') }
}

function shortenIds(message: Json, { ids }: Rendering): Json {
  if (ids.size === 0) return message
  const { tool_calls: calls, tool_call_id: id } = message
  const short = typeof id === 'string' ? ids.get(id) : undefined
  if (short !== undefined) return { ...message, tool_call_id: short }
  if (!Array.isArray(calls)) return message
  return { ...message, tool_calls: calls.map((call: Json) => ({ ...call, id: ids.get(textOf(call.id)) ?? call.id })) }
}

/** The id says already whose result it is. */
function dropToolName(message: Json, { options }: Rendering): Json {
  if (message.role !== 'tool' || !('name' in message) || options.namedRoles?.includes('tool') !== false) return message
  const { name: _, ...rest } = message
  return rest
}

function sayCustomCalls(message: Json, { options }: Rendering): Json {
  const { tool_calls: calls } = message
  if (!options.customTools || !Array.isArray(calls) || !calls.some((call: ToolCall) => call.custom)) return message
  return { ...message, tool_calls: calls.map((call: ToolCall) => (call.custom ? customCall(call) : call)) }
}

function customCall({ id, function: { name, arguments: input } }: ToolCall): Json {
  return { id, type: 'custom', custom: { name, input } }
}

/** `original` is the newest word, and `high` the nearest to it. */
function lowerDetail(message: Json, { options, warnings }: Rendering): Json {
  const { content } = message
  if (options.originalDetail || !Array.isArray(content) || !content.some(isOriginal)) return message
  warnings.add('messages[].content[].image_url.detail')
  return { ...message, content: content.map((part: unknown) => (isOriginal(part) ? highDetail(part) : part)) }
}

/** Cache writes with a lifetime that has no price are ordinary ones. */
function shortenCaching(message: Json, { price, warnings }: Rendering): Json {
  const { content } = message
  if (!Array.isArray(content) || content.every((part) => isCachingPriced(part, price))) return message
  warnings.add(LIFETIME)
  return { ...message, content: content.map((part) => (isCachingPriced(part, price) ? part : withoutLifetime(part))) }
}

function isOriginal(part: unknown): part is ImagePart {
  return isRecord(part) && isRecord(part.image_url) && part.image_url.detail === 'original'
}

function highDetail(part: ImagePart): ImagePart {
  return { ...part, image_url: { ...part.image_url, detail: 'high' } }
}

/** What is left out and holds something is named. */
function keepKnownFields(message: Json, { options, warnings }: Rendering): Json {
  const { messageFields: fields } = options
  if (fields === undefined || Object.keys(message).every((field) => fields.includes(field))) return message
  const kept: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(message)) {
    if (fields.includes(field)) kept[field] = value
    else if (!isNothing(value)) warnings.add(`messages[].${field}`)
  }
  return kept
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0)
}
