/**
 * Event streams of rows in the database: each polls for new rows, and ends with its client, at shutdown, or when its credential
 * loses access. The number of open streams is limited by account and process.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { GatewayError } from '../domain/errors.ts'
import type { Right } from '../domain/identity/caller.ts'
import type { AccountId } from '../domain/ids.ts'
import { type Log, logError } from '../telemetry/log.ts'
import { type Authenticate, authorizationOf } from './caller.ts'
import { type HttpConnection, openConnection } from './connection.ts'

const MAX_STREAMS_OF_ACCOUNT = 10
const MAX_STREAMS = 200
const RETRY_AFTER_MS = 5_000

export interface EventStreams {
  /** Throws 429 at the limit of the account, 503 at that of the process. */
  open(accountId: AccountId): EventStream
  /** Ends all streams and rejects new ones. */
  endAll(): void
}

export interface EventStream {
  /** Aborted when the stream must end. */
  readonly signal: AbortSignal
  end(): void
  /** Removes it from the count. */
  close(): void
}

export function createEventStreams(): EventStreams {
  const all = new Set<AbortController>()
  const counts = new Map<AccountId, number>()
  let closed = false
  return {
    open(accountId) {
      if (closed) throw new GatewayError('shutting_down', 'The gateway is shutting down; try again in 1 s.')
      const count = counts.get(accountId) ?? 0
      const wait = { retryAfterMs: RETRY_AFTER_MS }
      if (count >= MAX_STREAMS_OF_ACCOUNT) throw new GatewayError('rate_limit_exceeded', TOO_MANY_OF_ACCOUNT, wait)
      if (all.size >= MAX_STREAMS) throw new GatewayError('overloaded', TOO_MANY, wait)
      const controller = new AbortController()
      all.add(controller)
      counts.set(accountId, count + 1)
      return {
        signal: controller.signal,
        end: () => controller.abort(),
        close() {
          if (!all.delete(controller)) return
          const left = (counts.get(accountId) ?? 1) - 1
          if (left === 0) counts.delete(accountId)
          else counts.set(accountId, left)
        },
      }
    },
    endAll() {
      closed = true
      for (const controller of all) controller.abort()
    },
  }
}

const TOO_MANY_OF_ACCOUNT = `Too many open event streams (limit ${MAX_STREAMS_OF_ACCOUNT} per account); close one.`
const TOO_MANY = `Too many open event streams (limit ${MAX_STREAMS}).`

/** Sent as `retry`: how long clients wait before they reconnect. */
const RECONNECT_AFTER_MS = 2_000
/** A server that stops does not wait for the connection after the stream. */
const HEAD = { connection: 'close' }

/** The schema of one event. */
export const StreamEventView = Type.Object({
  id: Type.Optional(Type.String({ description: 'Resumes after it, as `Last-Event-ID`.' })),
  event: Type.String(),
  data: Type.String({ description: 'JSON.' }),
})

export interface StreamEvent {
  /** Undefined if a client cannot resume after the event. */
  readonly id: string | undefined
  readonly event: string
  /** The data, without line breaks. */
  readonly data: string
}

export interface EventSource {
  /** Reads the new events; none: nothing for now. */
  readonly read: () => Promise<readonly StreamEvent[]>
  /** Returns whether there will be no more events. Called when no event is available. */
  readonly isOver?: () => boolean
}

export interface EventStreamDeps {
  readonly listeners: EventStreams
  /** Called after each poll: a credential that lost access ends the stream. */
  readonly authenticate: Authenticate
  readonly log: Log
}

interface EventStreamInput extends EventStreamDeps {
  readonly accountId: AccountId
  readonly source: EventSource
  readonly pollIntervalMs: number
  readonly scope: Right
}

/**
 * Responds with the stream and closes it. Rejects only before its first byte.
 * @returns The reply, for the handler to return.
 */
export async function streamEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  input: EventStreamInput,
): Promise<FastifyReply> {
  const { listeners, accountId, log } = input
  const stream = listeners.open(accountId)
  const client = openConnection(reply)
  client.onLeave(stream.end)
  try {
    await poll(client, { ...input, signal: stream.signal }, () => isAllowed(input, request))
  } catch (error) {
    if (!client.streaming()) throw error
    logError(log, GatewayError.from(error), { id: request.id, traceId: request.trace?.context.traceId })
  } finally {
    stream.close()
    if (client.streaming() && !client.over()) client.endStream()
    client.release()
  }
  return reply
}

async function poll(
  client: HttpConnection,
  { source, signal, pollIntervalMs }: EventStreamInput & Pick<EventStream, 'signal'>,
  allowed: () => Promise<boolean>,
): Promise<void> {
  client.expectStream(() => HEAD)
  await client.write(`retry: ${RECONNECT_AFTER_MS}\n\n`)
  while (!client.over() && !signal.aborted) {
    const events = await source.read().catch(noneFromDatabase)
    if (events.length > 0) await client.write(events.map(renderBlock).join(''))
    else if (source.isOver?.() === true) return
    else await pause(pollIntervalMs, undefined, { signal }).catch(() => undefined)
    if (!(await allowed())) return
  }
}

/** Retries while the database is unavailable. */
function noneFromDatabase(error: unknown): readonly StreamEvent[] {
  if (GatewayError.from(error).code === 'database_unavailable') return []
  throw error
}

function renderBlock({ id, event, data }: StreamEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`
}

async function isAllowed(
  { authenticate, accountId, scope }: EventStreamInput,
  request: FastifyRequest,
): Promise<boolean> {
  try {
    const caller = await authenticate(authorizationOf(request), request.ip)
    return caller.scopes.has(scope) && caller.accountId === accountId
  } catch (error) {
    return GatewayError.from(error).retryable
  }
}
