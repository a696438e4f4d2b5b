/**
 * Reasoning on its way to the client and back. The API wants the reasoning items of a tool loop back in their positions,
 * with the IDs of the items between them; they travel as `provider_context["openai-responses"].items`, in the order of the
 * answer:
 *
 * - `{type: 'reasoning', id, summary, encrypted_content}`, or with `content` where the host does not encrypt;
 * - `{type: 'message', id, phase, length}` (decimal UTF-16 units of the message's content) and `{type: 'call', id, call_id}`,
 *   which give the positions of texts and calls.
 *
 * Every entry has its `index`, without which clients that join deltas reject a list. Contexts from clients are untrusted:
 * an entry of any other shape invalidates the whole context, which then counts as absent.
 */
import type { ChatMessage } from '../../domain/chat.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'

/** The key of this protocol in `provider_context`. */
export const CONTEXT_KEY = 'openai-responses'

interface ReasoningEntry {
  readonly type: 'reasoning'
  readonly id: string
  readonly summary: readonly Json[]
  /** Plain reasoning, of hosts that do not encrypt it. */
  readonly content: readonly Json[] | undefined
  readonly encrypted: string | undefined
}

export type ContextEntry =
  | ReasoningEntry
  | { readonly type: 'message'; readonly id: string; readonly phase: string | undefined; readonly length: number }
  | { readonly type: 'call'; readonly id: string; readonly callId: string }

/** The reasoning of an item on the wire, or in a context; undefined where the API could not read it again. */
export function readReasoning({
  id,
  summary,
  content,
  encrypted_content: encrypted,
}: Json): ReasoningEntry | undefined {
  const texts = textsOf(summary, 'summary_text')
  const plain = textsOf(content, 'reasoning_text')
  const blob = textOf(encrypted) || undefined
  if (blob === undefined && plain.length === 0) return undefined
  const kept = blob === undefined ? plain : undefined
  return { type: 'reasoning', id: textOf(id), summary: texts, content: kept, encrypted: blob }
}

function textsOf(list: unknown, type: string): readonly Json[] {
  if (!Array.isArray(list)) return []
  return list.filter(isRecord).map(({ text }) => ({ type, text: textOf(text) }))
}

/**
 * The value of the answer's `provider_context`; undefined when there is nothing to return. Leaves out reasoning that
 * nothing follows, which the API rejects.
 * @param entries All items of the answer that the client sees or must return, in order.
 */
export function renderContext(entries: readonly ContextEntry[]): Json | undefined {
  const last = entries.findLastIndex(({ type }) => type !== 'reasoning')
  const usable = entries.slice(0, last + 1)
  if (!usable.some((entry) => entry.type === 'reasoning' || (entry.type === 'message' && entry.phase !== undefined))) {
    return undefined
  }
  return { [CONTEXT_KEY]: { items: usable.map((entry, index) => ({ ...renderEntry(entry), index })) } }
}

function renderEntry(entry: ContextEntry): Json {
  switch (entry.type) {
    case 'reasoning':
      return renderReasoning(entry)
    case 'message':
      return withoutUndefined({ type: 'message', id: entry.id, phase: entry.phase, length: String(entry.length) })
    case 'call':
      return { type: 'call', id: entry.id, call_id: entry.callId }
  }
}

function renderReasoning({ id, summary, content, encrypted }: ReasoningEntry): Json {
  return withoutUndefined({ type: 'reasoning', id: id || undefined, summary, content, encrypted_content: encrypted })
}

function withoutUndefined(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** @returns undefined where the context is absent, invalid, or does not fit the message as it is now. */
export function contextOf(message: ChatMessage): readonly ContextEntry[] | undefined {
  const ours = message.provider_context?.[CONTEXT_KEY]
  if (!isRecord(ours) || !Array.isArray(ours['items']) || ours['items'].length === 0) return undefined
  const entries: ContextEntry[] = []
  for (const item of ours['items']) {
    const entry = isRecord(item) ? readEntry(item) : undefined
    if (entry === undefined) return undefined
    entries.push(entry)
  }
  return fits(entries, message) ? entries : undefined
}

function readEntry(item: Json): ContextEntry | undefined {
  const { type, id, phase, length, call_id: callId } = item
  if (type === 'reasoning') return readReasoning(item)
  if (type === 'message' && /^\d{1,9}$/.test(textOf(length))) {
    return { type, id: textOf(id), phase: textOf(phase) || undefined, length: Number(length) }
  }
  return type === 'call' && typeof callId === 'string' ? { type, id: textOf(id), callId } : undefined
}

/** Returns whether text and calls are unchanged and follow all reasoning. */
function fits(entries: readonly ContextEntry[], { content, tool_calls: calls = [] }: ChatMessage): boolean {
  const text = content ?? ''
  if (typeof text !== 'string' || entries.at(-1)?.type === 'reasoning') return false
  const ids = entries.flatMap((entry) => (entry.type === 'call' ? [entry.callId] : []))
  if (ids.length !== calls.length || ids.some((id, at) => id !== calls[at]?.id)) return false
  let length = 0
  for (const entry of entries) {
    if (entry.type !== 'message') continue
    length += entry.length
    if (isInsidePair(text, length)) return false
  }
  return text.length === length
}

/** Returns whether a position is within a code point of two UTF-16 units. */
function isInsidePair(text: string, position: number): boolean {
  return position > 0 && (text.codePointAt(position - 1) ?? 0) > 0xffff
}

/** The items of an assistant's message with its reasoning in position. @param calls Rendered, in order. */
export function weave(entries: readonly ContextEntry[], text: string, calls: readonly Json[]): readonly Json[] {
  const items: Json[] = []
  let from = 0
  let called = 0
  for (const entry of entries) {
    if (entry.type === 'reasoning') items.push(renderReasoning(entry))
    else if (entry.type === 'call') items.push({ ...calls[called++], ...(entry.id !== '' && { id: entry.id }) })
    else {
      items.push(renderText(text.slice(from, from + entry.length), entry))
      from += entry.length
    }
  }
  return items
}

/** An earlier answer's message, as the API gave it. */
function renderText(text: string, { id, phase }: { readonly id: string; readonly phase: string | undefined }): Json {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return withoutUndefined({
    ...{ type: 'message', role: 'assistant', status: 'completed', id: id || undefined, phase, content },
  })
}

// IDs of stored items. Each has the ID of the response that it was stored with, and that of its provider where it has one,
// so that both are found without a query.

const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  local_shell_call: 'lsh',
  local_shell_call_output: 'lsho',
}

/** @param responseTail ID of the response without its prefix. @param at Position: `3`, or `i3` of the request's own items. */
export function newItemId({ type }: Json, responseTail: string, at: number | string): string {
  return `${PREFIXES[textOf(type)] ?? 'item'}_${responseTail}_${at}`
}

const RESPONSE_PREFIX = 'resp_'
const ITEM_ID = /^[a-z]+_(?:[\w-]{1,64}_)?([0-9A-Za-z]{1,64})_i?\d{1,6}$/

/** The ID of the response that an item was stored with; undefined: the gateway has not made this ID. */
export function responseOfItem(itemId: string): string | undefined {
  const tail = ITEM_ID.exec(itemId)?.[1]
  return tail === undefined ? undefined : RESPONSE_PREFIX + tail
}

/** The random part of a response's ID. */
export function tailOfResponse(responseId: string): string {
  return responseId.slice(RESPONSE_PREFIX.length)
}

const PROVIDER_ID = /^[a-z]+_[\w-]{1,64}$/

/** The ID of a stored item that its provider named; undefined: the name does not fit. */
export function storedItemId(providerId: string, responseTail: string, at: number): string | undefined {
  return PROVIDER_ID.test(providerId) ? `${providerId}_${responseTail}_${at}` : undefined
}

/** The ID of an item of a provider in the gateway's form, whose random part has 22 characters. */
const OF_PROVIDER = /^([a-z]+_[\w-]{1,64})_[0-9A-Za-z]{22}_\d{1,6}$/
const OF_REQUEST = /^[a-z]+_[0-9A-Za-z]{22}_i\d{1,6}$/
const OF_GATEWAY = /^[a-z]+_[0-9A-Za-z]{22}_\d{1,6}$/

/** An item as its provider or its client wrote it, without the ID that it is stored with. */
export function withOriginalId(item: Json): Json {
  const { id, ...rest } = item
  if (typeof id !== 'string') return item
  const original = OF_PROVIDER.exec(id)?.[1]
  if (original !== undefined) return { ...item, id: original }
  return OF_REQUEST.test(id) ? rest : item
}

/** Returns whether the gateway created the item from an answer of another protocol. */
export function isOfGateway({ id }: Json): boolean {
  return OF_GATEWAY.test(textOf(id))
}
