/** The events of an answer as they came, for reading: the first ones and the last ones, so that memory is bounded. */
const MAX_HEAD_LENGTH = 128 * 1024
const MAX_TAIL_EVENTS = 12
const MAX_TAIL_EVENT_LENGTH = 16 * 1024

export interface RawLog {
  /** Lines `data: …`, as long as they fit. */
  readonly head: string
  readonly tail: readonly string[]
  readonly events: number
  /** Between head and tail. */
  readonly leftOut: number
}

export const EMPTY_LOG: RawLog = { head: '', tail: [], events: 0, leftOut: 0 }

export function withEvent(log: RawLog, data: string): RawLog {
  const events = log.events + 1
  if (log.tail.length === 0 && log.head.length + data.length <= MAX_HEAD_LENGTH) {
    return { ...log, events, head: `${log.head}data: ${data}\n\n` }
  }
  const line = data.length > MAX_TAIL_EVENT_LENGTH ? `${data.slice(0, MAX_TAIL_EVENT_LENGTH)}…` : data
  const tail = [...log.tail, line]
  const excess = tail.length - MAX_TAIL_EVENTS
  return excess > 0
    ? { ...log, events, tail: tail.slice(excess), leftOut: log.leftOut + excess }
    : { ...log, events, tail }
}

export function textOfLog({ head, tail, leftOut }: RawLog): string {
  const gap = leftOut === 0 ? '' : `: ${leftOut} more events are not shown\n\n`
  return `${head}${gap}${tail.map((data) => `data: ${data}\n\n`).join('')}`.trimEnd()
}
