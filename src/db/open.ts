/**
 * Opens the database: a SQLite file, or PostgreSQL. Of SQLite the main thread never touches the file: `node:sqlite` blocks,
 * and a locked file or a wide report would stop every stream. One thread writes, one reads; whoever asks only sees promises.
 */
import { dirname } from 'node:path'
import { type CompiledQuery, Kysely } from 'kysely'
import type { DialectName } from './dialect.ts'
import { threadDialect } from './driver.ts'
import { makeDirectory } from './make-directory.ts'
import type { SqlValue, StatementGroup } from './message.ts'
import type { Postgres } from './postgres/client.ts'
import type { Database } from './schema.ts'
import { type DatabaseThread, startThread } from './thread.ts'
import { createWriter } from './writer.ts'

const CHANGE_POLL_MS = 250

export interface SqliteOptions {
  /** The SQLite file. It and its folder (mode 0700) are made when they are missing. */
  readonly path: string
  /** A database thread died: nothing works from here on. By default the error ends the process as uncaught. */
  readonly onFatal?: (error: Error) => void
  /** Modules for `run`, by name, see `program.ts`. They are there when the database is open. */
  readonly programs?: Readonly<Record<string, URL>>
}

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; everything that libpq's URLs can say. */
  readonly url: string
  /** How long a server that is not there is waited for: it may just be starting. */
  readonly startWithinMs?: number
}

export type OpenOptions = SqliteOptions | PostgresOptions

/** A compiled query, or its SQL with other parameters in the same places. */
export type BatchStatement = Pick<CompiledQuery, 'sql' | 'parameters'>

export interface OpenedDatabase {
  readonly dialect: DialectName
  readonly db: Kysely<Database>
  /** Runs all in one transaction, in one message to the database: all are committed, or none. */
  batch(statements: readonly BatchStatement[]): Promise<void>
  /**
   * On SQLite: has a program carried out by the writer thread, one message there, one answer back. Rejects on PostgreSQL,
   * which has no thread of ours.
   */
  run(program: string, payload: unknown): Promise<unknown>
  /** Undefined on SQLite. */
  readonly postgres: Postgres | undefined
  /**
   * Calls `listener` when keys or accounts were changed, or may have been, by another process or by this one: within about
   * 250 ms on SQLite, at once on PostgreSQL, and after every interruption.
   * @returns Ends it.
   */
  onChange(listener: () => void): () => void
  /** Tells the listeners at once, after a write of this process. */
  notifyChange(): void
  /** Resolves when the database can be used. */
  ping(): Promise<void>
  /** Ends after everything that was asked before. */
  close(): Promise<void>
}

/**
 * Rejects when the file cannot be opened, the server cannot be reached, or either does not keep the required settings.
 * The schema is not looked at: see `migrate`.
 */
export async function openDatabase(options: OpenOptions): Promise<OpenedDatabase> {
  if ('path' in options) return openSqlite(options)
  const { openPostgres } = await import('./postgres/open.ts') // its packages only where they are used: starts are quick
  return openPostgres(options)
}

async function openSqlite(options: SqliteOptions): Promise<OpenedDatabase> {
  const { path, onFatal = throwUncaught, programs } = options
  makeDirectory(dirname(path))
  const listeners = new Set<() => void>()
  const notifyChange = () => {
    for (const listener of listeners) listener()
  }
  let opened = false
  const onDeath = (error: Error) => {
    if (opened) onFatal(error)
  }
  const events = { onChanged: notifyChange, onDeath }
  const writerThread = startThread({ path, role: 'writer', programs: addresses(programs) }, events)
  const reader = startThread({ path, role: 'reader' }, events)
  const closeThreads = async () => {
    await reader.close() // the writer goes last, so that it can fold the write-ahead log into the file
    await writerThread.close()
  }
  try {
    await writerThread.send({ kind: 'open' })
    await reader.send({ kind: 'open' })
  } catch (error) {
    await closeThreads()
    throw openFailure(path, error)
  }
  opened = true
  const writer = createWriter(writerThread)
  const db = new Kysely<Database>({ dialect: threadDialect({ reader, writer }) })
  return {
    dialect: 'sqlite',
    db,
    batch: async (statements) => void (await writer.send({ kind: 'batch', groups: groupStatements(statements) })),
    run: writer.run,
    postgres: undefined,
    onChange: (listener) => addListener({ listeners, listener, reader }),
    notifyChange,
    ping: async () => void (await Promise.all([reader.send({ kind: 'ping' }), writerThread.send({ kind: 'ping' })])),
    async close() {
      listeners.clear()
      await closeThreads()
    },
  }
}

function addresses(programs: SqliteOptions['programs'] = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(programs).map(([name, { href }]) => [name, href]))
}

function addListener(watch: {
  readonly listeners: Set<() => void>
  readonly listener: () => void
  readonly reader: DatabaseThread
}): () => void {
  const { listeners, listener, reader } = watch
  const setWatch = (intervalMs: number | undefined) => {
    reader.send({ kind: 'watch', intervalMs }).catch(() => undefined) // fails only on a closed database
  }
  listeners.add(listener)
  if (listeners.size === 1) setWatch(CHANGE_POLL_MS)
  return () => {
    if (listeners.delete(listener) && listeners.size === 0) setWatch(undefined)
  }
}

/** Neighbours with the same SQL are carried as one statement with many parameter lists. */
function groupStatements(statements: readonly BatchStatement[]): StatementGroup[] {
  const groups: { sql: string; rows: (readonly SqlValue[])[] }[] = []
  let current: { sql: string; rows: (readonly SqlValue[])[] } | undefined
  for (const { sql, parameters } of statements) {
    if (current?.sql !== sql) {
      current = { sql, rows: [] }
      groups.push(current)
    }
    current.rows.push(parameters as readonly SqlValue[])
  }
  return groups
}

function openFailure(path: string, error: unknown): Error {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new Error(`The database ${path} cannot be opened: ${reason}`, { cause: error })
}

function throwUncaught(error: Error): void {
  queueMicrotask(() => {
    throw error
  })
}
