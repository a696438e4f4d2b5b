/**
 * Renders a request of this same API from the client's own items, tools and fields, so that nothing is lost in translation.
 * Decisions of the gateway (model, limits, storage) and priced parts (tools that run at the provider, cache lifetimes) follow
 * the rules of all requests.
 */
import type { ChatRequest, NativeRequest } from '../../domain/chat.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { CACHE_LIFETIME_PARAM, isCachingPriced, withoutLifetime } from '../body-fields.ts'
import { decodeContext, isOpaqueContext } from '../opaque-context.ts'
import { CONTEXT_KEY } from './context.ts'
import { type InputSettings, isReportedLifetime, MAX_CALL_ID, type RenderedInput } from './input.ts'
import { isOfGateway, withOriginalId } from './item-ids.ts'

export function nativeOf({ native }: ChatRequest): NativeRequest | undefined {
  return native?.protocol === 'openai-responses' ? native : undefined
}

const BETA = /^[\w.=;, -]{1,500}$/

/** Returns the header `openai-beta` if the client sent it. */
export function betaHeader({ headers }: NativeRequest): Readonly<Record<string, string>> | undefined {
  const { 'openai-beta': beta } = headers
  return beta !== undefined && BETA.test(beta) ? { 'openai-beta': beta } : undefined
}

interface NativeInput {
  readonly instructions: unknown
  readonly input: RenderedInput['input'] | string
}

interface ItemSettings extends InputSettings {
  /** Returns whether a tool of the list is sent. */
  readonly isSent: (tool: unknown) => boolean
}

/**
 * Returns the client's own input; undefined where only its translation fits the API: a call ID of another provider that is
 * too long, or reasoning of this API that the gateway has encoded, whose items have positions of their own.
 */
export function renderNativeInput({ body }: NativeRequest, settings: ItemSettings): NativeInput | undefined {
  const { instructions, input } = body
  if (typeof input === 'string') return { instructions, input }
  const items: Json[] = []
  for (const item of Array.isArray(input) ? input.filter(isRecord) : []) {
    if (textOf(item['call_id']).length > MAX_CALL_ID) return undefined
    const encrypted = textOf(item['encrypted_content'])
    const isUnreadable = item['type'] === 'reasoning' && encrypted === '' && isOfGateway(item)
    if (!isOpaqueContext(encrypted) && !isUnreadable) items.push(renderItem(withOriginalId(item), settings))
    else if (Object.hasOwn(decodeContext(encrypted) ?? {}, CONTEXT_KEY)) return undefined
    // else: reasoning of another protocol, which this one cannot read
  }
  return { instructions, input: items }
}

/** The members of an item that may have cache marks or tools. */
function renderItem(item: Json, settings: ItemSettings): Json {
  let rendered = item
  for (const name of ['content', 'output']) {
    const parts = rendered[name]
    if (!Array.isArray(parts)) continue
    const priced = parts.map((part: unknown) => (isRecord(part) ? withPricedCache(part, settings) : part))
    if (priced.some((part, at) => part !== parts[at])) rendered = { ...rendered, [name]: priced }
  }
  const { tools } = rendered
  if (!Array.isArray(tools) || tools.every(settings.isSent)) return rendered
  return { ...rendered, tools: tools.filter(settings.isSent) }
}

/** Returns the part unchanged if the price covers its cache lifetime and the usage reports it. */
function withPricedCache(part: Json, { price, warnings }: InputSettings): Json {
  const { prompt_cache_breakpoint: breakpoint } = part
  if (!isRecord(breakpoint) || (isCachingPriced(part, price) && isReportedLifetime(breakpoint))) return part
  warnings.add(CACHE_LIFETIME_PARAM)
  return withoutLifetime(part)
}

/** The client's own tools, in their order. @param isSent See `sentTools`. */
export function renderNativeTools({ body }: NativeRequest, isSent: (tool: unknown) => boolean): readonly unknown[] {
  const { tools } = body
  return Array.isArray(tools) ? tools.filter(isSent) : []
}

/** Tools that run at the client; others are sent where the request still has them, since each of those has a price. */
const CLIENT_TOOLS: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace', 'local_shell'])

/** @returns whether a tool of the request is sent. */
export function sentTools({ serverTools = [] }: ChatRequest): (tool: unknown) => boolean {
  const priced = new Set<unknown>(serverTools.map(({ wire }) => wire))
  return (tool) => (isRecord(tool) && CLIENT_TOOLS.has(tool['type'])) || priced.has(tool)
}
