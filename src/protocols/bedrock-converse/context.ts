/**
 * Signed reasoning on its way to the client and back. Models that sign it require it unmodified and in its position; it
 * travels as `provider_context.bedrock.blocks`, in the order of the answer:
 *
 * - `{text, signature}` or `{redacted}` (base64), as the provider sent them;
 * - only where something came before it, also `text_before` (UTF-16 units of the message's content) and `calls_before`
 *   (tool calls), decimal texts that give its position between them.
 *
 * Every entry has its `index`, without which clients that join deltas reject a list. Contexts from clients are untrusted:
 * an entry of any other shape invalidates the whole context, which then counts as absent.
 */
import type { ChatMessage } from '../../domain/chat.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import type { AssistantParts, Block } from '../conversation.ts'

/** The key of this protocol in `provider_context`. */
const CONTEXT_KEY = 'bedrock'

/** The position in the message: after this much of its text and this many of its tool calls. */
export interface Position {
  readonly textBefore: number
  readonly callsBefore: number
}
export type Reasoning = { readonly text: string; readonly signature: string } | { readonly redacted: string }
export type ContextEntry = Reasoning & Position

/** The value of the answer's `provider_context`; undefined when there is nothing to return. */
export function renderContext(entries: readonly ContextEntry[]): Json | undefined {
  if (entries.length === 0) return undefined
  const blocks = entries.map(({ textBefore, callsBefore, ...reasoning }, index) => ({
    ...reasoning,
    ...(textBefore === 0 ? {} : { text_before: String(textBefore) }),
    ...(callsBefore === 0 ? {} : { calls_before: String(callsBefore) }),
    index,
  }))
  return { [CONTEXT_KEY]: { blocks } }
}

/** @returns undefined where the context is absent or invalid. */
export function contextOf(message: ChatMessage): readonly ContextEntry[] | undefined {
  const ours = message.provider_context?.[CONTEXT_KEY]
  if (!isRecord(ours) || !Array.isArray(ours['blocks']) || ours['blocks'].length === 0) return undefined
  const entries = ours['blocks'].map((block: unknown) => (isRecord(block) ? readEntry(block) : undefined))
  return entries.every((entry) => entry !== undefined) ? entries : undefined
}

function readEntry(block: Json): ContextEntry | undefined {
  const textBefore = readCount(block['text_before'])
  const callsBefore = readCount(block['calls_before'])
  if (textBefore === undefined || callsBefore === undefined) return undefined
  const redacted = textOf(block['redacted'])
  if (redacted !== '') return { redacted, textBefore, callsBefore }
  const { text, signature } = block
  if (typeof text !== 'string' || textOf(signature) === '') return undefined
  return { text, signature: textOf(signature), textBefore, callsBefore }
}

function readCount(value: unknown): number | undefined {
  if (value === undefined) return 0
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : undefined
}

/** The blocks of an assistant's message with its reasoning in position. Blank text is left out, since the API rejects it. */
export function weave(entries: readonly ContextEntry[], { text, content, calls }: AssistantParts): Block[] {
  const leads = entries.every(({ textBefore, callsBefore }) => textBefore === 0 && callsBefore === 0)
  if (leads || text === undefined) return [...entries.map(renderReasoning), ...content, ...calls]
  const blocks: Block[] = []
  let from = 0
  let called = 0
  const advance = (toText: number, toCall: number): void => {
    const piece = text.slice(from, toText)
    if (piece.trim() !== '') blocks.push({ text: piece })
    blocks.push(...calls.slice(called, toCall))
    from = Math.max(from, toText)
    called = Math.max(called, toCall)
  }
  for (const entry of entries) {
    advance(entry.textBefore, entry.callsBefore)
    blocks.push(renderReasoning(entry))
  }
  advance(text.length, calls.length)
  return blocks
}

function renderReasoning(entry: ContextEntry): Block {
  if ('redacted' in entry) return { reasoningContent: { redactedContent: entry.redacted } }
  return { reasoningContent: { reasoningText: { text: entry.text, signature: entry.signature } } }
}
