/**
 * A resumable stream (a stream with an `Idempotency-Key`). The pipeline sees one client that accepts everything at
 * once; listeners see a log of numbered events that each reads at its own pace. It knows no key, no money and no
 * provider.
 *
 * It is kept up to a size limit. Beyond it, the stream continues for its current listeners at the pace of the slowest.
 */
import { GatewayError } from '../../domain/errors.ts'
import { KEEP_ALIVE, numberedEvents } from '../../domain/kept-events.ts'
import { createInFlight, type InFlight } from '../../lib/collections.ts'
import type { ClientConnection } from '../ports.ts'

export interface ResumableStreamInput extends KeptBytes {
  /** How long the stream continues without a reader, in milliseconds. */
  readonly graceMs: number
  /** The text that is sent during silences; default: a comment. */
  readonly keepAlive?: string | undefined
}

export interface ListenRequest {
  readonly client: ClientConnection
  /** The last event that the client received. Undefined if it received none. */
  readonly after: number | undefined
  /** Returns the response head from that of the stream. */
  readonly headers: (ofStream: Readonly<Record<string, string>>) => Record<string, string>
}

/** A reader of the stream. */
export interface Listening {
  /**
   * Resolves when everything is written or the client has left. Rejects with the error whose status the client
   * receives.
   */
  readonly done: Promise<void>
  /** Ends this listener only: with `finalEvent` if its response head was sent, else by rejecting with `reason`. */
  cut(reason: GatewayError, finalEvent: string): void
}

export interface ResumableStream extends ClientConnection {
  /** @throws GatewayError `idempotency_result_too_large` when earlier events are no longer kept. */
  listen(request: ListenRequest): Listening
  /** Returns the response head as far as it is known. */
  headers(): Record<string, string>
  /** Returns the whole text with `last`, for the row of its key. Undefined if the stream is not kept. */
  textWith(last: string): string | undefined
  /** No event was written yet. */
  silent(): boolean
  /**
   * Ends the stream after it broke off: with `finalEvent` for listeners that have received events, with `reason` for
   * the others.
   */
  fail(reason: GatewayError, finalEvent: string): void
  /** Stops keeping the stream, which is stored elsewhere: its events stay for current listeners only. */
  forget(): void
}

interface Listener {
  readonly client: ClientConnection
  /** Events that were written to it. */
  position: number
  /** The client reads slowly. It accepts more later. */
  busy: boolean
  readonly done: PromiseWithResolvers<void>
  remove: () => void
  /** The listener was removed: nothing more is written to it. */
  over: boolean
}

interface StreamState {
  readonly graceMs: number
  readonly keepAlive: string
  readonly log: EventLog
  ended: boolean
  forgotten: boolean
  failure: GatewayError | undefined
  head: (() => Record<string, string>) | undefined
  /** The response head when the first event was written. */
  sealedHead: Record<string, string> | undefined
  readonly listeners: InFlight<Listener>
  grace: NodeJS.Timeout | undefined
  left: boolean
  leave: (() => void) | undefined
  /** The promise that the pipeline awaits until all listeners have received everything. */
  taken: PromiseWithResolvers<void> | undefined
}

export function createResumableStream(input: ResumableStreamInput): ResumableStream {
  const log = createEventLog(input)
  const state: StreamState = {
    graceMs: input.graceMs,
    keepAlive: input.keepAlive ?? KEEP_ALIVE,
    log,
    ended: false,
    forgotten: false,
    failure: undefined,
    head: undefined,
    sealedHead: undefined,
    listeners: createInFlight(),
    grace: undefined,
    left: false,
    leave: undefined,
    taken: undefined,
  }
  return {
    onLeave(listener) {
      state.leave = listener
      if (state.left) listener()
    },
    streaming: () => log.count() > 0,
    expectStream(headers) {
      state.head = headers
    },
    write: (text) => write(state, text),
    endStream: () => end(state),
    sendJson() {
      throw new Error('A resumable stream was answered as a whole.')
    },
    listen: (request) => listen(state, request),
    headers: () => headOf(state),
    textWith: log.textWith,
    silent: () => log.count() === 0,
    fail: (reason, finalEvent) => fail(state, reason, finalEvent),
    forget() {
      state.forgotten = true
      releaseLog(state)
    },
  }
}

function headOf(state: StreamState): Record<string, string> {
  return state.sealedHead ?? state.head?.() ?? {}
}

/** @returns a promise to await if the log is not kept and a listener reads more slowly than the gateway writes. */
function write(state: StreamState, text: string): Promise<void> | undefined {
  if (state.ended) return undefined
  const { log, listeners } = state
  state.sealedHead ??= headOf(state)
  log.append(text)
  if (listeners.size > 0) for (const listener of listeners.items()) pump(state, listener)
  if (log.kept()) return undefined
  if (listeners.size === 0) leaveNow(state) // no other listener can join
  if (dropTaken(state)) return undefined
  state.taken ??= Promise.withResolvers()
  return state.taken.promise
}

/** Writes the missing events to a listener until it is busy. */
function pump(state: StreamState, listener: Listener): void {
  const { log } = state
  if (listener.over) return
  while (!listener.busy && listener.position < log.count()) {
    const { text, next } = log.pieceAfter(listener.position)
    listener.position = next
    const slow = listener.client.write(text)
    if (slow === undefined) continue
    listener.busy = true
    void slow.then(() => resume(state, listener))
  }
  if (state.ended && !listener.busy) finish(state, listener)
}

function resume(state: StreamState, listener: Listener): void {
  listener.busy = false
  pump(state, listener)
  if (!state.log.kept()) dropTaken(state)
}

/**
 * Drops the events of a stream that is not kept once all listeners received them.
 * @returns whether all accepted them.
 */
function dropTaken(state: StreamState): boolean {
  let taken = state.log.count()
  let busy = false
  for (const listener of state.listeners.items()) {
    taken = Math.min(taken, listener.position)
    busy ||= listener.busy
  }
  state.log.dropUntil(taken)
  if (busy) return false
  state.taken?.resolve()
  state.taken = undefined
  return true
}

function listen(state: StreamState, { client, after = 0, headers }: ListenRequest): Listening {
  if (!state.log.kept()) throw tooLarge()
  const count = state.log.count()
  const listener: Listener = {
    client,
    // A client that has the last event receives it again.
    position: Math.min(after, state.ended ? Math.max(0, count - 1) : count),
    busy: false,
    done: Promise.withResolvers(),
    remove: () => {},
    over: false,
  }
  listener.done.promise.catch(() => {}) // a caller may await it later
  if (state.failure !== undefined) {
    listener.done.reject(state.failure)
    return { done: listener.done.promise, cut: () => {} }
  }
  clearTimeout(state.grace)
  listener.remove = state.listeners.add(listener)
  client.expectStream(() => headers(headOf(state)), state.keepAlive)
  client.onLeave(() => drop(state, listener))
  // The response head is sent before the next event.
  if (count > 0 && listener.position === count && !listener.over) client.write(state.keepAlive)
  pump(state, listener)
  return {
    done: listener.done.promise,
    cut(reason, finalEvent) {
      tell(listener, reason, finalEvent)
      drop(state, listener)
    },
  }
}

function tooLarge(): GatewayError {
  const message =
    'The stream with this Idempotency-Key is still running, but it is too large to be kept for repeats. ' +
    'To run the request again, send it with a new key.'
  return new GatewayError('idempotency_result_too_large', message)
}

function tell({ client, done }: Listener, reason: GatewayError, finalEvent: string): void {
  if (client.streaming()) {
    client.write(finalEvent)
    client.endStream()
  } else {
    done.reject(reason)
  }
}

function finish(state: StreamState, listener: Listener): void {
  listener.client.endStream()
  drop(state, listener)
}

/** Removes a listener. */
function drop(state: StreamState, listener: Listener): void {
  if (listener.over) return
  listener.over = true
  listener.remove()
  listener.done.resolve()
  releaseLog(state)
  if (!state.log.kept()) dropTaken(state)
  if (state.listeners.size > 0 || state.ended) return
  const { graceMs } = state
  if (!state.log.kept() || graceMs <= 0) leaveNow(state)
  else state.grace = setTimeout(leaveNow, graceMs, state)
}

/** Stops counting a log that is stored elsewhere once no listener reads it here. */
function releaseLog({ forgotten, listeners, log }: StreamState): void {
  if (forgotten && listeners.size === 0) log.release()
}

function leaveNow(state: StreamState): void {
  if (state.left || state.ended || state.listeners.size > 0) return
  state.left = true
  state.leave?.()
}

function end(state: StreamState): void {
  state.ended = true
  clearTimeout(state.grace)
  for (const listener of state.listeners.items()) pump(state, listener)
}

function fail(state: StreamState, reason: GatewayError, finalEvent: string): void {
  if (state.ended) return
  if (state.log.count() > 0) {
    write(state, finalEvent)
    end(state)
    return
  }
  state.failure = reason
  state.ended = true
  clearTimeout(state.grace)
  for (const listener of state.listeners.items()) {
    tell(listener, reason, finalEvent)
    drop(state, listener)
  }
}

/** The same limit as for answers that are not streamed. */
export const MAX_KEPT_STREAM_BYTES = 8 * 1024 * 1024
/** The characters of missed events that a reader receives at a time. */
const PIECE_CHARACTERS = 64 * 1024

interface KeptBytes {
  /** Counts bytes as kept. Returns false if all logs together exceed the limit. */
  readonly grow: (bytes: number) => boolean
  /** Subtracts bytes from the count. */
  readonly shrink: (bytes: number) => void
}

interface EventLog {
  /** Returns the number of events so far. */
  count(): number
  /** Returns whether the log has all events. */
  kept(): boolean
  append(text: string): void
  /** Returns events after the first `position`, at most one piece, and the position behind them. */
  pieceAfter(position: number): { readonly text: string; readonly next: number }
  /** Drops the first `position` events of a log that is not kept. */
  dropUntil(position: number): void
  /** Returns the whole text with `last`, for the row of its key. Undefined if the log is not kept. */
  textWith(last: string): string | undefined
  /** Stops counting the bytes of the log. */
  release(): void
}

interface LogState {
  readonly counting: KeptBytes
  /** The events from number `dropped + 1` on, as text with their numbers. */
  events: string[]
  dropped: number
  bytes: number
  kept: boolean
  /** The whole text is known and will be stored elsewhere. */
  sealed: boolean
}

function createEventLog(counting: KeptBytes): EventLog {
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
