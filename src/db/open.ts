/**
 * Opens the database. The main thread never touches the file: `node:sqlite` blocks, and a locked file or a wide report
 * would stop every stream. One thread writes, one reads; whoever asks only sees promises.
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { type CompiledQuery, Kysely } from 'kysely'
import { threadDialect } from './driver.ts'
import type { SqlValue, StatementGroup } from './message.ts'
import type { Database } from './schema.ts'
import { type DatabaseThread, startThread } from './thread.ts'
import { createWriter } from './writer.ts'

const CHANGE_POLL_MS = 250

export interface OpenOptions {
  /** The SQLite file. It and its folder (mode 0700) are made when they are missing. */
  readonly path: string
  /** A database thread died: nothing works from here on. By default the error ends the process as uncaught. */
  readonly onFatal?: (error: Error) => void
  /** Modules for `run`, by name, see `program.ts`. They are there when the database is open. */
  readonly programs?: Readonly<Record<string, URL>>
}

/** A compiled query, or its SQL with other parameters in the same places. */
export type BatchStatement = Pick<CompiledQuery, 'sql' | 'parameters'>

export interface OpenedDatabase {
  readonly db: Kysely<Database>
  /**
   * Runs all in one transaction, in one message: all are committed, or none. Neighbours with the same SQL are carried
   * as one statement with many parameter lists.
   */
  batch(statements: readonly BatchStatement[]): Promise<void>
  /** Has a program carried out by the writer thread: one message there, one answer back. */
  run(program: string, payload: unknown): Promise<unknown>
  /**
   * Calls `listener` within about 250 ms whenever the file was changed, by another process or by this one.
   * @returns Ends it.
   */
  onChange(listener: () => void): () => void
  /** Tells the listeners at once, after a write of this process. */
  notifyChange(): void
  /** Resolves when both threads can use the file. */
  ping(): Promise<void>
  /** Ends after everything that was asked before. */
  close(): Promise<void>
}

/**
 * Rejects when the file cannot be opened or does not keep the required settings.
 * The schema is not looked at: see `migrate`.
 */
export async function openDatabase(options: OpenOptions): Promise<OpenedDatabase> {
  const { path, onFatal = throwUncaught, programs } = options
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
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
    db,
    batch: async (statements) => void (await writer.send({ kind: 'batch', groups: groupStatements(statements) })),
    run: writer.run,
    onChange: (listener) => addListener({ listeners, listener, reader }),
    notifyChange,
    ping: async () => void (await Promise.all([reader.send({ kind: 'ping' }), writerThread.send({ kind: 'ping' })])),
    async close() {
      listeners.clear()
      await closeThreads()
    },
  }
}

function addresses(programs: OpenOptions['programs'] = {}): Readonly<Record<string, string>> {
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
