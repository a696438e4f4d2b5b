/**
 * Carries thought signatures through the client: the model needs them back unchanged, with their parts. They travel in the
 * assistant message's `provider_context`:
 *
 *     {"gemini": {"signatures": [{"index": 0, "tool_call": "call_…", "signature": "…"}]}}
 *
 * An entry names the part it belongs to: `tool_call` by id, `text` and `reasoning` by the range that the part has in
 * the message's `content` or `reasoning_content` ("120:180", UTF-16 units, the end excluded), `image` by position.
 * The order is that of the parts. Every entry has its `index`, which clients that gather deltas ask for.
 *
 * Source: https://ai.google.dev/gemini-api/docs/thought-signatures
 */
import type { ChatMessage, ToolCall } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'

export const CONTEXT_FIELD = 'provider_context'

/** The API accepts this in place of a lost signature. */
const UNKNOWN_SIGNATURE = 'skip_thought_signature_validator'

const PART_KINDS = ['text', 'reasoning', 'tool_call', 'image'] as const
export type PartKind = (typeof PART_KINDS)[number]

export interface Signature {
  readonly kind: PartKind
  /** An id, a range or a position, by kind. */
  readonly of: string
  readonly signature: string
}

/** Returns the value of the extension. */
export function renderContext(signatures: readonly Signature[]): unknown {
  return {
    gemini: { signatures: signatures.map(({ kind, of, signature }, index) => ({ index, [kind]: of, signature })) },
  }
}

/** The signatures that a client returned; other entries are ignored. */
function readContext({ provider_context: context }: ChatMessage): readonly Signature[] {
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

/** @returns undefined for any other text. */
export function parseRange(text: string): Range | undefined {
  const match = /^(\d{1,9}):(\d{1,9})$/.exec(text)
  const [, from, to] = match ?? []
  if (from === undefined || to === undefined || Number(from) > Number(to)) return undefined
  return { from: Number(from), to: Number(to) }
}

/** One part on the wire: `{text}`, `{inlineData}`, `{fileData}`, `{functionCall}` or `{functionResponse}`. */
export type Part = Record<string, unknown>

interface ModelMessageSettings {
  /** The path of the message: `messages[i]`. */
  readonly path: string
  /** Whether the API rejects calls without a signature. */
  readonly demandsSignatures: boolean
  readonly warnings: Set<string>
}

interface Draft {
  readonly parts: Part[]
  readonly text: string
  readonly reasoning: string
  readonly images: readonly Part[]
  readonly calls: readonly Part[]
  /** Positions of the calls of an id, the last one first. */
  readonly callPositions: ReadonlyMap<string, number[]>
  /** The number of items of each kind that have been rendered. */
  readonly done: { text: number; reasoning: number; images: number; calls: number }
}

/**
 * Renders an assistant's message as parts. Signed parts are restored unchanged, with the text, images and calls between them.
 * A signature without its part is dropped. Reasoning is sent only if it is signed, since the model does not use summaries of
 * its thoughts. @returns [] for a message without content.
 */
export function renderModelMessage(message: ChatMessage, settings: ModelMessageSettings): Part[] {
  const signatures = readContext(message)
  const calls = message.tool_calls ?? []
  const draft: Draft = {
    parts: [],
    text: textOfMessage(message),
    reasoning: message.reasoning_content ?? '',
    images: imagesOf(message),
    calls: calls.map((call, at) => renderCall(call, `${settings.path}.tool_calls[${at}]`, settings.warnings)),
    callPositions: positionsOf(calls),
    done: { text: 0, reasoning: 0, images: 0, calls: 0 },
  }
  const nextTexts = textsAfter(signatures)
  signatures.forEach((signature, position) => {
    if (!addSigned(draft, signature, nextTexts[position])) settings.warnings.add('messages[].provider_context')
  })
  finish(draft)
  if (draft.reasoning !== '' && signatures.length === 0) settings.warnings.add('messages[].reasoning_content')
  if (settings.demandsSignatures) signFirstCall(draft.parts, settings.warnings)
  return draft.parts
}

function positionsOf(calls: readonly ToolCall[]): ReadonlyMap<string, number[]> {
  const positions = new Map<string, number[]>()
  for (let position = calls.length - 1; position >= 0; position--) {
    const id = calls[position]?.id ?? ''
    const known = positions.get(id)
    if (known === undefined) positions.set(id, [position])
    else known.push(position)
  }
  return positions
}

/** Returns the first call of the ID that is not rendered yet. */
function nextPosition({ callPositions, done }: Draft, id: string): number | undefined {
  const positions = callPositions.get(id)
  while ((positions?.at(-1) ?? done.calls) < done.calls) positions?.pop()
  return positions?.at(-1)
}

/** Returns for each signature the next one of a text. */
function textsAfter(signatures: readonly Signature[]): readonly (Signature | undefined)[] {
  const texts: (Signature | undefined)[] = new Array(signatures.length)
  let next: Signature | undefined
  for (let position = signatures.length - 1; position >= 0; position--) {
    texts[position] = next
    if (signatures[position]?.kind === 'text') next = signatures[position]
  }
  return texts
}

/** @returns false if the part is missing. */
function addSigned(draft: Draft, signature: Signature, nextText: Signature | undefined): boolean {
  switch (signature.kind) {
    case 'text':
      return addText(draft, signature)
    case 'reasoning':
      return addReasoning(draft, signature)
    case 'image':
      return addImage(draft, signature)
    case 'tool_call':
      pushText(draft, nextText === undefined ? draft.text.length : (parseRange(nextText.of)?.from ?? 0))
      return addCall(draft, signature)
  }
}

function addText(draft: Draft, { of, signature }: Signature): boolean {
  const range = rangeWithin(of, draft.text)
  if (range === undefined || range.from < draft.done.text) return false
  pushText(draft, range.from)
  draft.parts.push({ text: draft.text.slice(range.from, range.to), thoughtSignature: signature })
  draft.done.text = range.to
  return true
}

function addReasoning(draft: Draft, { of, signature }: Signature): boolean {
  const range = rangeWithin(of, draft.reasoning)
  if (range === undefined || range.from < draft.done.reasoning) return false
  const text = draft.reasoning.slice(range.from, range.to)
  draft.parts.push({ text, thought: true, thoughtSignature: signature })
  draft.done.reasoning = range.to
  return true
}

function addImage(draft: Draft, { of, signature }: Signature): boolean {
  const image = draft.images[Number(of)]
  if (image === undefined || Number(of) < draft.done.images) return false
  pushText(draft, draft.text.length)
  draft.parts.push(...draft.images.slice(draft.done.images, Number(of)), { ...image, thoughtSignature: signature })
  draft.done.images = Number(of) + 1
  return true
}

function addCall(draft: Draft, { of, signature }: Signature): boolean {
  const at = nextPosition(draft, of)
  const call = at === undefined ? undefined : draft.calls[at]
  if (at === undefined || call === undefined) return false
  draft.parts.push(...draft.calls.slice(draft.done.calls, at), { ...call, thoughtSignature: signature })
  draft.done.calls = at + 1
  return true
}

function pushText({ parts, text, done }: Draft, to: number): void {
  const piece = text.slice(done.text, to)
  if (piece === '') return
  parts.push({ text: piece })
  done.text += piece.length
}

function finish(draft: Draft): void {
  const { parts, text, images, calls, done } = draft
  pushText(draft, text.length)
  parts.push(...images.slice(done.images), ...calls.slice(done.calls))
}

function rangeWithin(of: string, text: string): Range | undefined {
  const range = parseRange(of)
  return range === undefined || range.to > text.length ? undefined : range
}

/** The first call of a step must be signed; a placeholder replaces a signature that the client has lost. */
function signFirstCall(parts: readonly Part[], warnings: Set<string>): void {
  const first = parts.find((part) => part['functionCall'] !== undefined)
  if (first === undefined || first['thoughtSignature'] !== undefined) return
  first['thoughtSignature'] = UNKNOWN_SIGNATURE
  warnings.add('messages[].provider_context')
}

function textOfMessage({ content, refusal }: ChatMessage): string {
  if (typeof content === 'string' && content !== '') return content
  const texts = Array.isArray(content) ? content.map((part) => textOf(part.text ?? part.refusal)) : []
  return texts.join('') || (refusal ?? '')
}

/** Images of an earlier answer, as clients return them. */
function imagesOf(message: ChatMessage): readonly Part[] {
  const { images } = message as ChatMessage & Json
  if (!Array.isArray(images)) return []
  return images.flatMap((image: unknown) => {
    const source = isRecord(image) && isRecord(image.image_url) ? textOf(image.image_url.url) : ''
    const part = inlineData(source)
    return part === undefined ? [] : [part]
  })
}

/** Arguments must be an object here; other values become its `arguments`, with a warning. */
function renderCall({ id, function: called }: ToolCall, path: string, warnings: Set<string>): Part {
  const { name, arguments: text } = called
  const args = text.trim() === '' ? {} : parseJson(text)
  if (!isRecord(args)) warnings.add(`${path}.function.arguments`)
  return { functionCall: { id, name, args: isRecord(args) ? args : { arguments: text } } }
}

/** @returns undefined for anything but a readable data URL (RFC 2397). */
export function inlineData(url: string): Part | undefined {
  const comma = /^data:/i.test(url) ? url.indexOf(',') : -1
  if (comma < 0) return undefined
  const [mimeType = '', ...parameters] = url.slice(5, comma).split(';')
  const data = url.slice(comma + 1)
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')
  const bytes = isBase64 ? data : percentDecoded(data)?.toString('base64')
  return bytes === undefined
    ? undefined
    : { inlineData: { mimeType: mimeType.toLowerCase() || 'text/plain', data: bytes } }
}

function percentDecoded(text: string): Buffer | undefined {
  try {
    return Buffer.from(decodeURIComponent(text))
  } catch {
    return undefined
  }
}
