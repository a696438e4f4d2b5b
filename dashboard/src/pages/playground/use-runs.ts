import { type Dispatch, useCallback, useEffect, useReducer, useRef, useState } from 'react'
import { type Action, type Conversation, reduceConversation, runsOf, startConversation } from './conversation.ts'
import { createFrameQueue, type FrameQueue } from './frame-queue.ts'
import type { Run, TimedEvent } from './run.ts'
import { runChat } from './run-chat.ts'

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

async function follow({ id: runId, request }: Run, { signal, queue, dispatch }: Following): Promise<void> {
  const end = await runChat({
    body: request,
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
