/** The log: JSON lines written off the request path, one line per completion, errors, and warnings of impossible usage. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type DestinationStream, destination, type Logger, levels, pino } from 'pino'
import {
  boundedAttempts,
  COMPLETION_CHANNEL,
  type CompletionSignal,
  type CompletionStatus,
} from '../domain/completion.ts'
import type { GatewayError } from '../domain/errors.ts'
import { isRecord } from '../lib/json.ts'

export type Log = Logger

/** Lines are buffered up to this size and flushed once a second: each write wakes another thread. */
const BUFFER_BYTES = 64 * 1024
const FLUSH_MS = 1_000
/** Unread bytes beyond which lines are dropped. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/** Linux does not mix writes of several processes to a pipe up to this size (`PIPE_BUF`). */
const ATOMIC_WRITE_BYTES = 4096

export type LogFormat = 'json' | 'ecs'

interface LogOptions {
  readonly level: string
  /** Of lines that are not for a terminal. Default: `json`. */
  readonly format?: LogFormat
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
export async function openLog({ level, format, terminal, processNumber }: LogOptions): Promise<OpenedLog> {
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
  const writeLine = (line: string): void => void out.write(Buffer.from(line) as unknown as string)
  const stream: DestinationStream = { write: format === 'ecs' ? (line) => writeLine(ecsLine(line)) : writeLine }
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
  const fields = { requestId, ...traceField(traceId), code, status }
  if (status === 500) log.error({ ...fields, message, err: cause ?? error }, 'request failed')
  else if (status > 500) log.warn({ ...fields, message, reason: reasonOf(cause) }, 'request failed')
  else log.debug({ ...fields, param: param !== undefined && FIELD.test(param) ? param : undefined }, 'request rejected')
}

/** Returns the field that every line of a traced request has. */
export function traceField(traceId: string | undefined): { readonly trace_id?: string } {
  return traceId === undefined ? {} : { trace_id: traceId }
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
    const { record, reported, trace } = message as CompletionSignal
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
    log.warn(
      { ...fields, ...traceField(trace?.traceId) },
      'a provider reported usage outside the possible range of the request',
    )
    known.count = 0
    known.warnedAt = clock()
  }
  subscribe(COMPLETION_CHANNEL, note)
  return () => void unsubscribe(COMPLETION_CHANNEL, note)
}

/* The names of the Elastic Common Schema (ECS), for the lines on stdout. */

const ECS_VERSION = '8.11.0'

/** Field of a line → field of ECS. Fields without one become those of `turnpike`. */
const ECS_NAMES: ReadonlyMap<string, string> = new Map([
  ['time', '@timestamp'],
  ['msg', 'message'],
  ['trace_id', 'trace.id'],
  ['requestId', 'http.request.id'],
  ['code', 'error.code'],
  ['message', 'error.message'],
  ['reason', 'event.reason'],
  ['id', 'event.id'],
  ['accountId', 'organization.id'],
  ['keyId', 'user.id'],
  ['model', 'gen_ai.request.model'],
  ['provider', 'service.target.name'],
  ['promptTokens', 'gen_ai.usage.input_tokens'],
  ['completionTokens', 'gen_ai.usage.output_tokens'],
])

const ECS_OUTCOMES: Readonly<Record<CompletionStatus, string>> = {
  completed: 'success',
  failed: 'failure',
  incomplete: 'failure',
  client_left: 'unknown',
}

/** Renames the fields of a line. */
export function ecsLine(line: string): string {
  const fields = JSON.parse(line) as Readonly<Record<string, unknown>> // as `pino` and `completionLine` write it
  const renamed = Object.entries(fields).flatMap(([name, value]) => Object.entries(ecsFields(name, value)))
  // The standard asks for these first.
  const { '@timestamp': time, 'log.level': level, message, ...others } = Object.fromEntries(renamed)
  const first = { '@timestamp': time, 'log.level': level, message, 'ecs.version': ECS_VERSION }
  return `${JSON.stringify({ ...first, ...others })}\n`
}

function ecsFields(name: string, value: unknown): Readonly<Record<string, unknown>> {
  const ecsName = ECS_NAMES.get(name)
  if (ecsName !== undefined) return { [ecsName]: value }
  if (name === 'level') return { 'log.level': levels.labels[Number(value)] }
  if (name === 'durationMs') return { 'event.duration': Math.round(Number(value) * 1e6) }
  if (name === 'status' && typeof value === 'number') return { 'http.response.status_code': value }
  if (name === 'status') return { 'event.outcome': ECS_OUTCOMES[value as CompletionStatus], 'turnpike.status': value }
  if (name !== 'err' || !isRecord(value)) return { [`turnpike.${name}`]: value }
  return { 'error.type': value['type'], 'error.message': value['message'], 'error.stack_trace': value['stack'] }
}
