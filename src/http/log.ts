import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import { boundedAttempts } from '../domain/attempt-log.ts'
import type { GatewayError } from '../domain/errors.ts'
import { COMPLETION_CHANNEL, type CompletionSignal } from '../domain/signals.ts'

export type Log = Logger

/** Lines are gathered up to this size, and written at least once a second: each write wakes another thread. */
const BUFFER_BYTES = 64 * 1024
const FLUSH_MS = 1_000
/** Where whoever reads the log has stopped reading: more lines are dropped. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

export interface OpenedLog {
  readonly log: Log
  /** Writes what is gathered. Resolves within a second, also when nobody reads the log any more. */
  flush(): Promise<void>
}

/**
 * JSON lines on stdout, written off the request path; readable lines on a terminal.
 * Only fields that are named are logged: no header, no body, no credential. Of a provider's failure there are the
 * provider's own words, as its protocol has cleaned them.
 */
export async function openLog({ level, terminal }: { level: string; terminal: boolean }): Promise<OpenedLog> {
  if (terminal) {
    const { prettyFactory } = await import('pino-pretty')
    const pretty = prettyFactory({ colorize: process.stdout.hasColors?.() === true, ignore: 'pid,hostname' })
    const stream: DestinationStream = { write: (line) => void process.stdout.write(pretty(JSON.parse(line))) }
    return { log: logTo(stream, level), flush: () => Promise.resolve() }
  }
  // As texts, the lines that wait would be joined and measured anew with every line.
  const out = destination({
    fd: 1,
    sync: false,
    minLength: BUFFER_BYTES,
    maxLength: MAX_UNREAD_BYTES,
    maxWrite: 2 * BUFFER_BYTES,
    contentMode: 'buffer',
  })
  out.on('error', () => {}) // whoever read the log is gone; the service is not there for the log
  const timer = setInterval(() => out.flush(), FLUSH_MS)
  timer.unref()
  // With this mode it takes bytes, which its types do not know.
  const stream: DestinationStream = { write: (line) => void out.write(Buffer.from(line) as unknown as string) }
  return { log: logTo(stream, level), flush: () => flushed(out) }
}

interface Sink {
  readonly stream: DestinationStream
  /** The time now, as ISO 8601. */
  readonly time: () => string
}

/** What stands behind each log, for lines that are not written by way of `pino`. */
const sinks = new WeakMap<Log, Sink>()

function logTo(stream: DestinationStream, level: string): Log {
  const time = createIsoClock()
  const log = pino({ level, base: null, timestamp: () => `,"time":"${time()}"` }, stream)
  sinks.set(log, { stream, time })
  return log
}

/** Text that is made anew only when the millisecond has changed. */
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

/** The number of `info` in `pino`'s lines. */
const INFO = 30

/** One line for each completion. @returns Ends it. */
export function logCompletions(log: Log): () => void {
  const sink = sinks.get(log)
  if (sink === undefined) throw new Error('completions are logged to a log that was not opened here')
  const { stream, time } = sink
  function write(message: unknown): void {
    if (log.isLevelEnabled('info')) stream.write(completionLine(message as CompletionSignal, time()))
  }
  subscribe(COMPLETION_CHANNEL, write)
  return () => void unsubscribe(COMPLETION_CHANNEL, write)
}

/** As `pino` would write it, at a tenth of the cost and of the garbage: there is one for every request. */
function completionLine({ record }: CompletionSignal, time: string): string {
  const { id, accountId, keyId, model, provider, status, stream, promptTokens, completionTokens } = record
  const { usageSource, attempts, attemptLog, durationMs, firstByteMs } = record
  const line = {
    level: INFO,
    time,
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
    msg: 'completion',
  }
  return `${JSON.stringify(line)}\n`
}

/**
 * Our own faults as errors with their cause, what providers did as warnings, what clients did only when asked for, and
 * then without the message, which may quote what they sent.
 */
export function logError(log: Log, error: GatewayError, requestId: string): void {
  const { code, status, message, param, cause } = error
  const fields = { requestId, code, status }
  if (status === 500) log.error({ ...fields, message, err: cause ?? error }, 'request failed')
  else if (status > 500) log.warn({ ...fields, message, reason: reasonOf(cause) }, 'request failed')
  else log.debug({ ...fields, param: param !== undefined && FIELD.test(param) ? param : undefined }, 'request refused')
}

/** What our own fields are called. Of an unknown field the client chose the name, and it may be anything. */
const FIELD = /^[a-z_-]{1,40}(\[\d+\]|\.[a-z_-]{1,40})*$/

function reasonOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined
  return cause.cause instanceof Error ? `${cause.message} (${cause.cause.message})` : cause.message
}
