/**
 * Kysely over the two database threads, and the main thread's end of them. Selects outside transactions go to the
 * reader, which sees everything that was committed before it was asked; everything else goes to the writer.
 */

import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { databaseFailure, databaseUnavailable, invalidText } from '../failure.ts'
import type { DatabaseReply, DatabaseRequest, QueryRows, SqlValue, ThreadOptions } from './message.ts'

interface RoutedConnection extends DatabaseConnection {
  /** Whether this connection holds the writer thread. */
  inTransaction: boolean
}

export function threadDialect(threads: { readonly reader: DatabaseThread; readonly writer: Writer }): Dialect {
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

export interface DatabaseThread {
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
 * From now on threads of closed databases serve the next ones: for processes that open hundreds. The start of the two takes
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

export function startThread(options: ThreadOptions, events: ThreadEvents): DatabaseThread {
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

export function createWriter(thread: DatabaseThread): Writer {
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
