import { type Dispatch, useCallback, useEffect, useReducer, useRef, useState } from 'react'
import { fetchRaw } from '../../api/client.ts'
import { readEvents } from '../../api/event-stream.ts'
import { problemOf } from '../../api/problem.ts'
import type { JsonFields } from '../../lib/code-samples.ts'
import { type Action, type Conversation, reduceConversation, runsOf, startConversation } from './conversation.ts'
import type { Run, RunEnd, TimedEvent } from './run.ts'

interface QueuedEvent extends TimedEvent {
  readonly runId: number
}

export interface Runs {
  readonly conversation: Conversation
  readonly dispatch: Dispatch<Action>
  /** Sends the request of a run that stands in the conversation, and folds into it what comes back. */
  readonly start: (run: Run) => void
  readonly stop: (runId: number) => void
}

/** The conversations of the columns that the address names. A request whose run is gone from them, or the page, is given up. */
export function useRuns(models: readonly string[]): Runs {
  const [conversation, dispatch] = useReducer(reduceConversation, models, startConversation)
  const controllers = useRef(new Map<number, AbortController>())
  const [queue] = useState(() => createEventQueue(dispatch))
  const named = models.join(',')
  useEffect(() => dispatch({ type: 'models', models: named.split(',') }), [named])
  useEffect(() => {
    const present = new Set(runsOf(conversation).map(({ id }) => id))
    for (const [runId, controller] of controllers.current) if (!present.has(runId)) controller.abort()
  }, [conversation])
  useEffect(() => {
    const all = controllers.current
    return () => {
      for (const controller of all.values()) controller.abort()
    }
  }, [])
  const start = useCallback(
    (run: Run) => {
      const controller = new AbortController()
      controllers.current.set(run.id, controller)
      void follow(run, { signal: controller.signal, queue, dispatch }).finally(() => controllers.current.delete(run.id))
    },
    [queue],
  )
  const stop = useCallback((runId: number) => controllers.current.get(runId)?.abort(), [])
  return { conversation, dispatch, start, stop }
}

interface Following {
  readonly signal: AbortSignal
  readonly queue: FrameQueue<QueuedEvent>
  readonly dispatch: Dispatch<Action>
}

async function follow({ id: runId, team, request }: Run, { signal, queue, dispatch }: Following): Promise<void> {
  const end = await runChat({
    body: request,
    team,
    signal,
    onHead: (head) => dispatch({ type: 'head', runId, head }),
    onEvent: (event) => queue.push({ ...event, runId }),
  })
  queue.drain()
  dispatch({ type: 'end', runId, end })
}

function createEventQueue(dispatch: Dispatch<Action>): FrameQueue<QueuedEvent> {
  return createFrameQueue((events) => dispatch({ type: 'events', events: Map.groupBy(events, ({ runId }) => runId) }))
}

/** A page in the background is given no frames. */
const HIDDEN_MS = 200

interface FrameQueue<Item> {
  readonly push: (item: Item) => void
  /** Hands on at once what is there. */
  readonly drain: () => void
}

interface Frames {
  readonly request: (callback: () => void) => number
  readonly cancel: (handle: number) => void
}

const BROWSER: Frames = {
  request: (callback) => requestAnimationFrame(callback),
  cancel: (handle) => cancelAnimationFrame(handle),
}

export function createFrameQueue<Item>(
  flush: (items: readonly Item[]) => void,
  frames: Frames = BROWSER,
): FrameQueue<Item> {
  let items: Item[] = []
  let waiting: { readonly frame: number; readonly timer: ReturnType<typeof setTimeout> } | undefined
  const drain = (): void => {
    if (waiting !== undefined) {
      frames.cancel(waiting.frame)
      clearTimeout(waiting.timer)
      waiting = undefined
    }
    if (items.length === 0) return
    const batch = items
    items = []
    flush(batch)
  }
  return {
    push(item) {
      items.push(item)
      waiting ??= { frame: frames.request(drain), timer: setTimeout(drain, HIDDEN_MS) }
    },
    drain,
  }
}

interface ChatCall {
  readonly body: JsonFields
  readonly team: Run['team']
  readonly signal: AbortSignal
  readonly onHead: (head: Pick<Run, 'requestId' | 'warnings'>) => void
  readonly onEvent: (event: TimedEvent) => void
}

/** Never rejects: how it ended is the answer. */
async function runChat({ body, team, signal, onHead, onEvent }: ChatCall): Promise<RunEnd> {
  let hasHead = false
  try {
    const response = await fetchRaw('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(team && { 'x-turnpike-team': team }) },
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
