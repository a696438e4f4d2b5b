/** The log: JSON lines written off the request path, one line per completion, errors, and warnings of impossible usage. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import { boundedAttempts, COMPLETION_CHANNEL, type CompletionSignal } from '../domain/completion.ts'
import type { GatewayError } from '../domain/errors.ts'

export type Log = Logger

/** Lines are buffered up to this size and flushed once a second: each write wakes another thread. */
const BUFFER_BYTES = 64 * 1024
const FLUSH_MS = 1_000
/** Unread bytes beyond which lines are dropped. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/** Linux does not mix writes of several processes to a pipe up to this size (`PIPE_BUF`). */
const ATOMIC_WRITE_BYTES = 4096

interface LogOptions {
  readonly level: string
  readonly terminal: boolean
  /** The number that every line has. Undefined if no other process writes to the same output. */
  readonly processNumber?: number | undefined
}

export interface OpenedLog {
  readonly log: Log
  /** Flushes the buffer. Resolves within a second, also when nobody reads the log. */
  flush(): Promise<void>
}

/**
 * Opens the log: JSON lines on stdout, readable lines on a terminal. Only named fields are logged: no header, body or
 * credential. Messages of providers are logged as their protocol has sanitized them.
 */
export async function openLog({ level, terminal, processNumber }: LogOptions): Promise<OpenedLog> {
  if (terminal) {
    const { prettyFactory } = await import('pino-pretty')
    const pretty = prettyFactory({ colorize: process.stdout.hasColors?.() === true, ignore: 'pid,hostname' })
    const stream: DestinationStream = { write: (line) => void process.stdout.write(pretty(JSON.parse(line))) }
    return { log: logTo(stream, level, processNumber), flush: () => Promise.resolve() }
  }
  // Buffered texts would be joined and measured with every line.
  const out = destination({
    fd: 1,
    sync: false,
    minLength: processNumber === undefined ? BUFFER_BYTES : ATOMIC_WRITE_BYTES - 1,
    maxLength: MAX_UNREAD_BYTES,
    maxWrite: processNumber === undefined ? 2 * BUFFER_BYTES : ATOMIC_WRITE_BYTES,
    contentMode: 'buffer',
  })
  out.on('error', () => {}) // the reader is gone; the service continues
  const timer = setInterval(() => out.flush(), FLUSH_MS)
  timer.unref()
  // This mode accepts bytes, which its types lack.
  const stream: DestinationStream = { write: (line) => void out.write(Buffer.from(line) as unknown as string) }
  return { log: logTo(stream, level, processNumber), flush: () => flushed(out) }
}

/** The destination of a log, for lines that bypass `pino` and for a second receiver. */
interface Sink {
  readonly stream: DestinationStream
  /** Returns the current time in ISO 8601. */
  readonly time: () => string
  readonly processNumber: number | undefined
  /** Also receives every line. Undefined without a second receiver. */
  forward: ((line: string) => void) | undefined
}
const sinks = new WeakMap<Log, Sink>()

function logTo(stream: DestinationStream, level: string, processNumber?: number): Log {
  const time = createIsoClock()
  const forwarding: DestinationStream = {
    write(line) {
      stream.write(line)
      sink.forward?.(line)
    },
  }
  const sink: Sink = { stream: forwarding, time, processNumber, forward: undefined }
  const base = processNumber === undefined ? null : { process: processNumber }
  const log = pino({ level, base, timestamp: () => `,"time":"${time()}"` }, forwarding)
  sinks.set(log, sink)
  return log
}

/** Also passes every line to `receive`, until the returned function is called. */
export function forwardLines(log: Log, receive: (line: string) => void): () => void {
  const sink = sinks.get(log)
  if (sink === undefined) return () => {}
  sink.forward = receive
  return () => {
    sink.forward = undefined
  }
}

/** Formats the time once per millisecond. */
function createIsoClock(): () => string {
  let lastMs = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== lastMs) {
      lastMs = now
      text = new Date(now).toISOString()
    }
    return text
  }
}

function flushed(out: ReturnType<typeof destination>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, FLUSH_MS)
    out.flush(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** `pino`'s level `info`. */
const INFO = 30

/**
 * Logs one line per completion.
 * @param sample Share of the completed ones, from 0 to 1; all others are logged.
 * @returns Unsubscribes.
 */
export function logCompletions(log: Log, sample = 1, random: () => number = Math.random): () => void {
  const sink = sinks.get(log)
  if (sink === undefined) throw new Error('logCompletions requires a log that openLog opened')
  const { stream, time, processNumber } = sink
  function write(message: unknown): void {
    if (!log.isLevelEnabled('info')) return
    const signal = message as CompletionSignal
    if (sample < 1 && signal.record.status === 'completed' && random() >= sample) return
    stream.write(completionLine(signal, time(), processNumber))
  }
  subscribe(COMPLETION_CHANNEL, write)
  return () => void unsubscribe(COMPLETION_CHANNEL, write)
}

/** Renders as `pino` would, at a tenth of its cost. */
function completionLine({ record, trace }: CompletionSignal, time: string, processNumber?: number): string {
  const { id, accountId, keyId, model, provider, status, stream, promptTokens, completionTokens } = record
  const { usageSource, attempts, attemptLog, durationMs, firstByteMs } = record
  const line = {
    level: INFO,
    time,
    process: processNumber,
    id,
    accountId,
    keyId,
    model,
    provider,
    status,
    stream,
    promptTokens,
    completionTokens,
    usageSource,
    costUsd: Number(record.costNanoUsd) / 1e9,
    attempts,
    attemptLog: attemptLog && boundedAttempts(attemptLog),
    durationMs,
    firstByteMs,
    trace_id: trace?.traceId,
    msg: 'completion',
  }
  return `${JSON.stringify(line)}\n`
}

/**
 * Logs internal errors with their cause, provider failures as warnings, and client errors at `debug`, without their message,
 * which may quote the request.
 */
export function logError(
  log: Log,
  error: GatewayError,
  { id: requestId, traceId }: { readonly id: string; readonly traceId?: string | undefined },
): void {
  const { code, status, message, param, cause } = error
  const fields = { requestId, ...(traceId !== undefined && { trace_id: traceId }), code, status }
  if (status === 500) log.error({ ...fields, message, err: cause ?? error }, 'request failed')
  else if (status > 500) log.warn({ ...fields, message, reason: reasonOf(cause) }, 'request failed')
  else log.debug({ ...fields, param: param !== undefined && FIELD.test(param) ? param : undefined }, 'request rejected')
}

/** Names of known fields. Clients choose the names of unknown ones. */
const FIELD = /^[a-z_-]{1,40}(\[\d+\]|\.[a-z_-]{1,40})*$/

function reasonOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined
  return cause.cause instanceof Error ? `${cause.message} (${cause.cause.message})` : cause.message
}

export const WARN_EVERY_MS = 60_000

/**
 * Warns once a minute per provider and model of reported usage outside the possible range.
 * @param clock Monotonic milliseconds.
 * @returns Unsubscribes.
 */
export function warnOfBoundedUsage(
  log: { warn(fields: object, message: string): void },
  clock = () => performance.now(),
): () => void {
  /** With the count since the last warning. Few: the operator configures providers and models. */
  const occurrences = new Map<string, { count: number; warnedAt: number }>()
  function note(message: unknown): void {
    const { record, reported } = message as CompletionSignal
    if (reported === undefined) return
    const { provider, model, promptTokens, completionTokens, id } = record
    const name = `${provider} ${model}`
    const known = occurrences.get(name) ?? { count: 0, warnedAt: Number.NEGATIVE_INFINITY }
    occurrences.set(name, known)
    known.count += 1
    if (clock() - known.warnedAt < WARN_EVERY_MS) return
    const charged = { promptTokens, completionTokens }
    const totals = { promptTokens: reported.promptTokens, completionTokens: reported.completionTokens }
    const fields = { provider, model, count: known.count, id, reported: totals, charged }
    log.warn(fields, 'a provider reported usage outside the possible range of the request')
    known.count = 0
    known.warnedAt = clock()
  }
  subscribe(COMPLETION_CHANNEL, note)
  return () => void unsubscribe(COMPLETION_CHANNEL, note)
}
