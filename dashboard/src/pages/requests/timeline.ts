/** The calls of a request on its time axis. */
import type { Attempt, Completion } from './queries.ts'

export interface TimelineCall {
  readonly attempt: Attempt
  /** Counts from 1; the log has the newest ten. */
  readonly number: number
  /** In milliseconds from the request's arrival. */
  readonly start: number
  /** The first event of its answer, or its failure. */
  readonly end: number
  /** Until when the answer went on; undefined where none was given. */
  readonly answeredUntil: number | undefined
  /** Milliseconds until the next call; undefined for the last. */
  readonly pause: number | undefined
}

export interface Timeline {
  readonly calls: readonly TimelineCall[]
  /** Calls before those that are known. */
  readonly unknown: number
  /** Milliseconds that the axis is long. */
  readonly length: number
}

type Timed = Pick<Completion, 'attempt_log' | 'attempts' | 'duration_ms'>

export function timelineOf({ attempt_log: log, attempts, duration_ms: duration }: Timed): Timeline {
  const unknown = Math.max(0, attempts - log.length)
  const ends = log.map(({ started_ms: start, duration_ms: length }) => start + length)
  const length = Math.max(1, duration, ...ends)
  const calls = log.map((attempt, index) => {
    const end = attempt.started_ms + attempt.duration_ms
    const next = log[index + 1]
    const isAnswer = attempt.outcome === 'answered' || attempt.outcome === 'cut'
    return {
      attempt,
      number: unknown + index + 1,
      start: attempt.started_ms,
      end,
      answeredUntil: isAnswer ? Math.max(end, next?.started_ms ?? duration) : undefined,
      pause: next === undefined ? undefined : Math.max(0, next.started_ms - end),
    }
  })
  return { calls, unknown, length }
}
