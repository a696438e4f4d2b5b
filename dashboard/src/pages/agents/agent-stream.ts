/** Follows the event stream of an agent; reconnects after the last event. */
import { useEffect, useRef, useState } from 'react'
import { type FollowedConnection, followStream } from '../../api/event-stream.ts'
import type { ApiProblem } from '../../api/problem.ts'
import { type AgentEvent, parseAgentEvent } from './agent-events.ts'
import { type AgentWork, NO_WORK, withEvents } from './work.ts'

/** `over`: the agent has ended and all is told. */
export type Connection = FollowedConnection | 'connecting' | 'over'

export interface AgentStream {
  readonly work: AgentWork
  readonly connection: Connection
  /** Why it cannot be opened; undefined unless it failed. */
  readonly problem: ApiProblem | undefined
}

/**
 * For one agent as long as it is mounted.
 * @param runs How many the agent has had: one more opens the stream of an agent that had ended.
 */
export function useAgentEvents(agentId: string, runs: number): AgentStream {
  const known = useRef(NO_WORK)
  const [stream, setStream] = useState<AgentStream>({ work: NO_WORK, connection: 'connecting', problem: undefined })
  // biome-ignore lint/correctness/useExhaustiveDependencies: a further run is another stream
  useEffect(() => {
    const leaving = new AbortController()
    const queue = inFrames((events) => {
      known.current = withEvents(known.current, events)
      const work = known.current
      setStream((before) => ({ ...before, work }))
    })
    const report = (connection: Connection, problem?: ApiProblem): void => {
      queue.flush()
      if (!leaving.signal.aborted) setStream({ work: known.current, connection, problem })
    }
    report('connecting')
    void follow({
      agentId,
      last: () => Math.max(queue.last(), known.current.last),
      signal: leaving.signal,
      push: queue.push,
      report,
    })
    return () => {
      leaving.abort()
      queue.flush()
    }
  }, [agentId, runs])
  return stream
}

interface Following {
  readonly agentId: string
  /** The number of the last event that is known. */
  readonly last: () => number
  readonly signal: AbortSignal
  readonly push: (event: AgentEvent) => void
  readonly report: (connection: Connection, problem?: ApiProblem) => void
}

async function follow({ agentId, last, signal, push, report }: Following): Promise<void> {
  let isOver = false
  await followStream({
    path: `/v1/agents/${encodeURIComponent(agentId)}/events`,
    last: () => (last() === 0 ? undefined : String(last())),
    signal,
    onEvent({ event, data }) {
      if (event === 'done') isOver = true
      const told = parseAgentEvent(data)
      if (told !== undefined) push(told)
    },
    report,
    isOver: () => isOver,
  })
  if (isOver) report('over')
}

interface FrameQueue {
  readonly push: (event: AgentEvent) => void
  readonly flush: () => void
  /** The number of the last event that waits; 0: none does. */
  readonly last: () => number
}

/** Hands on together what comes within a moment: a stream that is told from its beginning is thousands of events at once. */
function inFrames(handOn: (events: readonly AgentEvent[]) => void): FrameQueue {
  let waiting: AgentEvent[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    const events = waiting
    waiting = []
    if (events.length > 0) handOn(events)
  }
  return {
    push(event) {
      waiting.push(event)
      timer ??= setTimeout(flush, FRAME_MS) // (frames of animation do not come while a tab is hidden)
    },
    flush,
    last: () => waiting.at(-1)?.sequence ?? 0,
  }
}

const FRAME_MS = 50
