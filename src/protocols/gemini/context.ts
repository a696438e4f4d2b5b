/**
 * Thought signatures on their way through the client: what the model must get back, unread, with the parts they came
 * on. They travel in the assistant message's `provider_context`:
 *
 *     {"gemini": {"signatures": [{"index": 0, "tool_call": "call_…", "signature": "…"}]}}
 *
 * An entry says which part it belongs to: `tool_call` by id, `text` and `reasoning` by the range that the part has in
 * the message's `content` or `reasoning_content` ("120:180", UTF-16 units, the end excluded), `image` by position.
 * The order is that of the parts. Every entry has its `index`, which clients that gather deltas ask for.
 *
 * Source: https://ai.google.dev/gemini-api/docs/thought-signatures
 */
import type { ChatMessage } from '../../domain/chat.ts'
import { isRecord } from '../../lib/json.ts'

export const CONTEXT_FIELD = 'provider_context'

/** What the API takes instead of a signature that nobody has any more. */
export const UNKNOWN_SIGNATURE = 'skip_thought_signature_validator'

export const PART_KINDS = ['text', 'reasoning', 'tool_call', 'image'] as const
export type PartKind = (typeof PART_KINDS)[number]

export interface Signature {
  readonly kind: PartKind
  /** An id, a range or a position, by kind. */
  readonly of: string
  readonly signature: string
}

/** The extension's value. */
export function renderContext(signatures: readonly Signature[]): unknown {
  return {
    gemini: { signatures: signatures.map(({ kind, of, signature }, index) => ({ index, [kind]: of, signature })) },
  }
}

/** What a client sent back; entries that are not ours are left out. */
export function readContext({ provider_context: context }: ChatMessage): readonly Signature[] {
  const own = isRecord(context) ? context.gemini : undefined
  const entries = isRecord(own) ? own.signatures : undefined
  return Array.isArray(entries) ? entries.flatMap(readEntry) : []
}

function readEntry(entry: unknown): readonly Signature[] {
  if (!isRecord(entry)) return []
  const { signature } = entry
  const kind = PART_KINDS.find((name) => typeof entry[name] === 'string')
  const of = kind === undefined ? undefined : entry[kind]
  if (kind === undefined || typeof of !== 'string' || typeof signature !== 'string') return []
  return [{ kind, of, signature }]
}

export interface Range {
  readonly from: number
  readonly to: number
}

export function renderRange({ from, to }: Range): string {
  return `${from}:${to}`
}

/** @returns undefined for what is no range. */
export function parseRange(text: string): Range | undefined {
  const match = /^(\d{1,9}):(\d{1,9})$/.exec(text)
  const [, from, to] = match ?? []
  if (from === undefined || to === undefined || Number(from) > Number(to)) return undefined
  return { from: Number(from), to: Number(to) }
}
