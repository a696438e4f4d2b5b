/**
 * Runs work that takes long on a large file or transcript on a worker thread, one task at a time, so that it does not block
 * the event loop. The thread starts with the first task and ends when idle.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { ToolError } from './tool.ts'
import type { TaskReply, TaskRequest, Tasks } from './work-worker.ts'

const IDLE_MS = 60_000
/** Of one task. Input within the limits takes far less. */
const TIMEOUT_MS = 10_000

/** A task failed unexpectedly, or exceeded its time limit. */
export class WorkThreadError extends Error {
  override readonly name = 'WorkThreadError'
}

interface QueuedTask {
  readonly request: TaskRequest
  readonly signal: AbortSignal
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

const waiting: QueuedTask[] = []
let running: QueuedTask | undefined
let worker: Worker | undefined
let timer: NodeJS.Timeout | undefined

/**
 * @param input Of the task; it is copied.
 * @returns The task's result. Rejects with its `ToolError`, with `WorkThreadError`, and with the reason of the signal.
 */
export async function runTask<Name extends keyof Tasks>(
  signal: AbortSignal,
  name: Name,
  ...input: Parameters<Tasks[Name]>
): Promise<ReturnType<Tasks[Name]>> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort)
  waiting.push({ request: { name, input }, signal, resolve, reject })
  if (running === undefined) startNext()
  try {
    return (await promise) as ReturnType<Tasks[Name]> // the worker runs the task of this name
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function startNext(): void {
  do running = waiting.shift()
  while (running?.signal.aborted === true)
  clearTimeout(timer)
  timer = setTimeout(terminate, running === undefined ? IDLE_MS : TIMEOUT_MS)
  timer.unref()
  if (running === undefined) {
    worker?.unref()
    return
  }
  worker ??= start()
  worker.ref()
  worker.postMessage(running.request)
}

/** Ends the thread: it is idle, or the running task exceeded its time limit. */
function terminate(): void {
  void worker?.terminate()
  fail(new WorkThreadError(`The time limit of ${TIMEOUT_MS / 1000} s was exceeded.`))
}

function fail(error: Error): void {
  worker = undefined
  if (running === undefined) return
  running.reject(error)
  startNext()
}

function start(): Worker {
  const started = new Worker(new URL(`./work-worker${extname(import.meta.url)}`, import.meta.url), {
    execArgv: [], // the process's own flags may be about its entry point
    name: 'agent work',
  })
  started.on('message', (reply: TaskReply) => {
    if (worker !== started) return
    if ('result' in reply) running?.resolve(reply.result)
    else running?.reject(reply.isToolError ? new ToolError(reply.error) : new WorkThreadError(reply.error))
    startNext()
  })
  started.once('error', (cause) => {
    if (worker === started) fail(new WorkThreadError('The worker thread failed.', { cause }))
  })
  started.once('exit', () => {
    if (worker === started) fail(new WorkThreadError('The worker thread ended.'))
  })
  return started
}
