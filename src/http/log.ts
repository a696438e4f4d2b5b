import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import type { GatewayError } from '../domain/errors.ts'
import { COMPLETION_CHANNEL, type CompletionSignal } from '../domain/signals.ts'

export type Log = Logger

/** Lines are gathered up to this size, and written at least once a second. */
const BUFFER_BYTES = 8 * 1024
const FLUSH_MS = 1_000

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
  const options = { level, base: null, timestamp: createTimestamp() }
  if (terminal) {
    const { prettyFactory } = await import('pino-pretty')
    const pretty = prettyFactory({ colorize: process.stdout.hasColors?.() === true, ignore: 'pid,hostname' })
    const stream: DestinationStream = { write: (line) => void process.stdout.write(pretty(JSON.parse(line))) }
    return { log: pino(options, stream), flush: () => Promise.resolve() }
  }
  const out = destination({ fd: 1, sync: false, minLength: BUFFER_BYTES })
  out.on('error', () => {}) // whoever read the log is gone; the service is not there for the log
  const timer = setInterval(() => out.flush(), FLUSH_MS)
  timer.unref()
  return { log: pino(options, out), flush: () => flushed(out) }
}

/** ISO 8601, written anew only when the millisecond has changed. */
function createTimestamp(): () => string {
  let lastMs = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== lastMs) {
      lastMs = now
      text = `,"time":"${new Date(now).toISOString()}"`
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

/** One line for each completion. @returns Ends it. */
export function logCompletions(log: Log): () => void {
  function write(message: unknown): void {
    if (!log.isLevelEnabled('info')) return
    const { record } = message as CompletionSignal
    const { id, accountId, keyId, model, provider, status, stream, promptTokens, completionTokens } = record
    const { usageSource, attempts, durationMs, firstByteMs } = record
    const costUsd = Number(record.costNanoUsd) / 1e9
    log.info(
      {
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
        costUsd,
        attempts,
        durationMs,
        firstByteMs,
      },
      'completion',
    )
  }
  subscribe(COMPLETION_CHANNEL, write)
  return () => void unsubscribe(COMPLETION_CHANNEL, write)
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
  else log.debug({ ...fields, param }, 'request refused')
}

function reasonOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined
  return cause.cause instanceof Error ? `${cause.message} (${cause.cause.message})` : cause.message
}
