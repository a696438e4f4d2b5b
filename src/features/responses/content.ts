/**
 * What a stored response is kept as: sealed with a key of the installation, each for its account and ID alone. Three lines,
 * since the items of a conversation are joined without being parsed: counts, the response without its output, the items.
 */
import { type SealerKeys, seal, unseal } from '../../db/sealed.ts'
import type { AccountId } from '../../domain/ids.ts'

export interface ResponseContent {
  /** Items of the request: the first ones; the others are the output. */
  readonly inputItems: number
  /** JSON text of the response without its output. */
  readonly response: string
  /** JSON texts of the items, joined with commas. */
  readonly items: string
}

export interface ResponseReference {
  readonly accountId: AccountId
  readonly id: string
}

/** JSON text has no line feed. */
const LINE = '\n'

export function sealContent(content: ResponseContent, reference: ResponseReference, { current }: SealerKeys) {
  const { inputItems, response, items } = content
  return seal([inputItems, response, items].join(LINE), current, placeOf(reference))
}

/** Undefined when it was sealed with a key that is no longer there. */
export function openContent(
  sealed: Uint8Array,
  reference: ResponseReference,
  { current, previous }: SealerKeys,
): ResponseContent | undefined {
  const place = placeOf(reference)
  const text = unseal(sealed, current, place) ?? (previous && unseal(sealed, previous, place))
  if (text === undefined) return undefined
  const [inputItems = '', response = '', items = ''] = text.split(LINE)
  return { inputItems: Number(inputItems), response, items }
}

function placeOf({ accountId, id }: ResponseReference): string {
  return `response ${accountId} ${id}`
}
