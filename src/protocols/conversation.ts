/**
 * Groups the messages of a conversation for protocols with content blocks and two alternating roles (Anthropic,
 * Bedrock).
 * These begin with the user, want all results of an assistant's tool calls at the start of the one user message after
 * it, and reject blank text and repeated IDs of calls. Each protocol's `BlockFormat` renders its blocks.
 */
import type { ChatMessage, Citable, ContentPart, FilePart, ImagePart, ToolCall } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Price } from '../domain/price/tariff.ts'
import { isRecord, type Json, parseJson } from '../lib/json.ts'
import { CACHE_LIFETIME_PARAM, cacheBreakpoint, isCachingPriced } from './body-fields.ts'
import { unsupportedContent } from './parameters.ts'

/** A content block on the wire. */
export type Block = Record<string, unknown>

/**
 * The tool that stands for the answer itself, on models that cannot be held to a JSON Schema otherwise: a call of it is
 * text. Requests with a tool of this name are rejected.
 */
export const ANSWER_TOOL = 'turnpike_json_answer'

/** User messages that the protocol requires where the conversation has none. */
export const FILLER_BEFORE = 'Begin.'
export const FILLER_AFTER = 'Continue.'

export interface AssistantParts {
  /** The content, where it is one text; undefined where it is a list of parts. */
  readonly text: string | undefined
  readonly content: readonly Block[]
  /** The rendered calls in order. */
  readonly calls: readonly Block[]
}

/** @typeParam Context The protocol's own context of an earlier answer: signed thinking. */
export interface BlockFormat<Context> {
  text(text: string, citable?: Citable): Block
  /** @param path Of the part, for errors: `messages[2].content[0]`. */
  image(part: ImagePart, path: string): Block
  file(part: FilePart, path: string): Block
  /** Marks the block after which the prompt is to be cached. @param ttl Undefined: the provider's default. */
  cached(block: Block, ttl: '5m' | '1h' | undefined): Block[]
  /** @param call `text` is the arguments as the client sent them. */
  call(call: { readonly id: string; readonly name: string; readonly text: string }): Block
  result(result: {
    readonly id: string
    readonly name: string
    /** The content as the client sent it, if it is one text that is not blank. */
    readonly text: string | undefined
    readonly content: readonly Block[]
  }): readonly Block[]
  contextOf(message: ChatMessage): Context | undefined
  /** The blocks of an assistant's message with its context in place. */
  withContext(context: Context, parts: AssistantParts): readonly Block[]
  /** The longest id of a tool call. */
  readonly maxIdLength: number
  /** Whether an assistant's message may consist of its context alone. */
  readonly contextAlone: boolean
}

export interface ConversationSettings {
  /** The names of parameters that were dropped or adjusted. */
  readonly warnings: Set<string>
  readonly price: Price | undefined
  /** Whether earlier thinking is sent back. */
  readonly returnsContext: boolean
  /** Whether the last message may be the assistant's. */
  readonly prefill: boolean
  /** Added after the client's own system messages. */
  readonly instructions: readonly string[]
}

export interface RenderedMessage {
  readonly role: 'user' | 'assistant'
  readonly content: readonly Block[]
}

export interface RenderedConversation {
  readonly system: readonly Block[]
  readonly messages: readonly RenderedMessage[]
}

interface UserGroup {
  readonly role: 'user'
  readonly answered: Set<string>
  readonly results: Block[]
  readonly content: Block[]
}
interface AssistantGroup {
  readonly role: 'assistant'
  readonly content: Block[]
  /** The open calls by the client's ID. */
  readonly calls: Map<string, OpenCall>
}
interface OpenCall {
  readonly wireId: string
  readonly name: string
  readonly param: string
}

interface Grouping<Context> {
  readonly format: BlockFormat<Context>
  readonly settings: ConversationSettings
  readonly system: Block[]
  readonly groups: (UserGroup | AssistantGroup)[]
  readonly ids: UniqueNames
}

/** @throws GatewayError for content that cannot be read, and for calls and results that do not belong together. */
export function renderConversation<Context>(
  messages: readonly ChatMessage[],
  format: BlockFormat<Context>,
  settings: ConversationSettings,
): RenderedConversation {
  const grouping: Grouping<Context> = { format, settings, system: [], groups: [], ids: createUniqueNames('_') }
  for (const [position, message] of messages.entries()) addMessage(grouping, message, `messages[${position}]`)
  for (const text of settings.instructions) grouping.system.push(format.text(text))
  checkPairs(grouping.groups)
  const system = completeGroups(grouping)
  const rendered = grouping.groups.map((group) => ({
    role: group.role,
    content: group.role === 'user' ? [...group.results, ...group.content] : group.content,
  }))
  return { system, messages: rendered }
}

function addMessage<Context>(grouping: Grouping<Context>, message: ChatMessage, path: string): void {
  const { settings, system } = grouping
  if (message.name !== undefined && message.role !== 'tool') settings.warnings.add('messages[].name')
  switch (message.role) {
    case 'system':
    case 'developer':
      system.push(...renderContent(grouping, message.content, path))
      break
    case 'user': {
      const blocks = renderContent(grouping, message.content, path)
      if (blocks.length > 0) userGroup(grouping.groups).content.push(...blocks)
      break
    }
    case 'tool':
      addResult(grouping, message, path)
      break
    case 'assistant':
      addAssistant(grouping, message, path)
      break
  }
}

/** Blank text is left out, since the protocols reject it. */
function renderContent<Context>(
  { format, settings }: Grouping<Context>,
  content: ChatMessage['content'],
  path: string,
): Block[] {
  if (typeof content === 'string') return textBlocks(content, format)
  return (content ?? []).flatMap((part, position) => {
    const blocks = renderPart(part, `${path}.content[${position}]`, format)
    const [block] = blocks
    const breakpoint = cacheBreakpoint(part)
    if (block === undefined || breakpoint === undefined) return blocks
    const isPriced = isCachingPriced(part, settings.price)
    if (!isPriced) settings.warnings.add(CACHE_LIFETIME_PARAM)
    const { ttl } = breakpoint
    return format.cached(block, isPriced && (ttl === '5m' || ttl === '1h') ? ttl : undefined)
  })
}

function renderPart<Context>(part: ContentPart, path: string, format: BlockFormat<Context>): Block[] {
  switch (part.type) {
    case 'text':
      return part.citable === undefined ? textBlocks(part.text, format) : [format.text(part.text, part.citable)]
    case 'refusal':
      return textBlocks(part.refusal, format)
    case 'image_url':
      return [format.image(part, path)]
    case 'file':
      return [format.file(part, path)]
    case 'input_audio':
      throw unsupportedContent(path, `'input_audio' content`)
  }
}

function textBlocks<Context>(text: string, format: BlockFormat<Context>): Block[] {
  return text.trim() === '' ? [] : [format.text(text)]
}

function userGroup(groups: (UserGroup | AssistantGroup)[]): UserGroup {
  const last = groups.at(-1)
  if (last?.role === 'user') return last
  const group = newUserGroup([])
  groups.push(group)
  return group
}

function newUserGroup(content: readonly Block[]): UserGroup {
  return { role: 'user', answered: new Set(), results: [], content: [...content] }
}

function assistantGroup(groups: (UserGroup | AssistantGroup)[]): AssistantGroup {
  const last = groups.at(-1)
  if (last?.role === 'assistant') return last
  const group: AssistantGroup = { role: 'assistant', content: [], calls: new Map() }
  groups.push(group)
  return group
}

function addResult<Context>(grouping: Grouping<Context>, message: ChatMessage, path: string): void {
  const { groups, format } = grouping
  const group = userGroup(groups)
  const caller = groups.at(-2)
  const call = caller?.role === 'assistant' ? caller.calls.get(message.tool_call_id ?? '') : undefined
  const param = `${path}.tool_call_id`
  if (call === undefined) throw unpaired(param, `\`${path}\` answers no tool call of the message before it.`)
  const { wireId: id, name } = call
  if (group.answered.has(id)) throw unpaired(param, `\`${path}\` answers a tool call that was answered before.`)
  group.answered.add(id)
  const content = renderContent(grouping, message.content, path)
  const text = typeof message.content === 'string' && content.length > 0 ? message.content : undefined
  group.results.push(...format.result({ id, name, text, content }))
}

function addAssistant<Context>(grouping: Grouping<Context>, message: ChatMessage, path: string): void {
  const { format, settings, groups } = grouping
  const { content, refusal, reasoning_content: reasoning } = message
  const context = format.contextOf(message)
  if (context === undefined && typeof reasoning === 'string' && reasoning !== '') {
    settings.warnings.add('messages[].reasoning_content')
  }
  const blocks = renderContent(grouping, content, path)
  if (blocks.length === 0 && typeof refusal === 'string') blocks.push(...textBlocks(refusal, format))
  const { tool_calls: calls = [] } = message
  const returned = settings.returnsContext ? context : undefined
  const hasContent = blocks.length > 0 || calls.length > 0
  if (!hasContent && (returned === undefined || !format.contextAlone)) return
  const group = assistantGroup(groups)
  const rendered = calls.map((call) => renderCall(grouping, group, { call, param: `${path}.tool_calls` }))
  const text = typeof content === 'string' ? content : content === null || content === undefined ? '' : undefined
  if (returned === undefined) group.content.push(...blocks, ...rendered)
  else group.content.push(...format.withContext(returned, { text, content: blocks, calls: rendered }))
}

function renderCall<Context>(
  { ids, format }: Grouping<Context>,
  group: AssistantGroup,
  { call, param }: { readonly call: ToolCall; readonly param: string },
): Block {
  const { name, arguments: text } = call.function
  if (group.calls.has(call.id)) throw unpaired(param, `\`${param}\` has the id ${shown(call.id)} twice.`)
  const id = uniqueId(call.id, ids, format.maxIdLength)
  group.calls.set(call.id, { wireId: id, name, param })
  return format.call({ id, name, text })
}

/** The arguments of a call as an object; other values become its `arguments`, with a warning. */
export function inputOf(text: string, warnings: Set<string>): Json {
  const parsed = text.trim() === '' ? {} : parseJson(text)
  if (isRecord(parsed)) return parsed
  warnings.add('messages[].tool_calls[].function.arguments')
  return { arguments: text }
}

/** Other providers' ids may have characters that these protocols reject, be too long, or repeat in a later message. */
function uniqueId(id: string, ids: UniqueNames, maxLength: number): string {
  const clean = id.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, maxLength - 6) || 'call'
  return ids.take(id.length <= maxLength && /^[A-Za-z0-9_-]+$/.test(id) ? id : clean, clean)
}

function checkPairs(groups: readonly (UserGroup | AssistantGroup)[]): void {
  groups.forEach((group, position) => {
    if (group.role !== 'assistant') return
    const next = groups[position + 1]
    for (const [id, { wireId, param }] of group.calls) {
      if (next?.role === 'user' && next.answered.has(wireId)) continue
      throw unpaired(param, `\`${param}\` has the call ${shown(id)}, which no \`tool\` message after it answers.`)
    }
  })
}

function shown(id: string): string {
  return JSON.stringify(id.slice(0, 60))
}

function unpaired(param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param })
}

/**
 * Makes the conversation begin and end as the protocols require.
 * @returns The remaining system blocks: without any other message, they become the user's.
 */
function completeGroups<Context>({ groups, system, format, settings }: Grouping<Context>): readonly Block[] {
  if (groups.length === 0) {
    groups.push(newUserGroup(system.length > 0 ? system : [format.text(FILLER_BEFORE)]))
    return []
  }
  if (groups[0]?.role === 'assistant') groups.unshift(newUserGroup([format.text(FILLER_BEFORE)]))
  const last = groups.at(-1)
  if (last?.role !== 'assistant') return system
  if (settings.prefill) {
    trimEnd(last)
    return system
  }
  groups.push(newUserGroup([format.text(FILLER_AFTER)]))
  settings.warnings.add('messages')
  return system
}

/** Removes trailing white space, which is rejected at the end of a prefilled answer. */
function trimEnd({ content }: AssistantGroup): void {
  const last = content.at(-1)
  if (typeof last?.['text'] === 'string') last['text'] = last['text'].trimEnd()
}

/** Names that do not repeat: one that is taken gets the next number that is free. */
export interface UniqueNames {
  /**
   * Takes `name`, or where that is taken `stem` with the lowest free number from 2 on. In constant time on average, however
   * often a stem comes.
   */
  take(name: string, stem: string): string
}

/** @param before What precedes the number. @param after What follows it. */
export function createUniqueNames(before: string, after = ''): UniqueNames {
  const taken = new Set<string>()
  /** By stem: all lower numbers are taken. */
  const nextNumbers = new Map<string, number>()
  return {
    take(name, stem) {
      let unique = name
      if (taken.has(unique)) {
        let number = nextNumbers.get(stem) ?? 2
        do {
          unique = `${stem}${before}${number}${after}`
          number += 1
        } while (taken.has(unique))
        nextNumbers.set(stem, number)
      }
      taken.add(unique)
      return unique
    },
  }
}

/** Content of a `data:` URL (RFC 2397). */
export interface DataUrl {
  /** Lower-case, without parameters; '' when absent. */
  readonly mediaType: string
  base64(): string
  /** Read as UTF-8. */
  text(): string
}

/** Ignores parameters, and keeps invalid escapes as text. Undefined for other URLs. */
export function readDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(',')
  if (comma < 0 || !/^data:/i.test(url)) return undefined
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';')
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')
  const data = url.slice(comma + 1)
  return {
    mediaType: mediaType.trim().toLowerCase(),
    base64: () => (isBase64 ? data : Buffer.from(unescapeUrl(data)).toString('base64')),
    text: () => (isBase64 ? Buffer.from(data, 'base64').toString('utf8') : unescapeUrl(data)),
  }
}

function unescapeUrl(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
