/** What of the view is in its address. A link to it never has a key or an image in it. */
const SHEETS = ['settings', 'code', 'raw', 'history'] as const
export type SheetName = (typeof SHEETS)[number]

export interface PlaygroundSearch {
  /** IDs with commas between them; an empty place is a column whose model is not chosen yet. */
  readonly models?: string
  readonly prompt?: string
  readonly system?: string
  readonly sheet?: SheetName
  /** Counts from 1: whose request a sheet shows. */
  readonly column?: string
  readonly tab?: string
  /** ID of a completion whose stored prompt is said again. */
  readonly request?: string
}

export const MAX_COLUMNS = 3
/** Of the query of a link, as it is written: proxies and chats cut longer ones. */
export const MAX_SHARED_BYTES = 4096

export function readPlaygroundSearch(raw: Record<string, unknown>): PlaygroundSearch {
  const sheet = SHEETS.find((name) => name === raw['sheet'])
  return {
    ...textAt(raw, 'models'),
    ...textAt(raw, 'system'),
    ...textAt(raw, 'prompt'),
    ...(sheet !== undefined && { sheet }),
    ...textAt(raw, 'column'),
    ...textAt(raw, 'tab'),
    ...textAt(raw, 'request'),
  }
}

function textAt<Name extends string>(raw: Record<string, unknown>, name: Name): { readonly [Key in Name]?: string } {
  const value = raw[name]
  if (typeof value !== 'string' || value === '') return {}
  const field: { [Key in Name]?: string } = {}
  field[name] = value.slice(0, MAX_SHARED_BYTES)
  return field
}

/** One for each column, three at most, and at least one. */
export function readModels({ models = '' }: Pick<PlaygroundSearch, 'models'>): readonly string[] {
  return models
    .split(',')
    .slice(0, MAX_COLUMNS)
    .map((id) => id.trim())
}

export interface Shared {
  readonly models: readonly string[]
  readonly system: string
  readonly prompt: string
}

/** @param page Address of the view, without a query. @returns Undefined when it would be too long. */
export function shareAddress(page: string, { models, system, prompt }: Shared): string | undefined {
  const given = Object.entries({ models: models.join(','), system, prompt }).filter(([, value]) => value !== '')
  const query = new URLSearchParams(given).toString()
  return query.length > MAX_SHARED_BYTES ? undefined : `${page}?${query}`
}
