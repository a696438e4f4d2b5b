/** An event stream that is opened again where it broke off, from the last event on. */
import { fetchRaw } from './client.ts'
import { readEvents, type StreamEvent } from './event-stream.ts'
import { type ApiProblem, problemOf } from './problem.ts'

export type FollowedConnection = 'live' | 'reconnecting' | 'failed'

export interface Following {
  readonly path: string
  /** The id of the last event that is known. */
  readonly last: () => string | undefined
  /** When it fires, nothing more is told. */
  readonly signal: AbortSignal
  readonly onEvent: (event: StreamEvent) => void
  /** How it stands; with `failed` why it cannot be opened, which is the last that is told. */
  readonly tell: (connection: FollowedConnection, problem?: ApiProblem) => void
  /** Called when an answer has come. @param from What it goes on after; undefined: it begins. */
  readonly onOpen?: (from: string | undefined) => void
  /** Whether all is told that ever will be; asked when the stream has ended. */
  readonly isOver?: () => boolean
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000

/** Resolves when it is over, failed, or given up. Never rejects. */
export async function followStream(following: Following): Promise<void> {
  const { path, last, signal, onEvent, tell, onOpen, isOver } = following
  let waitMs = FIRST_WAIT_MS
  while (!signal.aborted) {
    try {
      const from = last()
      const headers = { accept: 'text/event-stream', ...(from !== undefined && { 'last-event-id': from }) }
      const response = await fetchRaw(path, { headers, signal })
      onOpen?.(from)
      tell('live')
      const take = (event: StreamEvent): void => {
        waitMs = FIRST_WAIT_MS
        onEvent(event)
      }
      await readEvents(response, take, signal)
    } catch (error) {
      const problem = problemOf(error)
      if (signal.aborted) return
      if (isFinal(problem)) return tell('failed', problem)
      waitMs = Math.max(waitMs, problem.retryAfterMs ?? 0)
    }
    if (isOver?.() === true) return
    tell('reconnecting')
    await waited(waitMs * (0.75 + Math.random() / 2), signal)
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
  }
}

/** Another try would be answered the same. */
function isFinal({ status }: ApiProblem): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}

function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}
