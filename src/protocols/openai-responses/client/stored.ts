/**
 * The items of a conversation as they are stored: those of a request with an ID each, and the references to items of earlier
 * responses. Knows no database.
 */
import { isRecord, type Json, parseJson, textOf } from '../../../lib/json.ts'
import { newItemId, tailOfResponse } from '../context.ts'

/** The stored part of a conversation, and what is to be stored. */
export interface StoredContext {
  /** The response that the request continues. */
  readonly previousId: string | undefined
  /** Items at the beginning of the input that come from earlier responses. */
  readonly earlierItems: number
  /** Whether the response is stored at its end. */
  readonly store: boolean
  /** The response is not stored because its input alone exceeds the limit. */
  readonly isTooLarge: boolean
}

/** An item of a request, and its JSON text. */
export interface OwnItem {
  readonly item: Json
  readonly text: string
}

/** The items of a request. Undefined: its input is not valid. */
export function ownItems(input: unknown): readonly OwnItem[] | undefined {
  if (typeof input === 'string') return [ownItem({ role: 'user', content: input })]
  if (!Array.isArray(input) || !input.every(isRecord)) return undefined
  return input.map(ownItem)
}

function ownItem(given: Json): OwnItem {
  const item = withParts(given)
  return { item, text: JSON.stringify(item) }
}

/** Messages may be a role with a text; they are stored with parts. */
function withParts(item: Json): Json {
  const { role, content } = item
  if (role === undefined || (item['type'] !== undefined && item['type'] !== 'message')) return item
  if (typeof content !== 'string') return { type: 'message', ...item }
  const part =
    role === 'assistant'
      ? { type: 'output_text', text: content, annotations: [] }
      : { type: 'input_text', text: content }
  return { ...item, type: 'message', content: [part] }
}

/** The ID that an item reference names; undefined: another item. */
export function referenceIn({ item }: OwnItem): string | undefined {
  const { type, id, role } = item
  const isReference = type === 'item_reference' || (type === undefined && role === undefined)
  return isReference && typeof id === 'string' ? id : undefined
}

/** The JSON text of a request's item with an ID, from which `responseOfItem` finds its response. */
export function withId({ item, text }: OwnItem, responseId: string, at: number): string {
  const { id: given, ...rest } = item
  if (typeof given === 'string') return text
  return JSON.stringify({ id: newItemId(item, tailOfResponse(responseId), `i${at}`), ...rest })
}

/** A response without its output, and the JSON texts of its output items. */
export interface SplitResponse {
  readonly id: string
  /** The response as JSON text. */
  readonly response: string
  readonly output: readonly string[]
}

/** @param answer JSON text of a whole response. */
export function splitResponse(answer: string): SplitResponse {
  const parsed = parseJson(answer)
  const { output, ...response } = isRecord(parsed) ? parsed : {}
  const items = Array.isArray(output) ? output : []
  return {
    id: textOf(response['id']),
    response: JSON.stringify(response),
    output: items.map((item) => JSON.stringify(item)),
  }
}
