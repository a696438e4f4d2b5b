/**
 * One call to one provider: renders, authorises and sends the request, and parses the answer up to its first event and
 * then on demand. It owns timeouts, size limits and aborts; it knows no retry, no client and no money.
 */
import type { ChatEvent, ChatRequest } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Model } from '../../domain/model.ts'
import { reach } from '../../lib/crash-point.ts'
import { createDecoder } from '../../protocols/framing.ts'
import { droppedNativeFields } from '../../protocols/parameters.ts'
import {
  type Frame,
  type FrameDecoder,
  ProviderError,
  type StreamParser,
  type UpstreamProtocol,
} from '../../protocols/protocol.ts'
import { protocolOf, type UpstreamExchange, type UpstreamHead } from '../../providers/provider.ts'
import { CUT_MESSAGE, failed, nameFailure, type TimeoutKind, TOO_LARGE_MESSAGE, UNFINISHED_MESSAGE } from './failure.ts'
import { discardBody, readBodyStart, readBodyText, type Target, type UpstreamTimeouts } from './transport.ts'

/** Joins base URL and path. A version at the end of the base URL and at the beginning of the path counts once. */
function joinUrl(baseUrl: string, path: string): string {
  const version = /^\/v\d\w*(?=\/)/.exec(path)?.[0]
  return version !== undefined && baseUrl.endsWith(version) ? baseUrl + path.slice(version.length) : baseUrl + path
}

/** The bytes of one event of a provider's stream. */
export const MAX_EVENT_BYTES = 1024 * 1024
/** The bytes of a whole answer, streamed or not. */
export const MAX_COMPLETION_BYTES = 64 * 1024 * 1024
/** The bytes of an error answer that are read. */
export const MAX_ERROR_BYTES = 64 * 1024

export interface CallInput {
  readonly target: Target
  readonly request: ChatRequest
  readonly model: Model
  readonly outputTokens?: number | undefined
  /** Unix milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Monotonic milliseconds of the request's arrival, from which the total timeout counts. Default: now. */
  readonly receivedAt?: number
  /** The trace context for the provider. Undefined if it receives none. */
  readonly traceHeaders?: Readonly<Record<string, string>> | undefined
  /** Called immediately before the first byte is sent. */
  readonly onSend?: () => void
  /** Called once when the call has ended. */
  readonly onOver?: (end: CallEnd) => void
}

/** The end of a call. An abandoned call is neither complete nor has a failure. */
export interface CallEnd {
  readonly complete: boolean
  readonly failure?: Error
}

/** A call in flight. `firstEvent` must be awaited before `next`. */
export interface Call {
  /** Resolves when the first event has arrived. Rejects with `ProviderError` if there will be none. */
  readonly firstEvent: Promise<void>
  /**
   * Moves the events of the next network read to `into`, the first ones at once.
   * @returns false at the end of a complete answer. Rejects with `ProviderError` when the answer breaks off.
   */
  next(into: ChatEvent[]): Promise<boolean>
  /** Moves the events that have arrived to `into`, without waiting for more. */
  arrived(into: ChatEvent[]): void
  /** Returns whether the answer has ended for its content, before any output; after `firstEvent`, before `next`. */
  blocked(): boolean
  /** Returns whether the whole answer has arrived. */
  complete(): boolean
  /** Pauses the idle timeout until the next `next`, because the reader is busy. */
  suspend(): void
  /** Ends the call at once, connection included. */
  abort(): void
  /** The names of parameters that were dropped or changed for this provider. */
  readonly warnings: readonly string[]
}

/** Starts a call. @throws GatewayError when the provider's protocol cannot express the request. */
export function startCall(input: CallInput): Call {
  const { target, request, outputTokens } = input
  const { provider, baseUrl, forwardUnknown } = target.upstream
  const { maxOutputTokens, price } = input.model
  const known = { model: target.model, maxOutputTokens, outputTokens, price, forwardUnknown }
  const protocol = protocolOf(provider, request)
  const lost = droppedNativeFields(request, protocol.id)
  const wire = protocol.renderRequest(request, known)
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: request.stream ? 'text/event-stream' : 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'turnpike',
    ...wire.headers,
  }
  if (input.traceHeaders !== undefined) Object.assign(headers, input.traceHeaders)
  const call = { url: joinUrl(baseUrl, wire.path), headers, body: wire.body }
  const open = (): UpstreamExchange => {
    const exchange = target.upstream.transport(call, input.onSend)
    reach('after_send')
    return exchange
  }
  const authorised = provider.authorize(call, target.credential)
  const state: CallState = { input, protocol, aborted: false, pending: [], finished: false, over: false }
  const firstEvent = authorised === undefined ? answer(state, open()) : answerLate(state, { authorised, open })
  return {
    firstEvent,
    next: (into) => nextEvents(state, into),
    arrived: (into) => takePending(state, into),
    blocked: () => isBlocked(state.pending),
    complete: () => state.finished && state.failure === undefined,
    suspend: () => state.deadline?.suspend(),
    abort: () => abort(state),
    warnings: lost.length === 0 ? wire.warnings : [...lost, ...wire.warnings],
  }
}

/**
 * Returns the names of the parameters that this target would not receive. `unsupported` if it cannot receive the
 * request at all.
 */
export function droppedParameters(
  { upstream, model }: Target,
  request: ChatRequest,
  { maxOutputTokens, price }: Pick<Model, 'maxOutputTokens' | 'price'>,
): readonly string[] {
  const protocol = protocolOf(upstream.provider, request)
  try {
    const lost = droppedNativeFields(request, protocol.id)
    const { warnings } = protocol.renderRequest(request, {
      model,
      maxOutputTokens,
      price,
      forwardUnknown: upstream.forwardUnknown,
    })
    return [...lost, ...warnings]
  } catch (error) {
    if (error instanceof GatewayError) return ['unsupported']
    throw error
  }
}

interface Opening {
  readonly authorised: Promise<void>
  readonly open: () => UpstreamExchange
}

/** Sends the request once the credential is available, unless the call was aborted meanwhile. */
async function answerLate(state: CallState, { authorised, open }: Opening): Promise<void> {
  try {
    await authorised
    if (state.aborted) throw failed('The call was aborted before it was sent.')
    await answer(state, open())
  } catch (error) {
    reportEnd(state, ABANDONED) // no effect if the call was sent and its end was reported
    throw error
  }
}

interface CallState {
  readonly input: CallInput
  readonly protocol: UpstreamProtocol
  exchange?: UpstreamExchange
  deadline?: Deadline
  stream?: StreamState
  /** A failure that arrived together with events, which are read first. */
  failure?: Error
  aborted: boolean
  /** The events that arrived with the first one. */
  pending: ChatEvent[]
  finished: boolean
  /** The end of the call was reported. */
  over: boolean
}

interface StreamState {
  readonly decoder: FrameDecoder
  readonly parser: StreamParser
  readonly frames: Frame[]
  bytesRead: number
}

async function answer(state: CallState, exchange: UpstreamExchange): Promise<void> {
  state.exchange = exchange
  if (state.aborted) abort(state)
  const { target, request, clock, receivedAt } = state.input
  const { timeouts } = target.upstream
  const { protocol } = state
  const onExpire = (): void => exchange.abort()
  state.deadline = startDeadline({ timeouts, whole: !request.stream, clock, receivedAt, onExpire })
  try {
    const head = await exchange.head
    if (isRefused(head)) await refuse(state, head, exchange)
    if (!request.stream) return takeWhole(state, await readBodyText(exchange, [], MAX_COMPLETION_BYTES))
    const first = isJson(head) ? await exchange.read() : undefined
    if (first !== undefined && startsAsJsonBytes(first))
      return takeWhole(state, await readBodyText(exchange, [first], MAX_COMPLETION_BYTES))
    const decoder = createDecoder(protocol.framing, { maxEventBytes: MAX_EVENT_BYTES })
    state.stream = { decoder, parser: protocol.streamParser(), frames: [], bytesRead: 0 }
    if (first !== undefined) consume(state, state.stream, { bytes: first, into: state.pending })
    await readBeginning(state)
  } catch (error) {
    state.failure = endInFailure(state, error)
    // Events of the same read are delivered first.
    if (!state.pending.some(isGenerated)) throw state.failure
  }
}

/** Reads until the answer has begun. Usage alone does not count: some providers send it first and then an error. */
async function readBeginning(state: CallState): Promise<void> {
  let hasBegun = state.pending.some(isGenerated)
  while (!state.finished && !hasBegun) {
    const events: ChatEvent[] = []
    try {
      await readEvents(state, events)
    } finally {
      for (const event of events) state.pending.push(event)
    }
    hasBegun = events.some(isGenerated)
  }
}

function isGenerated({ type }: ChatEvent): boolean {
  return type !== 'usage'
}

function isBlocked(events: readonly ChatEvent[]): boolean {
  return events.some(({ type }) => type === 'finish') && events.every(isWithoutOutput)
}

function isWithoutOutput(event: ChatEvent): boolean {
  if (event.type === 'finish') return event.reason === 'content_filter'
  if (event.type === 'native') return event.part === 'message'
  return event.type === 'usage' || ('text' in event && event.text === '')
}

async function nextEvents(state: CallState, into: ChatEvent[]): Promise<boolean> {
  if (state.pending.length > 0) {
    takePending(state, into)
    return true
  }
  if (state.failure !== undefined) throw state.failure
  if (state.finished) return false
  state.deadline?.resume()
  try {
    await readEvents(state, into)
  } catch (error) {
    state.failure = endInFailure(state, error)
    if (into.length === 0) throw state.failure
  }
  return into.length > 0
}

function takePending(state: CallState, into: ChatEvent[]): void {
  for (const event of state.pending) into.push(event)
  state.pending = []
}

/** Reads until there is an event or the end. One await for each network read. */
async function readEvents(state: CallState, into: ChatEvent[]): Promise<void> {
  const { exchange, stream } = state
  if (exchange === undefined || stream === undefined) return
  while (!state.finished && into.length === 0) {
    let bytes: Uint8Array | undefined
    try {
      bytes = await exchange.read()
    } catch (error) {
      endOfStream(state, into, error) // the parser decides whether the answer was complete
      return
    }
    if (bytes === undefined) endOfStream(state, into)
    else consume(state, stream, { bytes, into })
  }
}

function consume(state: CallState, stream: StreamState, read: { bytes: Uint8Array; into: ChatEvent[] }): void {
  const { decoder, parser, frames } = stream
  stream.bytesRead += read.bytes.length
  if (stream.bytesRead > MAX_COMPLETION_BYTES) throw failed(TOO_LARGE_MESSAGE)
  decoder.push(read.bytes, frames)
  if (frames.length > 0) state.deadline?.progress()
  for (const frame of frames) {
    if (!parser.push(frame, read.into)) continue
    endOfStream(state, read.into)
    if (state.exchange !== undefined) void discardBody(state.exchange)
    break
  }
  frames.length = 0
}

function endOfStream(state: CallState, into: ChatEvent[], cause?: unknown): void {
  const { stream, input } = state
  state.finished = true
  state.deadline?.clear()
  const residue = stream?.decoder.end() ?? ''
  if (cause === undefined && JSON_START.test(residue)) {
    // Some hosts break off with an error outside of the event format, even after a chunk that looked like the last.
    throw new ProviderError(state.protocol.parseError({ status: 200, headers: {}, body: residue }, input.now()))
  }
  try {
    stream?.parser.end(into)
  } catch (error) {
    throw cause === undefined ? error : failed(CUT_MESSAGE, cause)
  }
  reportEnd(state, COMPLETE)
}

/** @param body Undefined: it is too large. */
function takeWhole(state: CallState, body: string | undefined): void {
  if (body === undefined) throw failed(TOO_LARGE_MESSAGE)
  state.finished = true
  state.deadline?.clear()
  state.pending = state.protocol.parseResponse(body)
  if (!endsEveryChoice(state.pending)) throw failed(UNFINISHED_MESSAGE)
  reportEnd(state, COMPLETE)
}

async function refuse(state: CallState, head: UpstreamHead, exchange: UpstreamExchange): Promise<never> {
  if (isCompressed(head))
    throw failed('The provider sent a compressed answer, although `accept-encoding` is `identity`.')
  const body = await readBodyStart(exchange, MAX_ERROR_BYTES)
  const { protocol } = state
  throw new ProviderError(protocol.parseError({ status: head.status, headers: head.headers, body }, state.input.now()))
}

function abort(state: CallState): void {
  state.aborted = true
  state.deadline?.clear()
  state.exchange?.abort()
  reportEnd(state, ABANDONED)
}

const COMPLETE: CallEnd = { complete: true }
const ABANDONED: CallEnd = { complete: false }

function reportEnd(state: CallState, end: CallEnd): void {
  if (state.over) return
  state.over = true
  state.input.onOver?.(end)
}

function endInFailure(state: CallState, error: unknown): Error {
  const { credential } = state.input.target
  const failure = nameFailure(error, { expired: state.deadline?.expired(), credential })
  if (!state.aborted) reportEnd(state, { complete: false, failure })
  abort(state)
  return failure
}

/** Returns the kind of an answer by its first bytes: some hosts label JSON as event streams and the reverse. */
const JSON_START = /^\s*[{[]/

/** Returns whether the response head says JSON. Some hosts say so of event streams too, so the first bytes decide. */
function isJson(head: UpstreamHead): boolean {
  return (head.headers['content-type'] ?? '').startsWith('application/json')
}

function startsAsJsonBytes(bytes: Uint8Array): boolean {
  return JSON_START.test(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 64)).toString('latin1'))
}

function isCompressed({ headers }: UpstreamHead): boolean {
  const encoding = headers['content-encoding']
  return encoding !== undefined && encoding !== 'identity'
}

function isRefused(head: UpstreamHead): boolean {
  return head.status < 200 || head.status >= 300 || isCompressed(head)
}

/** Returns whether each choice of a whole answer has its finish reason. Without one it may be incomplete. */
function endsEveryChoice(events: readonly ChatEvent[]): boolean {
  const finished = new Set<number>()
  for (const event of events) if (event.type === 'finish') finished.add(event.index)
  return events.every((event) => event.type === 'usage' || finished.has(event.index))
}

export type Deadline = ReturnType<typeof startDeadline>

interface DeadlineOptions {
  readonly timeouts: UpstreamTimeouts
  /** The answer is not streamed: its first byte arrives when all of it is generated. */
  readonly whole?: boolean
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** The time from which the total timeout counts, so that earlier waits of the request are included. Default: now. */
  readonly receivedAt?: number | undefined
  readonly onExpire: (kind: TimeoutKind) => void
}

/**
 * The timeouts of one call, on one timer. Progress only records the time; a timer that fires early is set again for the
 * rest, because a timer for each data event would cost more than the event.
 */
export function startDeadline(options: DeadlineOptions) {
  const { timeouts, whole = false, clock, onExpire } = options
  let lastAt = clock()
  const endsAt = (options.receivedAt ?? lastAt) + timeouts.total
  let waitMs = whole ? timeouts.wholeAnswer : timeouts.firstByte
  let started = false
  let suspended = false
  let cleared = false
  let expired: TimeoutKind | undefined
  let timer = setTimeout(check, Math.min(endsAt - lastAt, waitMs))

  function check(): void {
    const now = clock()
    const total = endsAt - now
    const wait = suspended ? waitMs : lastAt + waitMs - now
    if (total > 0.5 && wait > 0.5) {
      timer = setTimeout(check, Math.min(total, wait))
      return
    }
    expired = total <= 0.5 ? 'total' : started ? 'idle' : 'first_byte'
    onExpire(expired)
  }

  return {
    /** Records a data event: ends the first-byte timeout and restarts the idle timeout. Comments do not count. */
    progress(): void {
      lastAt = clock()
      suspended = false
      if (started || cleared) return
      started = true
      waitMs = timeouts.idle
      clearTimeout(timer)
      check()
    },
    /** Suspends all but the total timeout until `resume` or progress, because the client reads slowly. */
    suspend(): void {
      suspended = true
    },
    /** Restarts the timeout after `suspend`; otherwise has no effect. */
    resume(): void {
      if (!suspended) return
      suspended = false
      lastAt = clock()
    },
    /** Ends all timeouts. */
    clear(): void {
      cleared = true
      clearTimeout(timer)
    },
    /** Returns the timeout that expired, if any. */
    expired: () => expired,
  }
}
