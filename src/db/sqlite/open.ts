/**
 * Opens a SQLite database. The main thread never touches the file: `node:sqlite` blocks, and a locked file or a wide report
 * would stop every stream. One thread writes, one reads.
 */
import { dirname } from 'node:path'
import { Kysely } from 'kysely'
import type { BatchStatement, OpenedDatabase, SqliteOptions } from '../database.ts'
import { makeDirectory } from '../directory.ts'
import type { Database } from '../schema/schema.ts'
import { createWriter, type DatabaseThread, startThread, threadDialect } from './driver.ts'
import type { SqlValue, StatementGroup } from './message.ts'

const CHANGE_POLL_MS = 250

export async function openSqlite(options: SqliteOptions): Promise<OpenedDatabase> {
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
  const writerThread = startThread({ role: 'writer', programs: addresses(programs) }, events)
  const reader = startThread({ role: 'reader' }, events)
  const closeThreads = async () => {
    await reader.close() // the writer goes last, so that it can fold the write-ahead log into the file
    await writerThread.close()
  }
  try {
    await writerThread.send({ kind: 'open', path })
    await reader.send({ kind: 'open', path })
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

/** Groups neighbours with the same SQL into one statement with many parameter lists. */
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
