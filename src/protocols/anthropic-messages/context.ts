/**
 * Signed thinking on its way to the client and back. The API requires the thinking of a tool loop unmodified and in its
 * position; it travels as `provider_context.anthropic.blocks`, in the order of the answer:
 *
 * - `{type: 'thinking', thinking, signature}` and `{type: 'redacted_thinking', data}`, as the provider sent them;
 * - only where thinking came after something else, also `{type: 'text', length}` (decimal UTF-16 units of the message's
 *   content) and `{type: 'tool_use', id}`, which give the positions of text and calls between it.
 *
 * Every entry has its `index`, without which clients that join deltas reject a list. Contexts from clients are untrusted:
 * an entry of any other shape invalidates the whole context, which then counts as absent.
 */
import type { ChatMessage } from '../../domain/chat.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import type { AssistantParts, Block } from '../conversation.ts'

/** The key of this protocol in `provider_context`. */
const CONTEXT_KEY = 'anthropic'

export type ContextEntry =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'text'; readonly length: number }
  | { readonly type: 'tool_use'; readonly id: string }

/**
 * The value of the answer's `provider_context`; undefined when there is nothing to return. Leaves out what the API would
 * reject: thinking without a signature, and thinking that nothing follows.
 * @param entries All blocks of the answer that the client sees or must return, in order.
 */
export function renderContext(entries: readonly ContextEntry[]): Json | undefined {
  const last = entries.findLastIndex((entry) => !isThinking(entry))
  const usable = entries.slice(0, last + 1).filter((entry) => entry.type !== 'thinking' || entry.signature !== '')
  const thinkingCount = usable.filter(isThinking).length
  if (thinkingCount === 0) return undefined
  const leads = usable.slice(0, thinkingCount).every(isThinking)
  const kept = leads ? usable.slice(0, thinkingCount) : usable
  return { [CONTEXT_KEY]: { blocks: kept.map((entry, index) => ({ ...renderEntry(entry), index })) } }
}

function renderEntry(entry: ContextEntry): Json {
  return entry.type === 'text' ? { type: 'text', length: String(entry.length) } : entry
}

function isThinking(entry: ContextEntry): boolean {
  return entry.type === 'thinking' || entry.type === 'redacted_thinking'
}

/** @returns undefined where the context is absent, invalid, or does not fit the message as it is now. */
export function contextOf(message: ChatMessage): readonly ContextEntry[] | undefined {
  const ours = message.provider_context?.[CONTEXT_KEY]
  if (!isRecord(ours) || !Array.isArray(ours['blocks']) || ours['blocks'].length === 0) return undefined
  const entries: ContextEntry[] = []
  for (const block of ours['blocks']) {
    const entry = isRecord(block) ? readEntry(block) : undefined
    if (entry === undefined) return undefined
    entries.push(entry)
  }
  return entries.every(isThinking) || fits(entries, message) ? entries : undefined
}

function readEntry(block: Json): ContextEntry | undefined {
  const { type, thinking, signature, data, length, id } = block
  if (type === 'thinking' && typeof thinking === 'string' && textOf(signature) !== '') {
    return { type, thinking, signature: textOf(signature) }
  }
  if (type === 'redacted_thinking' && textOf(data) !== '') return { type, data: textOf(data) }
  if (type === 'text' && /^[1-9]\d{0,8}$/.test(textOf(length))) return { type, length: Number(length) }
  if (type === 'tool_use' && typeof id === 'string') return { type, id }
  return undefined
}

/** Returns whether text and calls are unchanged and end with a block that may end a message. */
function fits(entries: readonly ContextEntry[], { content, tool_calls: calls = [] }: ChatMessage): boolean {
  const text = content ?? ''
  if (typeof text !== 'string') return false
  const ids = entries.flatMap((entry) => (entry.type === 'tool_use' ? [entry.id] : []))
  const length = entries.reduce((sum, entry) => sum + (entry.type === 'text' ? entry.length : 0), 0)
  const last = entries.at(-1)
  const ends = last?.type === 'tool_use' || (last?.type === 'text' && text.slice(-last.length).trim() !== '')
  return ends && text.length === length && ids.length === calls.length && ids.every((id, at) => id === calls[at]?.id)
}

/** The blocks of an assistant's message with its thinking in position. Blank text is left out, since the API rejects it. */
export function weave(
  entries: readonly ContextEntry[],
  { text = '', content, calls }: AssistantParts,
): readonly Block[] {
  if (entries.every(isThinking)) return [...entries.map((entry) => ({ ...entry })), ...content, ...calls]
  const blocks: Block[] = []
  let from = 0
  let called = 0
  for (const entry of entries) {
    if (entry.type === 'text') {
      const piece = text.slice(from, from + entry.length)
      from += entry.length
      if (piece.trim() !== '') blocks.push({ type: 'text', text: piece })
    } else if (entry.type === 'tool_use') {
      const call = calls[called++]
      if (call !== undefined) blocks.push(call)
    } else {
      blocks.push({ ...entry })
    }
  }
  return blocks
}
