/** The worker thread of `work-thread.ts`: runs one task at a time. */
import { parentPort } from 'node:worker_threads'
import { applySummary, planCompaction } from './compaction.ts'
import { replaceExact } from './replacement.ts'
import { ToolError } from './tool.ts'
import { renderTranscriptPage } from './transcript-page.ts'

const TASKS = { applySummary, planCompaction, renderTranscriptPage, replaceExact }

export type Tasks = typeof TASKS

export interface TaskRequest {
  readonly name: keyof Tasks
  /** The arguments of the function of this name. */
  readonly input: readonly unknown[]
}

export type TaskReply = { readonly result: unknown } | { readonly error: string; readonly isToolError: boolean }

function replyTo({ name, input }: TaskRequest): TaskReply {
  const task = TASKS[name] as (...input: readonly unknown[]) => unknown // `runTask` checks the types of the input
  try {
    return { result: task(...input) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error), isToolError: error instanceof ToolError }
  }
}

parentPort?.on('message', (request: TaskRequest) => {
  const reply = replyTo(request)
  const isBytes = 'result' in reply && reply.result instanceof Uint8Array && reply.result.buffer instanceof ArrayBuffer
  parentPort?.postMessage(reply, isBytes ? [(reply.result as Uint8Array<ArrayBuffer>).buffer] : [])
})
