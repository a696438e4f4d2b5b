/** Renders the conversation in the host's dialect. A message that need not change is the client's own object. */
import type { ChatMessage, ChatRequest, ContentPart, ImagePart, ToolCall } from '../../domain/chat.ts'
import type { Price } from '../../domain/price/tariff.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { CACHE_LIFETIME_PARAM, hasMark, isCachingPriced, withKnownMarks, withoutLifetime } from '../body-fields.ts'
import { unsupportedContent, unsupportedParameter } from '../parameters.ts'
import type { OpenAiChatOptions } from './options.ts'

export interface MessageSettings {
  readonly options: OpenAiChatOptions
  /** The names of parameters that were dropped or adjusted. */
  readonly warnings: Set<string>
  readonly price: Price | undefined
}

interface Rendering extends MessageSettings {
  /** Whether the conversation has tool calls. */
  readonly isToolLoop: boolean
}

/** Returns the message itself where nothing changes. */
type Edit = (message: Json, rendering: Rendering) => Json

const EDITS: readonly Edit[] = [
  dropContext,
  renameRole,
  renderRefusal,
  renderReasoning,
  renderMarks,
  joinText,
  dropToolName,
  renderCustomCalls,
  lowerDetail,
  keepKnownFields,
]

/** @throws GatewayError `unsupported_parameter` or `unsupported_content`, with the path of what the host cannot read. */
export function renderMessages(messages: readonly ChatMessage[], settings: MessageSettings): readonly unknown[] {
  const { options, warnings } = settings
  let isToolLoop = false
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]
    if (message === undefined) continue
    checkMessage(message, `messages[${at}]`, options)
    if (message.tool_calls !== undefined) isToolLoop = true
  }
  const rendering = { ...settings, isToolLoop }
  const rendered = messages.map((message) => editMessage(message as ChatMessage & Json, rendering)) // out of JSON
  const ordered = options.systemFirst ? systemFirst(rendered) : rendered
  if (ordered !== rendered) warnings.add('messages')
  return ordered
}

function editMessage(message: Json, rendering: Rendering): Json {
  let edited = message
  for (const edit of EDITS) edited = edit(edited, rendering)
  return edited
}

function checkMessage(
  { name, role, content, tool_calls: calls }: ChatMessage,
  path: string,
  options: OpenAiChatOptions,
) {
  if (name !== undefined && role !== 'tool' && options.namedRoles?.includes(role) === false) {
    throw unsupportedParameter(`${path}.name`)
  }
  const custom = calls?.findIndex((call) => call.custom) ?? -1
  if (custom >= 0 && !options.customTools) throw unsupportedParameter(`${path}.tool_calls[${custom}].type`)
  if (!Array.isArray(content)) return
  content.forEach(({ type }: ContentPart, at) => {
    if (options.refusedParts?.includes(type)) throw unsupportedContent(`${path}.content[${at}]`, `'${type}' content`)
  })
}

/** Removes the context of provider protocols, which no host knows. */
function dropContext(message: Json): Json {
  if (!('provider_context' in message)) return message
  const { provider_context: _, ...rest } = message
  return rest
}

function renameRole(message: Json, { options }: Rendering): Json {
  return message.role === 'developer' && !options.developerRole ? { ...message, role: 'system' } : message
}

/** Turns a refusal into text; only OpenAI supports refusals. */
function renderRefusal(message: Json): Json {
  const { role, refusal, content } = message
  if (role !== 'assistant') return message
  if (Array.isArray(content) && content.some(isRefusal)) return { ...message, content: content.map(refusalAsText) }
  if (refusal === undefined) return message
  const { refusal: _, ...rest } = message
  return isEmpty(content || null) && typeof refusal === 'string' ? { ...rest, content: refusal } : rest
}

function isRefusal(part: unknown): boolean {
  return isRecord(part) && part.type === 'refusal'
}

function refusalAsText(part: unknown): unknown {
  return isRecord(part) && part.type === 'refusal' ? { type: 'text', text: textOf(part.refusal) } : part
}

/** Sends earlier reasoning, which clients return in either of two fields, in the field that the host knows. */
function renderReasoning(message: Json, { options, warnings, isToolLoop }: Rendering): Json {
  const { reasoningField: field = 'reasoning_content' } = options
  if (message.role !== 'assistant') return message
  const { reasoning_content: content, reasoning: alias, ...rest } = message
  const text = textOf(content) || textOf(alias)
  if (text === '') {
    const filler = isToolLoop ? options.missingReasoning : undefined
    if (filler !== undefined) return { ...rest, reasoning_content: filler }
    return content === undefined && alias === undefined ? message : rest
  }
  if (field !== 'none') return { ...rest, [field]: text }
  warnings.add('messages[].reasoning_content')
  return rest
}

function joinText(message: Json, { options }: Rendering): Json {
  const { content } = message
  if (!options.joinedText || !Array.isArray(content)) return message
  const texts = content.map((part: unknown) => (isRecord(part) && part.type === 'text' ? textOf(part.text) : undefined))
  return texts.includes(undefined) ? message : { ...message, content: texts.join('') }
}

/** Drops a tool's name, since the ID identifies its call. */
function dropToolName(message: Json, { options }: Rendering): Json {
  if (message.role !== 'tool' || !('name' in message) || options.namedRoles?.includes('tool') !== false) return message
  const { name: _, ...rest } = message
  return rest
}

function renderCustomCalls(message: Json, { options }: Rendering): Json {
  const { tool_calls: calls } = message
  if (!options.customTools || !Array.isArray(calls) || !calls.some((call: ToolCall) => call.custom)) return message
  return { ...message, tool_calls: calls.map((call: ToolCall) => (call.custom ? customCall(call) : call)) }
}

function customCall({ id, function: { name, arguments: input } }: ToolCall): Json {
  return { id, type: 'custom', custom: { name, input } }
}

/** Replaces `original`, the newest value, by `high`, the nearest to it. */
function lowerDetail(message: Json, { options, warnings }: Rendering): Json {
  const { content } = message
  if (options.originalDetail || !Array.isArray(content) || !content.some(isOriginal)) return message
  warnings.add('messages[].content[].image_url.detail')
  return { ...message, content: content.map((part: unknown) => (isOriginal(part) ? highDetail(part) : part)) }
}

/** Removes what parts ask for that the host does not know, and cache lifetimes without a price. */
function renderMarks(message: Json, rendering: Rendering): Json {
  const { content } = message
  if (!Array.isArray(content) || !content.some(hasMark)) return message
  return { ...message, content: content.map((part) => (hasMark(part) ? renderMarksOf(part, rendering) : part)) }
}

function renderMarksOf(part: Json, { options: { cacheMarks = [] }, price, warnings }: Rendering): Json {
  const known = withKnownMarks(part, cacheMarks, warnings)
  if (isCachingPriced(known, price)) return known
  warnings.add(CACHE_LIFETIME_PARAM)
  return withoutLifetime(known)
}

function isOriginal(part: unknown): part is ImagePart {
  return isRecord(part) && isRecord(part.image_url) && part.image_url.detail === 'original'
}

function highDetail(part: ImagePart): ImagePart {
  return { ...part, image_url: { ...part.image_url, detail: 'high' } }
}

/** Drops fields that the host rejects; names those with a value. */
function keepKnownFields(message: Json, { options, warnings }: Rendering): Json {
  const { messageFields: fields } = options
  if (fields === undefined || Object.keys(message).every((field) => fields.includes(field))) return message
  const kept: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(message)) {
    if (fields.includes(field)) kept[field] = value
    else if (!isEmpty(value)) warnings.add(`messages[].${field}`)
  }
  return kept
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0)
}

/** Moves system messages to the front. Returns the same list where they are already. */
function systemFirst(messages: readonly Json[]): readonly Json[] {
  const firstOther = messages.findIndex((message) => !isSystem(message))
  const isOrdered = firstOther < 0 || !messages.slice(firstOther).some(isSystem)
  return isOrdered ? messages : [...messages.filter(isSystem), ...messages.filter((message) => !isSystem(message))]
}

function isSystem({ role }: Json): boolean {
  return role === 'system' || role === 'developer'
}

/** Content as a list of parts, whatever form it has; empty for none. */
export function partsOf(content: unknown): readonly unknown[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? content : []
}

/*
 * Results of tools, placed as hosts read them: many accept media in messages of users only, and some want the assistant
 * between results and the user.
 *
 * Errors of such hosts: "Image URLs are only allowed for messages with role 'user', but this message with role 'tool'
 * contains an image URL." (quoted in OpenHands, issue 7700); "Unexpected role 'user' after role 'tool'" (Mistral, code
 * 3230).
 */

/** Precedes media that were moved out of results. */
const INTRODUCTION = 'The tools returned:'
/** The text of a result that has media alone. */
const SHOWN_BELOW = 'The result follows in the next message.'
/** The assistant's text between results and the user, for hosts that require one. */
const FILLER = 'I have the results.'

/** Returns the request itself if nothing changes. */
export function placeResults(request: ChatRequest, options: OpenAiChatOptions, warnings: Set<string>): ChatRequest {
  const { toolMedia = false, assistantAfterResults = false } = options
  const hasResults = request.messages.some(({ role }) => role === 'tool')
  if (!hasResults) return request
  const moved = toolMedia ? request.messages : withMediaShown(request.messages, warnings)
  const messages = assistantAfterResults ? withAssistantBetween(moved, warnings) : moved
  return messages === request.messages ? request : { ...request, messages }
}

/** Moves media behind all results of a turn, into a message of the user. */
function withMediaShown(messages: readonly ChatMessage[], warnings: Set<string>): readonly ChatMessage[] {
  if (!messages.some(hasMedia)) return messages
  warnings.add('messages[].content[].type')
  const placed: ChatMessage[] = []
  let media: ContentPart[] = []
  const show = (): void => {
    if (media.length > 0) placed.push({ role: 'user', content: [{ type: 'text', text: INTRODUCTION }, ...media] })
    media = []
  }
  for (const message of messages) {
    if (message.role !== 'tool') show()
    if (!hasMedia(message)) {
      placed.push(message)
      continue
    }
    const parts = resultParts(message)
    media.push(...parts.filter((part) => !isText(part)))
    const texts = parts.filter(isText)
    placed.push({ ...message, content: texts.length > 0 ? texts : SHOWN_BELOW })
  }
  show()
  return placed
}

function hasMedia(message: ChatMessage): boolean {
  return message.role === 'tool' && resultParts(message).some((part) => !isText(part))
}

function resultParts({ content }: ChatMessage): readonly ContentPart[] {
  return Array.isArray(content) ? content : []
}

function isText({ type }: ContentPart): boolean {
  return type === 'text'
}

/** Ignores system messages in between, which such hosts receive first. */
function withAssistantBetween(messages: readonly ChatMessage[], warnings: Set<string>): readonly ChatMessage[] {
  const placed: ChatMessage[] = []
  let last: ChatMessage['role'] | undefined
  for (const message of messages) {
    const { role } = message
    if (role === 'user' && last === 'tool') {
      warnings.add('messages')
      placed.push({ role: 'assistant', content: FILLER })
    }
    placed.push(message)
    if (role !== 'system' && role !== 'developer') last = role
  }
  return placed.length === messages.length ? messages : placed
}
