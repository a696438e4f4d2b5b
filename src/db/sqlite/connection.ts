/**
 * A SQLite connection with Turnpike's settings, inside a database thread. It blocks: the main thread may import its types
 * only.
 */
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { resultCodeOf, SQLITE_BUSY } from '../failure.ts'
import type { QueryRows, SqlValue, StatementGroup, ThreadOptions } from './message.ts'

/**
 * A program is a transaction with decisions between its statements, run by the writer thread so that a decision costs no
 * message. Its module belongs to whoever knows the tables. Payload and result cross threads by structured clone.
 */
export interface ProgramModule {
  /** A transaction left open is rolled back; returning with one is an error. */
  run(connection: ProgramConnection, payload: unknown): unknown
}

export interface ProgramConnection {
  /** Prepared once for each text. `Row` is what the SQL returns: amounts in columns `…_nano_usd` as bigint. */
  prepare<Row = never>(sql: string): ProgramStatement<Row>
  /** Takes the write lock at once, after at most the busy time-out. */
  begin(): void
  commit(): void
  /** Harmless without a transaction. */
  rollback(): void
  /** Begins a part of the transaction that can be rolled back alone. One at a time. */
  savepoint(): void
  release(): void
  rollbackToSavepoint(): void
}

interface ProgramStatement<Row> {
  /** @returns How many rows were changed. */
  run(...parameters: readonly SqlValue[]): number
  get(...parameters: readonly SqlValue[]): Row | undefined
  all(...parameters: readonly SqlValue[]): readonly Row[]
}

const BUSY_TIMEOUT_MS = 5_000
const STATEMENT_CACHE_SIZE = 500
const WAL_SIZE_LIMIT_BYTES = 64 * 1024 * 1024
/** Amounts: such columns are read as bigint, all other integers as number. */
const BIGINT_SUFFIX = '_nano_usd'

/** Settings that are verified before a connection is used (DUR-1). */
const REQUIRED_SETTINGS: readonly (readonly [string, (value: SqlValue | undefined) => boolean])[] = [
  ['journal_mode', (value) => value === 'wal'],
  ['synchronous', (value) => value === 2],
  ['foreign_keys', (value) => value === 1],
  ['busy_timeout', (value) => typeof value === 'number' && value >= BUSY_TIMEOUT_MS],
]

interface Prepared {
  readonly statement: StatementSync
  readonly returnsRows: boolean
  /** Columns to turn back into numbers in a statement that reads bigints; undefined when none is read. */
  readonly numberColumns: readonly string[] | undefined
  /** The same statement for programs; made when one first asks for it. */
  forPrograms: ProgramStatement<SqlRow> | undefined
}
type SqlRow = Record<string, SqlValue>

export interface Connection {
  query(sql: string, parameters: readonly SqlValue[]): QueryRows
  /** All or nothing, in one transaction. */
  batch(groups: readonly StatementGroup[]): void
  begin(): void
  commit(): void
  rollback(): void
  inTransaction(): boolean
  /** Changes whenever another connection, of this process or another, has changed the file. */
  dataVersion(): number
  readonly program: ProgramConnection
  close(): void
}

/** Throws when the file cannot be opened or does not take the settings. The writer creates it (mode 0600). */
export function openConnection({ path, role }: Pick<ThreadOptions, 'role'> & { readonly path: string }): Connection {
  if (role === 'writer') closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path, { readOnly: role === 'reader', timeout: BUSY_TIMEOUT_MS })
  if (role === 'writer') switchToWal(database)
  database.exec(
    `pragma synchronous = full; pragma foreign_keys = on; pragma journal_size_limit = ${WAL_SIZE_LIMIT_BYTES}`,
  )
  assertSettings(database)
  createFunctions(database)
  return createConnection(database)
}

function createConnection(database: DatabaseSync): Connection {
  const prepare = createStatementCache(database)
  const versionStatement = database.prepare('pragma data_version')
  const rollback = () => {
    if (database.isTransaction) database.exec('rollback')
  }
  return {
    query: (sql, parameters) => run(prepare(sql), bindable(parameters)),
    batch(groups) {
      database.exec('begin immediate')
      try {
        for (const { sql, rows } of groups) {
          const { statement } = prepare(sql)
          for (const parameters of rows) statement.run(...bindable(parameters))
        }
        database.exec('commit')
      } catch (error) {
        rollback()
        throw error
      }
    },
    begin: () => database.exec('begin immediate'),
    commit: () => database.exec('commit'),
    rollback,
    inTransaction: () => database.isTransaction,
    dataVersion: () => Number(versionStatement.get()?.['data_version']),
    program: programConnection(database, prepare),
    close: () => database.close(),
  }
}

/** The functions that PostgreSQL's first migration creates, so that the same queries run on both. */
function createFunctions(database: DatabaseSync): void {
  database.function('turnpike_now', () => Date.now()) // this machine's clock is the database's
  database.function('turnpike_turn', (_name: unknown) => 0) // SQLite has one writer anyway
}

/** Retries until the busy timeout has passed: the switch itself ignores it while another process switches. */
function switchToWal(database: DatabaseSync): void {
  const deadline = Date.now() + BUSY_TIMEOUT_MS
  const pause = new Int32Array(new SharedArrayBuffer(4))
  for (;;) {
    try {
      database.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if (!isBusy(error) || Date.now() > deadline) throw error
      Atomics.wait(pause, 0, 0, 10)
    }
  }
}

function isBusy(error: unknown): boolean {
  return ((resultCodeOf(error) ?? 0) & 0xff) === SQLITE_BUSY
}

function assertSettings(database: DatabaseSync): void {
  for (const [name, accepts] of REQUIRED_SETTINGS) {
    const row = database.prepare(`pragma ${name}`).get() ?? {}
    const value = Object.values(row)[0]
    if (!accepts(value)) throw new Error(`SQLite does not keep the setting ${name}: it is ${String(value)}.`)
  }
}

function createStatementCache(database: DatabaseSync): (sql: string) => Prepared {
  const cache = new Map<string, Prepared>()
  return (sql) => {
    const known = cache.get(sql)
    if (known !== undefined) return known
    const prepared = prepare(database, sql)
    const oldest = cache.keys().next().value
    if (cache.size >= STATEMENT_CACHE_SIZE && oldest !== undefined) cache.delete(oldest)
    cache.set(sql, prepared)
    return prepared
  }
}

function prepare(database: DatabaseSync, sql: string): Prepared {
  const statement = database.prepare(sql)
  const columns = statement.columns().map(({ name }) => name)
  const readsBigInts = columns.some((name) => name.endsWith(BIGINT_SUFFIX))
  statement.setReadBigInts(readsBigInts)
  const numberColumns = readsBigInts ? columns.filter((name) => !name.endsWith(BIGINT_SUFFIX)) : undefined
  return { statement, returnsRows: columns.length > 0, numberColumns, forPrograms: undefined }
}

function programConnection(database: DatabaseSync, prepare: (sql: string) => Prepared): ProgramConnection {
  const [begin, commit] = [database.prepare('begin immediate'), database.prepare('commit')]
  return {
    prepare<Row>(sql: string) {
      const prepared = prepare(sql)
      prepared.forPrograms ??= programStatement(prepared)
      return prepared.forPrograms as ProgramStatement<Row> // the row is what the SQL returns: its author says so
    },
    begin: () => void begin.run(),
    commit: () => void commit.run(),
    rollback() {
      if (database.isTransaction) database.exec('rollback')
    },
    savepoint: () => database.exec('savepoint part'),
    release: () => database.exec('release part'),
    rollbackToSavepoint: () => database.exec('rollback to part; release part'),
  }
}

function programStatement({ statement, numberColumns }: Prepared): ProgramStatement<SqlRow> {
  return {
    run: (...parameters) => Number(statement.run(...parameters).changes),
    get(...parameters) {
      const row = statement.get(...parameters)
      if (row !== undefined && numberColumns !== undefined) bigintsToNumbers(row, numberColumns)
      return row
    },
    all(...parameters) {
      const rows = statement.all(...parameters)
      if (numberColumns !== undefined) for (const row of rows) bigintsToNumbers(row, numberColumns)
      return rows
    },
  }
}

/** Rejects objects: `node:sqlite` would take a leading one for named parameters, and bind null. */
function bindable(parameters: readonly SqlValue[]): readonly SqlValue[] {
  for (const value of parameters) {
    const type = value instanceof Uint8Array || value === null ? 'plain' : typeof value
    if (type === 'object' || type === 'boolean' || type === 'undefined')
      throw new TypeError(`SQLite cannot bind ${type}.`)
  }
  return parameters
}

function run({ statement, returnsRows, numberColumns }: Prepared, parameters: readonly SqlValue[]): QueryRows {
  if (!returnsRows) return { rows: [], changes: Number(statement.run(...parameters).changes) }
  const rows = statement.all(...parameters)
  if (numberColumns !== undefined) for (const row of rows) bigintsToNumbers(row, numberColumns)
  return { rows, changes: undefined }
}

function bigintsToNumbers(row: SqlRow, columns: readonly string[]): void {
  for (const column of columns) {
    const value = row[column]
    if (typeof value === 'bigint') row[column] = Number(value)
  }
}
