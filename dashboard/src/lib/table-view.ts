/** How somebody wants to see a table: what differs from how it is by itself, as the browser remembers it. */
export type Density = 'compact' | 'comfortable'

export interface TableView {
  /** By column id: shown or not, in windows of every width. Columns that are not named here are as they are by themselves. */
  readonly columns: Readonly<Record<string, boolean>>
  readonly density?: Density
}

export const DEFAULT_VIEW: TableView = { columns: {} }

/** @returns What can be understood of the text; the rest is as it is by itself. Never throws. */
export function parseTableView(text: string | null): TableView {
  const { columns, density } = fieldsOf(parsed(text))
  const chosen = Object.entries(fieldsOf(columns)).filter((entry): entry is [string, boolean] => isBoolean(entry[1]))
  return { columns: Object.fromEntries(chosen), ...(isDensity(density) && { density }) }
}

/** Null: nothing differs from the default. */
export function renderTableView(view: TableView): string | null {
  return differs(view) ? JSON.stringify(view) : null
}

export function differs({ columns, density }: TableView): boolean {
  return density !== undefined || Object.keys(columns).length > 0
}

export interface ColumnChoice {
  readonly id: string
  readonly isShown: boolean
  /** Whether it would be shown if nobody had chosen. */
  readonly byDefault: boolean
}

export function withColumn(view: TableView, { id, isShown, byDefault }: ColumnChoice): TableView {
  const { [id]: _, ...others } = view.columns
  return { ...view, columns: isShown === byDefault ? others : { ...others, [id]: isShown } }
}

/** @param byDefault What the table has if nobody chooses. */
export function withDensity({ columns }: TableView, density: Density, byDefault: Density): TableView {
  return density === byDefault ? { columns } : { columns, density }
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return undefined
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

function isDensity(value: unknown): value is Density {
  return value === 'compact' || value === 'comfortable'
}
