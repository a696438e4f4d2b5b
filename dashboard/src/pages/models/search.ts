/** What of the view is in its address. */
import { present, readChoice, readList, readNumber, readText } from '../../lib/address.ts'

export const SORTS = [
  'id',
  'owner',
  'input',
  'output',
  'cached',
  'context',
  'max_output',
  'first_token',
  'success',
] as const
export type SortId = (typeof SORTS)[number]

export const MAX_COMPARED = 4
const MOST_TOKENS = 1_000_000_000_000

/** Lists are texts with commas between them. */
export interface ModelsSearch {
  readonly q?: string
  readonly owner?: string
  readonly provider?: string
  readonly modality?: string
  readonly capability?: string
  /** Tokens. */
  readonly min_context?: string
  /** US dollars per million input tokens. */
  readonly max_price?: string
  /** Retired models are listed as well, not only found. */
  readonly retired?: '1'
  readonly sort?: SortId
  readonly dir?: 'asc' | 'desc'
  /** IDs of the models that are compared. */
  readonly compare?: string
  readonly view?: 'compare'
  /** Of the calculator: tokens a day, and per cent of the input that is read from a cache. */
  readonly input?: string
  readonly output?: string
  readonly cached?: string
}

export function readModelsSearch(raw: Record<string, unknown>): ModelsSearch {
  return present({
    q: readText(raw, 'q'),
    owner: listText(raw, 'owner'),
    provider: listText(raw, 'provider'),
    modality: listText(raw, 'modality'),
    capability: listText(raw, 'capability'),
    min_context: numberText(raw, 'min_context', MOST_TOKENS),
    max_price: numberText(raw, 'max_price', 1_000_000),
    retired: readChoice(raw, 'retired', ['1']),
    sort: readChoice(raw, 'sort', SORTS),
    dir: readChoice(raw, 'dir', ['asc', 'desc']),
    compare: readList(raw, 'compare')?.slice(0, MAX_COMPARED).join(','),
    view: readChoice(raw, 'view', ['compare']),
    input: numberText(raw, 'input', MOST_TOKENS),
    output: numberText(raw, 'output', MOST_TOKENS),
    cached: numberText(raw, 'cached', 100),
  })
}

function listText(raw: Record<string, unknown>, name: string): string | undefined {
  return readList(raw, name)?.join(',')
}

function numberText(raw: Record<string, unknown>, name: string, max: number): string | undefined {
  return readNumber(raw, name, { min: 0, max })?.toString()
}

/** The texts of a list in an address. */
export function listed(text: string | undefined): readonly string[] {
  return text === undefined || text === '' ? [] : text.split(',')
}
