/** The main thread's end of one database thread: sends messages, matches replies, notices its death. */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { databaseFailure, databaseUnavailable } from './failure.ts'
import type { DatabaseMessage, DatabaseReply, QueryRows, ThreadOptions } from './message.ts'

/** Messages a thread may owe an answer to. Beyond it new ones fail at once with `database_unavailable`. */
export const MAX_WAITING_MESSAGES = 20_000

type WithoutId<Message> = Message extends unknown ? Omit<Message, 'id'> : never
export type ThreadRequest = WithoutId<DatabaseMessage>

export interface ThreadEvents {
  /** Another connection has changed the file. Only after a `watch` message. */
  readonly onChanged: () => void
  /** The thread ended without being told to. Everything that waited for it has been rejected. */
  readonly onDeath: (error: Error) => void
}

export interface DatabaseThread {
  /** Answers come in the order of the requests. */
  send(request: ThreadRequest): Promise<QueryRows | undefined>
  /** Like `send`, for what a program answers. */
  run(name: string, payload: unknown): Promise<unknown>
  /** Closes the connection after everything sent before; resolves when the thread has ended. */
  close(): Promise<void>
}

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

export function startThread(options: ThreadOptions, events: ThreadEvents): DatabaseThread {
  const worker = new Worker(new URL(`./worker${extname(import.meta.url)}`, import.meta.url), {
    workerData: options,
    execArgv: [], // the process's own flags may be about its entry point
    name: `database ${options.role}`,
  })
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let ended: Error | undefined
  const post = (request: ThreadRequest): Promise<unknown> => {
    if (ended !== undefined) return Promise.reject(databaseUnavailable(ended))
    if (waiting.size >= MAX_WAITING_MESSAGES)
      return Promise.reject(databaseUnavailable(new Error('Too much is waiting.')))
    const id = ++lastId
    return new Promise((resolve, reject) => {
      worker.postMessage({ ...request, id })
      waiting.set(id, { resolve, reject })
    })
  }
  // The thread answers nothing else to anything but a program.
  const send = (request: ThreadRequest) => post(request) as Promise<QueryRows | undefined>
  let death: Error | undefined
  worker.on('error', (error: unknown) => {
    death = error instanceof Error ? error : new Error(String(error))
  })
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      const told = ended !== undefined
      ended ??= death ?? new Error(`The database's ${options.role} thread ended.`)
      rejectAll(waiting, ended)
      resolve()
      if (!told) events.onDeath(ended)
    })
  })
  worker.on('message', (reply: DatabaseReply) => {
    if ('event' in reply) events.onChanged()
    else settle(waiting, reply)
  })
  const close = () => {
    if (ended === undefined) send({ kind: 'close' }).catch(() => undefined)
    ended ??= new Error('The database is closed.')
    return exited
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
