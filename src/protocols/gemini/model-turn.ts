/** What the assistant said, as the parts that the model once gave: texts, images and calls, with their signatures. */
import type { ChatMessage, ToolCall } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { parseRange, type Range, readContext, type Signature, UNKNOWN_SIGNATURE } from './context.ts'
import { inlineData, type Part } from './parts.ts'

export interface ModelTurnPlace {
  /** `messages[i]`. */
  readonly path: string
  /** Whether calls without a signature are refused. */
  readonly demandsSignatures: boolean
  readonly warnings: Set<string>
}

interface Draft {
  readonly parts: Part[]
  readonly text: string
  readonly reasoning: string
  readonly images: readonly Part[]
  readonly calls: readonly Part[]
  readonly callIds: readonly string[]
  /** How much of each is among the parts already. */
  readonly done: { text: number; images: number; calls: number }
}

/**
 * Signed parts are cut out as they were; what lies between them goes along. A signature whose part is no longer there
 * is left out. Reasoning is sent only where it is signed: the model has no use for a summary of its thoughts.
 * @returns [] for a message with nothing that the API could be told.
 */
export function renderModelTurn(message: ChatMessage, place: ModelTurnPlace): Part[] {
  const signatures = readContext(message)
  const calls = message.tool_calls ?? []
  const draft: Draft = {
    parts: [],
    text: textOfMessage(message),
    reasoning: message.reasoning_content ?? '',
    images: imagesOf(message),
    calls: calls.map((call, at) => renderCall(call, `${place.path}.tool_calls[${at}]`, place.warnings)),
    callIds: calls.map(({ id }) => id),
    done: { text: 0, images: 0, calls: 0 },
  }
  signatures.forEach((signature, position) => {
    const nextText = signatures.slice(position + 1).find(({ kind }) => kind === 'text')
    if (!placeSignature(draft, signature, nextText)) place.warnings.add('messages[].provider_context')
  })
  finish(draft)
  if (draft.reasoning !== '' && signatures.length === 0) place.warnings.add('messages[].reasoning_content')
  if (place.demandsSignatures) signFirstCall(draft.parts, place.warnings)
  return draft.parts
}

/** @returns false when the part is not there. */
function placeSignature(draft: Draft, signature: Signature, nextText: Signature | undefined): boolean {
  switch (signature.kind) {
    case 'text':
      return placeText(draft, signature)
    case 'reasoning':
      return placeReasoning(draft, signature)
    case 'image':
      return placeImage(draft, signature)
    case 'tool_call':
      pushText(draft, nextText === undefined ? draft.text.length : (parseRange(nextText.of)?.from ?? 0))
      return placeCall(draft, signature)
  }
}

function placeText(draft: Draft, { of, signature }: Signature): boolean {
  const range = rangeWithin(of, draft.text)
  if (range === undefined || range.from < draft.done.text) return false
  pushText(draft, range.from)
  draft.parts.push({ text: draft.text.slice(range.from, range.to), thoughtSignature: signature })
  draft.done.text = range.to
  return true
}

function placeReasoning(draft: Draft, { of, signature }: Signature): boolean {
  const range = rangeWithin(of, draft.reasoning)
  if (range === undefined) return false
  const text = draft.reasoning.slice(range.from, range.to)
  draft.parts.push({ text, thought: true, thoughtSignature: signature })
  return true
}

function placeImage(draft: Draft, { of, signature }: Signature): boolean {
  const image = draft.images[Number(of)]
  if (image === undefined || Number(of) < draft.done.images) return false
  pushText(draft, draft.text.length)
  draft.parts.push(...draft.images.slice(draft.done.images, Number(of)), { ...image, thoughtSignature: signature })
  draft.done.images = Number(of) + 1
  return true
}

function placeCall(draft: Draft, { of, signature }: Signature): boolean {
  const at = draft.callIds.indexOf(of, draft.done.calls)
  const call = draft.calls[at]
  if (call === undefined) return false
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

/** The first call of a step carries its signature; where the client has lost it, the API is told so. */
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

/** Images that an earlier answer had, as clients send them back. */
function imagesOf(message: ChatMessage): readonly Part[] {
  const { images } = message as ChatMessage & Json
  if (!Array.isArray(images)) return []
  return images.flatMap((image: unknown) => {
    const source = isRecord(image) && isRecord(image.image_url) ? textOf(image.image_url.url) : ''
    const part = inlineData(source)
    return part === undefined ? [] : [part]
  })
}

/** Arguments are an object on this wire; text that is none goes as the value of one. */
function renderCall({ id, function: called }: ToolCall, path: string, warnings: Set<string>): Part {
  const { name, arguments: text } = called
  const args = text.trim() === '' ? {} : parseJson(text)
  if (!isRecord(args)) warnings.add(`${path}.function.arguments`)
  return { functionCall: { id, name, args: isRecord(args) ? args : { arguments: text } } }
}
