/** Server-sent events (HTML Living Standard, 9.2) of an answer that `fetch` got, which may carry an authorization. */
import { fetchRaw } from './client.ts'
import { type ApiProblem, problemOf } from './problem.ts'

export interface StreamEvent {
  /** The last id that the stream has named, on this event or an earlier one. */
  readonly id?: string
  /** Absent for the plain kind, `message`. */
  readonly event?: string
  readonly data: string
}

/**
 * Hands each event on as it arrives, and resolves when the stream ends. What stands after the last blank line was cut off
 * and is dropped.
 * @param signal When it fires, the answer is given up and its reason thrown.
 * @throws Also whatever `onEvent` throws, after the answer has been given up.
 */
export async function readEvents(
  response: Response,
  onEvent: (event: StreamEvent) => void,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted()
  const reader = response.body?.getReader()
  if (reader === undefined) return
  const giveUp = (): void => void reader.cancel().catch(() => undefined)
  signal?.addEventListener('abort', giveUp, { once: true })
  const decoder = new TextDecoder() // which also drops a byte order mark
  const push = createEventParser(onEvent)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      signal?.throwIfAborted()
      if (done) return
      push(decoder.decode(value, { stream: true }))
    }
  } catch (error) {
    giveUp()
    throw error
  } finally {
    signal?.removeEventListener('abort', giveUp)
  }
}

/** Takes the text of a stream in any pieces. Lines may end in CR, LF or both, also between two pieces. */
export function createEventParser(onEvent: (event: StreamEvent) => void): (piece: string) => void {
  const takeLine = createLineReader(onEvent)
  const unfinished: string[] = []
  let afterReturn = false
  return (piece) => {
    if (piece === '') return
    const text = afterReturn && piece.startsWith('\n') ? piece.slice(1) : piece
    afterReturn = piece.endsWith('\r')
    const lines = text.split(/\r\n|\r|\n/)
    const rest = lines.pop() ?? ''
    for (const line of lines) takeLine(unfinished.splice(0).join('') + line)
    if (rest !== '') unfinished.push(rest)
  }
}

function createLineReader(onEvent: (event: StreamEvent) => void): (line: string) => void {
  let data: string[] = []
  let event = ''
  let id = ''
  const dispatch = (): void => {
    const whole = { ...(id !== '' && { id }), ...(event !== '' && { event }), data: data.join('\n') }
    const isEvent = data.length > 0
    data = []
    event = ''
    if (isEvent) onEvent(whole)
  }
  return (line) => {
    if (line === '') return dispatch()
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'data') data.push(value)
    else if (name === 'event') event = value
    else if (name === 'id' && !value.includes('\0')) id = value
  }
}

export type FollowedConnection = 'live' | 'reconnecting' | 'failed'

interface Following {
  readonly path: string
  /** The id of the last event that is known. */
  readonly last: () => string | undefined
  /** When it fires, nothing more is told. */
  readonly signal: AbortSignal
  readonly onEvent: (event: StreamEvent) => void
  /** How it stands; with `failed` why it cannot be opened, which is the last that is told. */
  readonly report: (connection: FollowedConnection, problem?: ApiProblem) => void
  /** Called when an answer has come. @param from What it goes on after; undefined: it begins. */
  readonly onOpen?: (from: string | undefined) => void
  /** Whether all is told that ever will be; asked when the stream has ended. */
  readonly isOver?: () => boolean
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000

/** Resolves when it is over, failed, or given up. Never rejects. */
export async function followStream(following: Following): Promise<void> {
  const { path, last, signal, onEvent, report, onOpen, isOver } = following
  let waitMs = FIRST_WAIT_MS
  while (!signal.aborted) {
    try {
      const from = last()
      const headers = { accept: 'text/event-stream', ...(from !== undefined && { 'last-event-id': from }) }
      const response = await fetchRaw(path, { headers, signal })
      onOpen?.(from)
      report('live')
      const take = (event: StreamEvent): void => {
        waitMs = FIRST_WAIT_MS
        onEvent(event)
      }
      await readEvents(response, take, signal)
    } catch (error) {
      const problem = problemOf(error)
      if (signal.aborted) return
      if (isFinal(problem)) return report('failed', problem)
      waitMs = Math.max(waitMs, problem.retryAfterMs ?? 0)
    }
    if (isOver?.() === true) return
    report('reconnecting')
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
