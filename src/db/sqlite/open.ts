/**
 * Opens a SQLite database. The main thread never touches the file: `node:sqlite` blocks, and a locked file or a wide report
 * would stop every stream. One thread writes, one reads.
 */
import { dirname, extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { BatchStatement, OpenedDatabase, SqliteOptions } from '../database.ts'
import { makeDirectory } from '../directory.ts'
import { databaseFailure, databaseUnavailable, invalidText } from '../failure.ts'
import type { Database } from '../schema/schema.ts'
import type { DatabaseReply, DatabaseRequest, QueryRows, SqlValue, StatementGroup, ThreadOptions } from './message.ts'

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

// Kysely over the two database threads, and the main thread's end of them. Selects outside transactions go to the
// reader, which sees everything that was committed before it was asked; everything else goes to the writer.

interface RoutedConnection extends DatabaseConnection {
  /** Whether this connection holds the writer thread. */
  inTransaction: boolean
}

function threadDialect(threads: { readonly reader: DatabaseThread; readonly writer: Writer }): Dialect {
  return {
    createAdapter: () => ({
      supportsCreateIfNotExists: true,
      supportsMultipleConnections: true,
      supportsTransactionalDdl: true,
      supportsReturning: true,
      supportsOutput: false,
      acquireMigrationLock: () => Promise.resolve(),
      releaseMigrationLock: () => Promise.resolve(),
    }),
    createDriver: () => createDriver(threads.reader, threads.writer),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

function createDriver(reader: DatabaseThread, writer: Writer): Driver {
  const endTransaction = (connection: DatabaseConnection) => {
    if (!isRouted(connection) || !connection.inTransaction) return
    connection.inTransaction = false
    writer.release()
  }
  const rollback = async (connection: DatabaseConnection) => {
    if (!isRouted(connection) || !connection.inTransaction) return
    try {
      await writer.sendHeld({ kind: 'rollback' })
    } finally {
      endTransaction(connection)
    }
  }
  return {
    init: () => Promise.resolve(),
    acquireConnection: () => Promise.resolve(createConnection(reader, writer)),
    async beginTransaction(connection) {
      await writer.hold()
      if (isRouted(connection)) connection.inTransaction = true
      try {
        await writer.sendHeld({ kind: 'begin' })
      } catch (error) {
        endTransaction(connection)
        throw error
      }
    },
    async commitTransaction(connection) {
      await writer.sendHeld({ kind: 'commit' })
      endTransaction(connection)
    },
    rollbackTransaction: rollback,
    releaseConnection: rollback,
    destroy: () => Promise.resolve(),
  }
}

function createConnection(reader: DatabaseThread, writer: Writer): RoutedConnection {
  return {
    inTransaction: false,
    async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
      const parameters = query.parameters as readonly SqlValue[] // SQLite rejects other values when it binds them
      if (parameters.some((value) => typeof value === 'string' && value.includes('\0'))) throw invalidText()
      const request = { kind: 'query', sql: query.sql, parameters, transaction: this.inTransaction } as const
      if (this.inTransaction) return toResult(await writer.sendHeld(request))
      return toResult(await (query.query.kind === 'SelectQueryNode' ? reader : writer).send(request))
    },
    streamQuery() {
      throw new Error('Results are not streamed: read them in pages.')
    },
  }
}

function isRouted(connection: DatabaseConnection): connection is RoutedConnection {
  return 'inTransaction' in connection
}

function toResult<Row>(result: QueryRows | undefined): QueryResult<Row> {
  const rows = (result?.rows ?? []) as Row[]
  return result?.changes === undefined ? { rows } : { rows, numAffectedRows: BigInt(result.changes) }
}

/*
 * The main thread's end of a database thread: sends messages, matches replies, reports its death, and queues for the
 * writer.
 */

/** Unanswered messages of a thread. Beyond it new ones fail at once with `database_unavailable`. */
export const MAX_WAITING_MESSAGES = 20_000

export interface ThreadEvents {
  /** Another connection changed the file. Called only after a `watch` message. */
  readonly onChanged: () => void
  /** The thread ended unexpectedly. Everything that waited for it was rejected. */
  readonly onDeath: (error: Error) => void
}

interface DatabaseThread {
  /** Answers come in the order of the requests. */
  send(request: DatabaseRequest): Promise<QueryRows | undefined>
  /** Runs a program and resolves with its result. */
  run(name: string, payload: unknown): Promise<unknown>
  /** Closes the connection after everything sent before; resolves when the thread has ended. */
  close(): Promise<void>
}

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** Threads of closed databases, by their options. */
const idle = new Map<string, Worker[]>()
let keepsThreads = false

/**
 * From now on threads of closed databases serve the next ones: for tests, whose process opens hundreds. The start of both takes
 * 60 ms of CPU time, and each compiles its code again.
 */
export function keepThreads(): void {
  keepsThreads = true
}

function takeWorker(options: ThreadOptions): Worker {
  const worker = idle.get(JSON.stringify(options))?.pop()
  worker?.removeAllListeners('exit').ref()
  if (worker !== undefined) return worker
  return new Worker(new URL(`./worker${extname(import.meta.url)}`, import.meta.url), {
    workerData: options,
    execArgv: [], // the process's own flags may be about its entry point
    name: `database ${options.role}`,
  })
}

/** The process may end in spite of it. */
function keepWorker(worker: Worker, options: ThreadOptions): void {
  const key = JSON.stringify(options)
  const others = () => (idle.get(key) ?? []).filter((other) => other !== worker)
  for (const name of ['message', 'error', 'exit']) worker.removeAllListeners(name)
  worker.unref()
  worker.once('exit', () => idle.set(key, others()))
  idle.set(key, [...others(), worker])
}

function startThread(options: ThreadOptions, events: ThreadEvents): DatabaseThread {
  const worker = takeWorker(options)
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let ended: Error | undefined
  const post = (request: DatabaseRequest): Promise<unknown> => {
    if (ended !== undefined) return Promise.reject(databaseUnavailable(ended))
    if (waiting.size >= MAX_WAITING_MESSAGES)
      return Promise.reject(databaseUnavailable(new Error('The queue for the database is full.')))
    const id = ++lastId
    return new Promise((resolve, reject) => {
      worker.postMessage({ ...request, id })
      waiting.set(id, { resolve, reject })
    })
  }
  // The thread answers nothing else but to a program.
  const send = (request: DatabaseRequest) => post(request) as Promise<QueryRows | undefined>
  let death: Error | undefined
  worker.on('error', (error: unknown) => {
    death = error instanceof Error ? error : new Error(String(error))
  })
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      const expected = ended !== undefined
      ended ??= death ?? new Error(`The database's ${options.role} thread ended.`)
      rejectAll(waiting, ended)
      resolve()
      if (!expected) events.onDeath(ended)
    })
  })
  worker.on('message', (reply: DatabaseReply) => {
    if ('event' in reply) events.onChanged()
    else settle(waiting, reply)
  })
  const end = () => {
    const answer = send({ kind: 'close', keep: keepsThreads })
    ended = new Error('The database is closed.')
    const done = answer.then(
      () => (keepsThreads ? keepWorker(worker, options) : undefined),
      () => void worker.terminate(),
    )
    return keepsThreads ? done : exited
  }
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= ended === undefined ? end() : exited
    return closed
  }
  return { send, run: (name, payload) => post({ kind: 'program', name, payload }), close }
}

function settle(waiting: Map<number, Waiting>, reply: Extract<DatabaseReply, { id: number }>): void {
  const entry = waiting.get(reply.id)
  waiting.delete(reply.id)
  if ('failure' in reply) entry?.reject(databaseFailure(reply.failure))
  else entry?.resolve(reply.result)
}

function rejectAll(waiting: Map<number, Waiting>, error: Error): void {
  for (const { reject } of waiting.values()) reject(databaseUnavailable(error))
  waiting.clear()
}

/** The queue of the writer thread: first come, first served; a transaction holds the thread until it ends. */
interface Writer {
  /** Outside transactions: queued until no transaction holds the thread. */
  send(request: DatabaseRequest): Promise<QueryRows | undefined>
  /** A program is a transaction of its own, queued like a single statement. */
  run(name: string, payload: unknown): Promise<unknown>
  /** Resolves when the caller holds the thread exclusively; it must `release` it. */
  hold(): Promise<void>
  /** For the holder of the thread. */
  sendHeld(request: DatabaseRequest): Promise<QueryRows | undefined>
  release(): void
}

function createWriter(thread: DatabaseThread): Writer {
  const queue: (() => void)[] = []
  let held = false
  const enqueue = <Result>(action: () => Promise<Result>): Promise<Result> => {
    if (!held && queue.length === 0) return action()
    if (queue.length >= MAX_WAITING_MESSAGES)
      return Promise.reject(databaseUnavailable(new Error('The queue for the database is full.')))
    return new Promise((resolve, reject) => queue.push(() => void action().then(resolve, reject)))
  }
  return {
    send: (request) => enqueue(() => thread.send(request)),
    run: (name, payload) => enqueue(() => thread.run(name, payload)),
    hold: () =>
      enqueue(() => {
        held = true
        return Promise.resolve()
      }),
    sendHeld: (request) => thread.send(request),
    release() {
      held = false
      while (!held && queue.length > 0) queue.shift()?.()
    },
  }
}
