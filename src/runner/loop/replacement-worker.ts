/** The worker of `replacement-thread.ts`: makes one replacement at a time. */
import { parentPort } from 'node:worker_threads'
import { replaceExact } from './replacement.ts'
import type { ReplacementReply, ReplacementRequest } from './replacement-thread.ts'
import { ToolError } from './tool.ts'

function replyTo({ id, text, replacement }: ReplacementRequest): ReplacementReply {
  try {
    return { id, result: replaceExact(text, replacement) }
  } catch (error) {
    if (error instanceof ToolError) return { id, error: error.message }
    throw error
  }
}

parentPort?.on('message', (request: ReplacementRequest) => parentPort?.postMessage(replyTo(request)))
