/** Reads the SQLite file in pieces. SQLite itself writes the JSON, so that no number passes through a float. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { Column, Key, Table } from './tables.ts'

/** Rows with long texts come in smaller batches. */
const MAX_BATCH_LENGTH = 4 * 1024 * 1024

export interface Batch {
  /** A list of objects, one a row. */
  readonly json: string
  readonly rows: number
  /** Of the last row. */
  readonly last: Key
}

/** Rows in the order of their keys. @param after The key of the last row that is not wanted any more. */
export function* readBatches(
  database: DatabaseSync,
  { table, after, maxRows }: { readonly table: Table; readonly after: Key | undefined; readonly maxRows: number },
): Generator<Batch> {
  const fields = table.columns.map((column) => `'${column.name}', ${asText(column, column.name)}`)
  const where = after === undefined ? '' : `where ${isBeyond(table)}`
  const statement = database.prepare(
    `select json_object(${fields.join(', ')}) as row, ${keyTexts(table)} from "${table.name}" ${where} order by ${keyNames(table)}`,
  )
  let rows: string[] = []
  let length = 0
  let last: Key = []
  for (const found of statement.iterate(...(after === undefined ? [] : bindable(table, after)))) {
    const row = String(found['row'])
    rows.push(row)
    length += row.length
    last = keyOf(table, found)
    if (rows.length < maxRows && length < MAX_BATCH_LENGTH) continue
    yield { json: `[${rows.join(',')}]`, rows: rows.length, last }
    rows = []
    length = 0
  }
  if (rows.length > 0) yield { json: `[${rows.join(',')}]`, rows: rows.length, last }
}

/** Some of a table: all keys above `above`, up to and with `upTo`. */
export interface Range {
  readonly above: Key | undefined
  readonly upTo: Key | undefined
}

/** Ranges of at most so many rows that together are every possible key. */
export function* rangesOf(database: DatabaseSync, table: Table, rows: number): Generator<Range> {
  const select = `select ${keyTexts(table)} from "${table.name}"`
  const next = `order by ${keyNames(table)} limit 1 offset ${rows - 1}`
  const first = database.prepare(`${select} ${next}`)
  const following = database.prepare(`${select} where ${isBeyond(table)} ${next}`)
  let above: Key | undefined
  for (;;) {
    const found = above === undefined ? first.get() : following.get(...bindable(table, above))
    const upTo: Key | undefined = found === undefined ? undefined : keyOf(table, found)
    yield { above, upTo }
    if (upTo === undefined) return
    above = upTo
  }
}

/** What SQLite takes for the values of a key. */
export function bindable({ key }: Table, values: Key): SQLInputValue[] {
  return key.map(({ type }, index) => {
    const value = values[index] ?? ''
    if (type === 'INTEGER') return BigInt(value)
    return type === 'BLOB' ? Buffer.from(value.slice(2), 'hex') : value
  })
}

export function keyNames({ key }: Table): string {
  return key.map(({ name }) => `"${name}"`).join(', ')
}

function isBeyond(table: Table): string {
  return `(${keyNames(table)}) > (${table.key.map(() => '?').join(', ')})`
}

function keyTexts({ key }: Table): string {
  return key.map((column, index) => `cast(${asText(column, column.name)} as text) as key_${index}`).join(', ')
}

function keyOf({ key }: Table, row: Record<string, unknown>): Key {
  return key.map((_, index) => String(row[`key_${index}`]))
}

/** Bytes as PostgreSQL writes and reads them; all else as it is. To SQLite the digits of null are an empty text. */
function asText({ type }: Column, name: string): string {
  return type === 'BLOB' ? `iif("${name}" is null, null, '\\x' || hex("${name}"))` : `"${name}"`
}
