/**
 * A stream with an `Idempotency-Key`: to the pipeline one client that takes everything at once, to its listeners a log
 * of numbered events that each of them reads at its own pace. It knows no key, no money and no provider.
 *
 * It is kept as long as it fits. What outgrows that goes on for those who listen, at the pace of the slowest.
 */
import { GatewayError } from '../domain/errors.ts'
import { createRoster, type Roster } from '../lib/roster.ts'
import type { ClientConnection } from './client.ts'
import { createEventLog, type EventLog, type KeptBytes } from './event-log.ts'

/** A comment, which no client shows. */
const NOTHING_NEW = ': keep-alive\n\n'

export interface KeptStreamInput extends KeptBytes {
  /** How long it goes on without any listener, in milliseconds. */
  readonly graceMs: number
}

export interface ListenAsk {
  readonly client: ClientConnection
  /** The last event that the client has; undefined: none. */
  readonly after: number | undefined
  /** The head of its answer, from that of the stream. */
  readonly headers: (ofStream: Readonly<Record<string, string>>) => Record<string, string>
}

/** One who listens. */
export interface Listening {
  /** Resolves when all is written, or the client has left. Rejects with what is to be its status. */
  readonly done: Promise<void>
  /** Ends it alone: with `lastWords` where its head is out, else by rejecting with `reason`. */
  cut(reason: GatewayError, lastWords: string): void
}

export interface KeptStream extends ClientConnection {
  /** Throws `idempotency_result_too_large` when what was said is no longer there. */
  listen(ask: ListenAsk): Listening
  /** The head of its answer as far as it is known. */
  headers(): Record<string, string>
  /** The whole text, for the row of its key, once `last` is written next; undefined: it is not kept. */
  textWith(last: string): string | undefined
  /** Nothing was said yet. */
  silent(): boolean
  /** It broke off: `lastWords` for those who were told something, `reason` for the others. */
  fail(reason: GatewayError, lastWords: string): void
  /** What is kept elsewhere from now on need not be kept here: those who still read have what they need. */
  forget(): void
}

interface Listener {
  readonly client: ClientConnection
  /** Events that were written to it. */
  position: number
  /** It takes more later. */
  busy: boolean
  readonly done: PromiseWithResolvers<void>
  leaveRoster: () => void
  /** Nothing more is written to it. */
  over: boolean
}

interface StreamState {
  readonly graceMs: number
  readonly log: EventLog
  ended: boolean
  forgotten: boolean
  failure: GatewayError | undefined
  head: (() => Record<string, string>) | undefined
  /** As it was when the first event was said. */
  sealedHead: Record<string, string> | undefined
  readonly listeners: Roster<Listener>
  grace: NodeJS.Timeout | undefined
  left: boolean
  leave: (() => void) | undefined
  /** The pipeline waits until all have taken what was said. */
  taken: PromiseWithResolvers<void> | undefined
}

export function createKeptStream(input: KeptStreamInput): KeptStream {
  const log = createEventLog(input)
  const state: StreamState = {
    graceMs: input.graceMs,
    log,
    ended: false,
    forgotten: false,
    failure: undefined,
    head: undefined,
    sealedHead: undefined,
    listeners: createRoster(),
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
      throw new Error('a stream that is kept was answered as a whole')
    },
    listen: (ask) => listen(state, ask),
    headers: () => headOf(state),
    textWith: log.textWith,
    silent: () => log.count() === 0,
    fail: (reason, lastWords) => fail(state, reason, lastWords),
    forget() {
      state.forgotten = true
      releaseLog(state)
    },
  }
}

function headOf(state: StreamState): Record<string, string> {
  return state.sealedHead ?? state.head?.() ?? {}
}

/** @returns undefined, or what is to be awaited because nothing is kept, and a listener reads more slowly than we write. */
function write(state: StreamState, text: string): Promise<void> | undefined {
  if (state.ended) return undefined
  const { log, listeners } = state
  state.sealedHead ??= headOf(state)
  log.append(text)
  if (listeners.size > 0) for (const listener of listeners.items()) pump(state, listener)
  if (log.kept()) return undefined
  if (listeners.size === 0) leaveNow(state) // nobody can ever hear it
  if (dropTaken(state)) return undefined
  state.taken ??= Promise.withResolvers()
  return state.taken.promise
}

/** Writes what a listener has not had yet, as far as it takes it. */
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

/** Of a stream that is not kept, what all who listen were given. @returns whether all of them took it. */
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

function listen(state: StreamState, { client, after = 0, headers }: ListenAsk): Listening {
  if (!state.log.kept()) throw tooLarge()
  const count = state.log.count()
  const listener: Listener = {
    client,
    // The end of a stream is told also to who had it.
    position: Math.min(after, state.ended ? Math.max(0, count - 1) : count),
    busy: false,
    done: Promise.withResolvers(),
    leaveRoster: () => {},
    over: false,
  }
  listener.done.promise.catch(() => {}) // whoever awaits it may come to that later
  if (state.failure !== undefined) {
    listener.done.reject(state.failure)
    return { done: listener.done.promise, cut: () => {} }
  }
  clearTimeout(state.grace)
  listener.leaveRoster = state.listeners.add(listener)
  client.expectStream(() => headers(headOf(state)))
  client.onLeave(() => drop(state, listener))
  // It is sure to be a stream: who waits for more of it need not wait for its head.
  if (count > 0 && listener.position === count && !listener.over) client.write(NOTHING_NEW)
  pump(state, listener)
  return {
    done: listener.done.promise,
    cut(reason, lastWords) {
      tell(listener, reason, lastWords)
      drop(state, listener)
    },
  }
}

function tooLarge(): GatewayError {
  const message =
    'The stream with this Idempotency-Key is still running, but has become too large to be kept for others. ' +
    'To run it again, send it with a new key.'
  return new GatewayError('idempotency_result_too_large', message)
}

function tell({ client, done }: Listener, reason: GatewayError, lastWords: string): void {
  if (client.streaming()) {
    client.write(lastWords)
    client.endStream()
  } else {
    done.reject(reason)
  }
}

function finish(state: StreamState, listener: Listener): void {
  listener.client.endStream()
  drop(state, listener)
}

/** Nobody is there any more; the others notice nothing. */
function drop(state: StreamState, listener: Listener): void {
  if (listener.over) return
  listener.over = true
  listener.leaveRoster()
  listener.done.resolve()
  releaseLog(state)
  if (!state.log.kept()) dropTaken(state)
  if (state.listeners.size > 0 || state.ended) return
  const { graceMs } = state
  if (!state.log.kept() || graceMs <= 0) leaveNow(state)
  else state.grace = setTimeout(leaveNow, graceMs, state)
}

/** What is kept elsewhere, and nobody still reads here, is no longer counted. */
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

function fail(state: StreamState, reason: GatewayError, lastWords: string): void {
  if (state.ended) return
  if (state.log.count() > 0) {
    write(state, lastWords)
    end(state)
    return
  }
  state.failure = reason
  state.ended = true
  clearTimeout(state.grace)
  for (const listener of state.listeners.items()) {
    tell(listener, reason, lastWords)
    drop(state, listener)
  }
}
