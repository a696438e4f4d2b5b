/** Sends one request and hands on what comes back. */
import { fetchRaw } from '../../api/client.ts'
import { readEvents } from '../../api/event-stream.ts'
import { problemOf } from '../../api/problem.ts'
import type { JsonFields } from '../../lib/code-samples.ts'
import type { Run, RunEnd, TimedEvent } from './run.ts'

export interface ChatCall {
  readonly body: JsonFields
  readonly signal: AbortSignal
  readonly onHead: (head: Pick<Run, 'requestId' | 'warnings'>) => void
  readonly onEvent: (event: TimedEvent) => void
}

/** Never rejects: how it ended is the answer. */
export async function runChat({ body, signal, onHead, onEvent }: ChatCall): Promise<RunEnd> {
  let hasHead = false
  try {
    const response = await fetchRaw('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    })
    hasHead = true
    onHead({
      requestId: response.headers.get('x-request-id') ?? undefined,
      warnings: response.headers.get('x-turnpike-warnings') ?? undefined,
    })
    await readEvents(response, ({ data }) => onEvent({ data, at: performance.now() }), signal)
    return { how: 'closed', at: performance.now() }
  } catch (error) {
    const at = performance.now()
    if (signal.aborted) return { how: 'stopped', at }
    if (hasHead) return { how: 'broken', at }
    const { message, code, requestId, param, retryAfterMs } = problemOf(error)
    return { how: 'refused', at, problem: { message, code, requestId, param, retryAfterMs } }
  }
}
