/** The tables that move from SQLite to PostgreSQL, and readers of their rows in the SQLite file. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'

/** Every table after those that it refers to. */
export const MOVED_TABLES: readonly string[] = [
  'account',
  'api_key',
  'credential',
  'sign_in_link',
  'setting',
  'stored_setting',
  'price_version',
  'credit',
  'key_spending',
  'budget',
  'budget_window',
  'budget_raise',
  'budget_alert',
  'completion',
  'usage_rollup',
  'usage_hour',
  'usage_dimension',
  'usage_progress',
  'usage_late',
  'analytics_export',
  'analytics_export_late',
  'rejection',
  'provider_hour',
  'performance_hour',
  'performance_day',
  'ledger',
  'ledger_entry_key',
  'ledger_audit',
  'ledger_audit_finding',
  'ledger_seal',
  'plan_allowance',
  'invoice',
  'usage_alert',
  'payment_account',
  'payment',
  'idempotency',
  'response',
  'completion_content',
  'hold',
  'job',
  'person',
  'identity',
  'member',
  'team',
  'team_member',
  'scim_user',
  'scim_group',
  'scim_group_member',
  'group_mapping',
  'invitation',
  'session',
  'device_code',
  'device',
  'device_token',
  'audit',
  'provider_credential',
  'telemetry_destination',
  'guardrail',
  'webhook',
  'event',
  'delivery',
  'delivery_attempt',
  'agent',
  'run',
  'agent_message',
  'agent_event',
  'run_artifact',
]

/** Tables that stay behind: processes, which have ended, guesses, and the schema's own. */
export const LEFT_BEHIND: readonly string[] = ['guess', 'instance', 'schema_migration']

export interface Column {
  readonly name: string
  readonly type: 'TEXT' | 'INTEGER' | 'BLOB'
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  /** The primary key, in its order. */
  readonly key: readonly Column[]
}

/** Values of a primary key as text: integers in digits, bytes as `\x` and hexadecimal digits. */
export type Key = readonly string[]

/** Throws for a file with a table that is in neither list. */
export function describeTables(database: DatabaseSync): readonly Table[] {
  const known = new Set([...MOVED_TABLES, ...LEFT_BEHIND])
  for (const { name } of database.prepare("select name from sqlite_schema where type = 'table'").all()) {
    if (!known.has(String(name))) throw new Error(`The database has a table ${name}, which cannot be moved.`)
  }
  return MOVED_TABLES.map((name) => describeTable(database, name))
}

function describeTable(database: DatabaseSync, name: string): Table {
  const rows = database.prepare('select name, type, pk from pragma_table_info(?) order by cid').all(name)
  const columns = rows.map((row) => ({ ...columnOf(row), position: Number(row['pk']) }))
  const key = columns.filter(({ position }) => position > 0).sort((one, other) => one.position - other.position)
  return { name, columns, key }
}

function columnOf({ name, type }: Record<string, unknown>): Column {
  if (type !== 'TEXT' && type !== 'INTEGER' && type !== 'BLOB') throw new Error(`${name} is of the type ${type}.`)
  return { name: String(name), type }
}

/** Characters of a batch: rows with long texts are read in smaller batches. */
const MAX_BATCH_LENGTH = 4 * 1024 * 1024

interface Batch {
  /** A list of objects, one a row. */
  readonly json: string
  readonly rows: number
  /** Of the last row. */
  readonly last: Key
}

/**
 * Reads rows in the order of their keys. SQLite itself renders the JSON, so that no number passes through a float.
 * @param after The key to continue after.
 */
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

/** A range of keys: greater than `above`, up to and including `upTo`. */
export interface Range {
  readonly above: Key | undefined
  readonly upTo: Key | undefined
}

/** Splits all keys into ranges of at most `rows` rows. */
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

/** Converts a key to parameters of SQLite. */
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

/** Renders bytes as PostgreSQL's `\x…`, other columns as they are. `hex(null)` would be an empty text. */
function asText({ type }: Column, name: string): string {
  return type === 'BLOB' ? `iif("${name}" is null, null, '\\x' || hex("${name}"))` : `"${name}"`
}
