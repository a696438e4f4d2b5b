/** What was said in a stream, in numbered events, as long as it fits; then only what somebody still has to be told. */
import { numberedEvents } from '../domain/kept-events.ts'

/** As for answers that are not streamed. */
export const MAX_KEPT_STREAM_BYTES = 8 * 1024 * 1024
/** Of what a reader has missed, handed out at once. */
const PIECE_CHARACTERS = 64 * 1024

export interface KeptBytes {
  /** Counts so many bytes as kept. False: all logs together have become too much. */
  readonly grow: (bytes: number) => boolean
  /** Takes them off the count again. */
  readonly shrink: (bytes: number) => void
}

export interface EventLog {
  /** Events so far. */
  count(): number
  /** Whether all of them are there. */
  kept(): boolean
  append(text: string): void
  /** The events after the first `position`, or so many of them as one takes at once, and the position behind them. */
  pieceAfter(position: number): { readonly text: string; readonly next: number }
  /** Of a log that is not kept: nobody needs the first `position` events any more. */
  dropUntil(position: number): void
  /** The whole text, for the row of its key, once `last` is appended next; undefined: it is not kept. */
  textWith(last: string): string | undefined
  /** Nobody needs it any more: it is not counted. */
  release(): void
}

interface LogState {
  readonly counting: KeptBytes
  /** Those from number `dropped + 1` on, as text with their numbers. */
  events: string[]
  dropped: number
  bytes: number
  kept: boolean
  /** Its whole text is known, and kept elsewhere soon. */
  sealed: boolean
}

export function createEventLog(counting: KeptBytes): EventLog {
  const state: LogState = { counting, events: [], dropped: 0, bytes: 0, kept: true, sealed: false }
  return {
    count: () => countOf(state),
    kept: () => state.kept,
    append: (text) => append(state, text),
    pieceAfter: (position) => pieceAfter(state, position),
    dropUntil(position) {
      state.events.splice(0, position - state.dropped)
      state.dropped = position
    },
    textWith: (last) => textWith(state, last),
    release: () => release(state),
  }
}

function countOf({ dropped, events }: LogState): number {
  return dropped + events.length
}

function append(state: LogState, text: string): void {
  let bytes = 0
  for (const event of numberedEvents(text, countOf(state) + 1)) {
    state.events.push(event)
    if (state.kept) bytes += Buffer.byteLength(event)
  }
  if (!state.kept) return
  state.bytes += bytes
  const fits = state.counting.grow(bytes) && state.bytes <= MAX_KEPT_STREAM_BYTES
  if (!fits && !state.sealed) giveUp(state)
}

function giveUp(state: LogState): void {
  state.kept = false
  release(state)
}

function release(state: LogState): void {
  state.counting.shrink(state.bytes)
  state.bytes = 0
}

function pieceAfter({ events, dropped }: LogState, position: number): { text: string; next: number } {
  let text = ''
  let at = position - dropped
  while (at < events.length && text.length < PIECE_CHARACTERS) text += events[at++]
  return { text, next: dropped + at }
}

function textWith(state: LogState, last: string): string | undefined {
  if (!state.kept) return undefined
  const text = state.events.join('') + numberedEvents(last, countOf(state) + 1).join('')
  state.sealed = Buffer.byteLength(text) <= MAX_KEPT_STREAM_BYTES
  if (state.sealed) return text
  giveUp(state)
  return undefined
}
