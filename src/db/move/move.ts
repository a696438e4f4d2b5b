/**
 * Moves everything from a SQLite file, which is only read, to an empty PostgreSQL database with the current schema,
 * and compares both sides. An interrupted move resumes: its progress is a table of the target, updated in the
 * transaction of each batch.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { GatewayError } from '../../domain/errors.ts'
import type { Postgres, PostgresClient } from '../postgres/client.ts'

export interface MoveInput {
  /** Opened by `openExclusive`. */
  readonly database: DatabaseSync
  readonly postgres: Postgres
  /** Rows of a transaction, at most. */
  readonly batchRows: number
  /** Called after each transaction; `rows` of the table are moved so far. */
  readonly onBatch: (table: string, rows: number) => void
  /** Called when all rows of a table were moved; `before` of them by an interrupted move. */
  readonly onMoved: (table: string, rows: number, before: number) => void
}

/** Rejects when a row cannot be moved, or the sides differ in the end. @returns the comparison of each table. */
export async function moveDatabase(input: MoveInput): Promise<ReadonlyMap<string, Compared>> {
  const { database, postgres, onMoved } = input
  const tables = describeTables(database)
  await beginMove(postgres, stateOf(database))
  for (const table of tables) {
    const { rows, before } = await moveTable(input, table)
    onMoved(table.name, rows, before)
  }
  const compared = new Map<string, Compared>()
  for (const table of tables) compared.set(table.name, await compareTable(database, postgres, table))
  await endMove(postgres)
  return compared
}

async function moveTable({ database, postgres, batchRows, onBatch }: MoveInput, table: Table) {
  const { last: after, rows: before } = await readProgress(postgres, table.name)
  const names = table.columns.map(({ name }) => `"${name}"`).join(', ')
  const insert = `insert into "${table.name}" (${names})
    select ${names} from json_populate_recordset(null::"${table.name}", $1::json)`
  let rows = before
  for (const { json, last, rows: count } of readBatches(database, { table, after, maxRows: batchRows })) {
    try {
      await postgres.transaction(async (client) => {
        await Promise.all([client.query(insert, [json]), recordProgress(client, table.name, { last, rows: count })])
      })
    } catch (error) {
      throw interrupted(table, error)
    }
    rows += count
    onBatch(table.name, rows)
  }
  return { rows, before }
}

function interrupted({ name }: Table, error: unknown): Error {
  if (!(error instanceof GatewayError)) return new Error(`A row of ${name} cannot be moved: ${error}`, { cause: error })
  const reason = error.cause instanceof Error ? error.cause.message : error.message
  return new Error(`Moving ${name} was interrupted: ${reason}. Run the command again to resume.`, { cause: error })
}

/** Identifies the installation and its state, so that a move of another file is not resumed. */
function stateOf(database: DatabaseSync): string {
  const made = database.prepare('select name, applied_at from schema_migration order by name').all()
  const changed = database.prepare(
    `select (select max(changed_at) from account) as accounts, (select max(changed_at) from api_key) as keys,
      (select sum(entries) from credit) as entries, (select max(created_at) from ledger) as latest`,
  )
  return JSON.stringify([made.map((row) => Object.values(row)), Object.values(changed.get() ?? {})])
}

interface TableProgress {
  readonly last: Key | undefined
  readonly rows: number
}

/**
 * Begins a move, or resumes an interrupted one.
 * @param source Identifies the database and its state.
 * Rejects when the target has other data.
 */
async function beginMove(postgres: Postgres, source: string): Promise<void> {
  await postgres.transaction(async (client) => {
    await client.query('select pg_advisory_xact_lock(hashtextextended(current_schema() || $1, 0))', [' sqlite_move'])
    if (await hasProgress(client)) return assertSame(client, source)
    await assertEmpty(client, [...MOVED_TABLES, 'instance'])
    await client.query(
      `create table sqlite_move (table_name text primary key, source text not null, last_key text, moved bigint not null)`,
    )
    for (const name of MOVED_TABLES) {
      await client.query('insert into sqlite_move (table_name, source, moved) values ($1, $2, 0)', [name, source])
    }
  })
}

async function readProgress(postgres: Postgres, table: string): Promise<TableProgress> {
  const { rows } = await postgres.query<{ last_key: string | null; moved: number }>(
    'select last_key, moved from sqlite_move where table_name = $1',
    [table],
  )
  const [found] = rows
  if (found === undefined) throw new Error(`The target does not know how far ${table} was moved.`)
  return { last: found.last_key === null ? undefined : JSON.parse(found.last_key), rows: found.moved }
}

/** In the transaction that inserts the rows. */
async function recordProgress(
  client: PostgresClient,
  table: string,
  { last, rows }: { readonly last: Key; readonly rows: number },
): Promise<void> {
  await client.query('update sqlite_move set last_key = $1, moved = moved + $2 where table_name = $3', [
    JSON.stringify(last),
    rows,
    table,
  ])
}

async function endMove(postgres: Postgres): Promise<void> {
  await postgres.query('drop table sqlite_move')
}

async function hasProgress(client: PostgresClient): Promise<boolean> {
  const { rows } = await client.query<{ found: 0 | 1 }>("select to_regclass('sqlite_move') is not null as found")
  return rows[0]?.found === 1
}

async function assertSame(client: PostgresClient, source: string): Promise<void> {
  const { rows } = await client.query<{ source: string }>('select distinct source from sqlite_move')
  if (rows.length === 1 && rows[0]?.source === source) return assertEmpty(client, ['instance'])
  throw new Error(
    'The target has the beginning of another move, or the SQLite database was written to since. Empty the target and begin again.',
  )
}

async function assertEmpty(client: PostgresClient, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const { rows } = await client.query<{ found: 0 | 1 }>(`select exists (select 1 from "${table}") as found`)
    if (rows[0]?.found === 1) {
      throw new Error(`The target is not empty: it has rows in ${table}. Give an empty database that no service uses.`)
    }
  }
}

/* Compares a table on both sides: counts and exact sums of every column, by account and range of keys. */

/** Rows that one statement sums up, well within the statement time-out. */
const RANGE_ROWS = 5_000
/** Sums of upper and lower digits apart: no sum of a range exceeds 64 bits. */
const DIGITS = 1_000_000_000n
/** Columns that PostgreSQL's triggers set. */
const REASSIGNED: ReadonlySet<string> = new Set(['changed_at'])

/** Of an account in a range: count of rows, then two sums for each integer column, one for each other. */
type Sums = readonly [account: string, ...sums: string[]]

export interface Compared {
  readonly rows: number
  /** Of the columns that are amounts. */
  readonly amounts: ReadonlyMap<string, bigint>
}

/** Throws where they differ. */
async function compareTable(database: DatabaseSync, postgres: Postgres, table: Table): Promise<Compared> {
  let rows = 0
  const amounts = new Map<string, bigint>()
  for (const range of rangesOf(database, table, RANGE_ROWS)) {
    const sqliteParameters = [range.above, range.upTo].flatMap((key) => (key === undefined ? [] : bindable(table, key)))
    const ours = database.prepare(sumsOf(table, range, () => '?')).all(...sqliteParameters)
    let position = 0
    const text = sumsOf(table, range, () => `$${++position}`)
    const theirs = await postgres.query<Record<string, string>>(text, [range.above ?? [], range.upTo ?? []].flat())
    const [here, there] = [ours.map(sumsIn), theirs.rows.map(sumsIn)]
    const different = here.find((sums, index) => sums.join() !== there[index]?.join()) ?? there[here.length]
    if (different !== undefined) throw new Error(differenceText(table, different))
    for (const sums of here) {
      rows += Number(sums[1])
      addAmounts(amounts, table, sums)
    }
  }
  return { rows, amounts }
}

function differenceText({ name }: Table, [account]: Sums): string {
  const whose = account === '' ? '' : ` of the account ${account}`
  return `The rows of ${name}${whose} are not the same on both sides. Empty the target and begin again.`
}

/** The query for both sides, which differs in its parameters only. */
function sumsOf(table: Table, { above, upTo }: Range, parameter: () => string): string {
  const compareKey = (operator: '>' | '<=', key: Key) =>
    `(${keyNames(table)}) ${operator} (${key.map(parameter).join(', ')})`
  const conditions = [
    ...(above === undefined ? [] : [compareKey('>', above)]),
    ...(upTo === undefined ? [] : [compareKey('<=', upTo)]),
  ]
  const hasAccount = table.columns.some(({ name }) => name === 'account_id')
  const sums = ['count(*)', ...comparedColumns(table).flatMap(sumTexts)]
  return `select ${hasAccount ? 'account_id' : "''"} as sum_0,
    ${sums.map((sum, index) => `cast(${sum} as text) as sum_${index + 1}`).join(', ')}
    from "${table.name}" ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
    ${hasAccount ? 'group by account_id order by account_id' : ''}`
}

function comparedColumns({ columns }: Table): readonly Column[] {
  return columns.filter(({ name }) => !REASSIGNED.has(name))
}

function sumTexts({ name, type }: Column): readonly string[] {
  if (type !== 'INTEGER') return [`coalesce(sum(length("${name}")), 0)`]
  return [`coalesce(sum("${name}" / ${DIGITS}), 0)`, `coalesce(sum("${name}" % ${DIGITS}), 0)`]
}

function sumsIn(row: Record<string, unknown>): Sums {
  const [account = '', ...sums] = Object.values(row).map(String)
  return [account, ...sums]
}

function addAmounts(amounts: Map<string, bigint>, table: Table, sums: Sums): void {
  let index = 2
  for (const { name, type } of comparedColumns(table)) {
    if (type === 'INTEGER' && name.endsWith('_nano_usd')) {
      const sum = BigInt(sums[index] ?? 0) * DIGITS + BigInt(sums[index + 1] ?? 0)
      amounts.set(name, (amounts.get(name) ?? 0n) + sum)
    }
    index += type === 'INTEGER' ? 2 : 1
  }
}

// The tables that move from SQLite to PostgreSQL, and readers of their rows in the SQLite file.

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
  'retired_usage',
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

interface Column {
  readonly name: string
  readonly type: 'TEXT' | 'INTEGER' | 'BLOB'
}

interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  /** The primary key, in its order. */
  readonly key: readonly Column[]
}

/** Values of a primary key as text: integers in digits, bytes as `\x` and hexadecimal digits. */
type Key = readonly string[]

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
function* readBatches(
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
interface Range {
  readonly above: Key | undefined
  readonly upTo: Key | undefined
}

/** Splits all keys into ranges of at most `rows` rows. */
function* rangesOf(database: DatabaseSync, table: Table, rows: number): Generator<Range> {
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
function bindable({ key }: Table, values: Key): SQLInputValue[] {
  return key.map(({ type }, index) => {
    const value = values[index] ?? ''
    if (type === 'INTEGER') return BigInt(value)
    return type === 'BLOB' ? Buffer.from(value.slice(2), 'hex') : value
  })
}

function keyNames({ key }: Table): string {
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
