/**
 * Runs exact replacements on a worker thread, so that a large file does not block the event loop. The thread starts with
 * the first replacement and ends when idle.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Replaced, Replacement } from './replacement.ts'
import { ToolError } from './tool.ts'

const IDLE_MS = 60_000
/** Far beyond any text within the limits; then the thread is terminated and the model receives an error. */
const TIMEOUT_MS = 10_000

export interface ReplacementRequest {
  readonly id: number
  readonly text: string
  readonly replacement: Replacement
}

export type ReplacementReply =
  | { readonly id: number; readonly result: Replaced }
  | { readonly id: number; readonly error: string }

interface Pending {
  readonly resolve: (result: Replaced) => void
  readonly reject: (error: Error) => void
}

const pending = new Map<number, Pending>()
let worker: Worker | undefined
let timer: NodeJS.Timeout | undefined
let lastId = 0

/** As `replaceExact`. Rejects with `ToolError` where that throws it, and after `TIMEOUT_MS`. */
export function replaceOffThread(text: string, replacement: Replacement): Promise<Replaced> {
  const { promise, resolve, reject } = Promise.withResolvers<Replaced>()
  worker ??= start()
  lastId += 1
  if (pending.size === 0) terminateIn(TIMEOUT_MS)
  pending.set(lastId, { resolve, reject })
  worker.ref()
  worker.postMessage({ id: lastId, text, replacement } satisfies ReplacementRequest)
  return promise
}

function start(): Worker {
  const started = new Worker(new URL(`./replacement-worker${extname(import.meta.url)}`, import.meta.url), {
    execArgv: [], // the process's own flags may be about its entry point
    name: 'agent replacements',
  })
  started.on('message', (reply: ReplacementReply) => {
    const request = pending.get(reply.id)
    pending.delete(reply.id)
    if ('result' in reply) request?.resolve(reply.result)
    else request?.reject(new ToolError(reply.error))
    terminateIn(pending.size === 0 ? IDLE_MS : TIMEOUT_MS)
    if (pending.size === 0) started.unref()
  })
  started.once('error', () => undefined) // its exit follows
  started.once('exit', () => {
    if (worker !== started) return
    worker = undefined
    for (const { reject } of pending.values()) reject(new ToolError('The text could not be replaced.'))
    pending.clear()
  })
  return started
}

function terminateIn(ms: number): void {
  clearTimeout(timer)
  timer = setTimeout(() => void worker?.terminate(), ms)
  timer.unref()
}
