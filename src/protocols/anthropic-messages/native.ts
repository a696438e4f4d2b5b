/**
 * Renders a request of this same API from the client's own blocks, tools and fields, so that nothing is lost in translation.
 * Decisions of the gateway (model, limits, thinking) and priced parts (tools that run at the provider, cache lifetimes)
 * follow the rules of all requests.
 */
import type { ChatRequest, NativeRequest } from '../../domain/chat.ts'
import type { Price } from '../../domain/price/tariff.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { CACHE_LIFETIME_PARAM, type Fields, forwardedFields, isCachingPriced, withoutLifetime } from '../body-fields.ts'
import { type Block, FILLER_AFTER, FILLER_BEFORE } from '../conversation.ts'
import { isOpaqueContext } from '../opaque-context.ts'
import type { RenderTarget } from '../protocol.ts'
import { withoutForeignCitations } from './client/answer.ts'

export function nativeOf({ native }: ChatRequest): NativeRequest | undefined {
  return native?.protocol === 'anthropic' ? native : undefined
}

/** Tools that the API describes to the model and the client executes: without a fee. */
const BUILT_IN_TOOLS = /^(?:bash|text_editor|computer|memory)_\d{8}$/

export function isBuiltInTool({ type }: Json): boolean {
  return typeof type === 'string' && BUILT_IN_TOOLS.test(type)
}

const BETA = /^[\w.-]{1,100}$/

/** Returns the values of `anthropic-beta`. */
export function betasOf(native: NativeRequest | undefined): string[] {
  const values = native?.headers['anthropic-beta']?.split(',') ?? []
  return values.map((value) => value.trim()).filter((value) => BETA.test(value))
}

interface Extras {
  readonly target: RenderTarget
  readonly warnings: Set<string>
}

const KNOWN: ReadonlySet<string> = new Set(['cache_control'])

/** @throws GatewayError `unsupported_parameter` for fields that cost and have no price. */
export function nativeFields({ extra }: NativeRequest, { target, warnings }: Extras): Fields {
  const priced = { price: target.price, forwardUnknown: true }
  const fields = forwardedFields({ extra }, { known: KNOWN, target: priced, warnings })
  const { context_management: management } = fields
  return isRecord(management) ? { ...fields, context_management: withFreeEdits(management, warnings) } : fields
}

/** Edits that remove content are free. A summary of it is generated, which the usage of the answer leaves out. */
function withFreeEdits(management: Json, warnings: Set<string>): Json {
  const { edits } = management
  if (!Array.isArray(edits)) return management
  const free = edits.filter((edit) => isRecord(edit) && textOf(edit['type']).startsWith('clear_'))
  if (free.length < edits.length) warnings.add('context_management.edits')
  return { ...management, edits: free }
}

export interface NativeSettings {
  readonly warnings: Set<string>
  readonly price: Price | undefined
  /** Whether earlier thinking is returned to the model. */
  readonly returnsContext: boolean
  /** Whether the last message may be the assistant's. */
  readonly prefill: boolean
  /** Added after the client's own system prompt. */
  readonly instructions: readonly string[]
}

interface NativeConversation {
  readonly system: string | readonly unknown[] | undefined
  readonly messages: readonly unknown[]
}

export function renderNativeConversation({ body }: NativeRequest, settings: NativeSettings): NativeConversation {
  const messages = listOf(body['messages']).flatMap((message) => renderMessage(message, settings))
  if (messages.length === 0) messages.push({ role: 'user', content: FILLER_BEFORE })
  if (messages.at(-1)?.['role'] === 'assistant' && !settings.prefill) {
    messages.push({ role: 'user', content: FILLER_AFTER })
    settings.warnings.add('messages')
  }
  return { system: renderSystem(body['system'], settings), messages }
}

function listOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

function renderSystem(system: unknown, settings: NativeSettings): NativeConversation['system'] {
  const instructions = settings.instructions.map((text) => ({ type: 'text', text }))
  if (typeof system === 'string') {
    if (instructions.length === 0) return system.trim() === '' ? undefined : system
    return [...renderBlock({ type: 'text', text: system }, settings), ...instructions]
  }
  const blocks = [...listOf(system).flatMap((block) => renderBlock(block, settings)), ...instructions]
  return blocks.length === 0 ? undefined : blocks
}

/** Omits blank text, which the API rejects, and messages without other content. */
function renderMessage(message: Json, settings: NativeSettings): Block[] {
  const { content } = message
  if (typeof content === 'string') return content.trim() === '' ? [] : [message]
  const blocks = listOf(content).flatMap((block) => renderBlock(block, settings))
  return blocks.length === 0 ? [] : [{ ...message, content: blocks }]
}

/** Omits thinking of other providers, which is unsigned or one of our opaque texts: the API would reject it. */
function renderBlock(block: Json, settings: NativeSettings): readonly Json[] {
  switch (block['type']) {
    case 'text':
      return textOf(block['text']).trim() === '' ? [] : [withPricedCache(withoutForeignCitations(block), settings)]
    case 'thinking':
      return settings.returnsContext && textOf(block['signature']) !== '' ? [block] : []
    case 'redacted_thinking':
      return settings.returnsContext && !isOpaqueContext(textOf(block['data'])) ? [block] : []
    case 'tool_use':
      return [withPricedCache({ ...block, id: cleanId(block['id']) }, settings)]
    case 'tool_result':
      return [withPricedCache(renderResult(block, settings), settings)]
    default:
      return [withPricedCache(block, settings)]
  }
}

function renderResult(block: Json, settings: NativeSettings): Json {
  const { tool_use_id: id, content } = block
  const result = { ...block, tool_use_id: cleanId(id) }
  if (!Array.isArray(content)) return result
  return { ...result, content: listOf(content).flatMap((part) => renderBlock(part, settings)) }
}

/** IDs of other providers may contain characters that the API rejects. */
function cleanId(id: unknown): string {
  return textOf(id).replace(/[^A-Za-z0-9_-]/g, '_')
}

type Caching = Pick<NativeSettings, 'price' | 'warnings'>

/** Members of a block that may have blocks with cache marks of their own. Its `input` is data of the model. */
const NESTED = ['content', 'source'] as const

/** Returns the block unchanged if the price covers every cache lifetime in it. */
function withPricedCache(block: Json, caching: Caching): Json {
  let priced = block
  if (!isCachingPriced(block, caching.price)) {
    caching.warnings.add(CACHE_LIFETIME_PARAM)
    priced = withoutLifetime(block)
  }
  for (const name of NESTED) {
    const value = withPricedParts(priced[name], caching)
    if (value !== priced[name]) priced = { ...priced, [name]: value }
  }
  return priced
}

function withPricedParts(value: unknown, caching: Caching): unknown {
  if (isRecord(value)) return withPricedCache(value, caching)
  if (!Array.isArray(value)) return value
  const parts = value.map((part: unknown) => (isRecord(part) ? withPricedCache(part, caching) : part))
  return parts.every((part, at) => part === value[at]) ? value : parts
}

export interface PlannedTools extends Pick<NativeSettings, 'price' | 'warnings'> {
  /** The functions of the translated request: functions that it omits are omitted here. */
  readonly functions: readonly Block[]
  /** The tools that run at the provider, in the order of the request. */
  readonly serverTools: readonly Block[]
}

/** The client's own tools in their order, then those of the gateway. */
export function renderNativeTools({ body }: NativeRequest, planned: PlannedTools): readonly unknown[] | undefined {
  const functions = new Map(planned.functions.map((tool) => [tool['name'], tool]))
  const serverTools = planned.serverTools.values()
  const tools: unknown[] = []
  for (const tool of listOf(body['tools'])) {
    const isFunction = tool['type'] === undefined || tool['type'] === null || tool['type'] === 'custom'
    if (!isFunction && !isBuiltInTool(tool)) {
      const { value } = serverTools.next()
      if (value !== undefined) tools.push(withPricedCache(value, planned))
      continue
    }
    const own = functions.get(tool['name'])
    if (own === undefined) continue
    functions.delete(tool['name'])
    tools.push(withPricedCache(own['strict'] === undefined ? withoutStrict(tool) : tool, planned))
  }
  tools.push(...functions.values(), ...serverTools)
  return tools.length === 0 ? undefined : tools
}

/** Removes `strict` for models that do not support it; the request then has a warning. */
function withoutStrict({ strict: _, ...tool }: Json): Json {
  return tool
}
