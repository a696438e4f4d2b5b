/**
 * An event stream that follows what is written into the database: looks again and again, tells what is new, and ends with
 * its reader, with its listener's place, or when the credential is good no longer.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Right } from '../domain/caller.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Authenticate } from './caller.ts'
import { type HttpConnection, openConnection } from './connection.ts'
import type { Listener } from './listeners.ts'
import { type Log, logError } from './log.ts'

/** Asked of clients that lose the connection. */
const RECONNECT_AFTER_MS = 2_000
/** A server that stops has nothing to wait for when the stream is over. */
const HEAD = { connection: 'close' }

export interface StreamEvent {
  /** Undefined: it is no place to go on from. */
  readonly id: string | undefined
  readonly event: string
  /** One line. */
  readonly data: string
}

export interface Followed {
  /** What is new; none: nothing for now. */
  readonly read: () => Promise<readonly StreamEvent[]>
  /** Whether all was told that ever will be; asked when there is nothing new. */
  readonly isOver?: () => boolean
}

export interface FollowInput {
  readonly followed: Followed
  readonly listener: Listener
  /** Between two looks. */
  readonly lookEveryMs: number
  /** Asked again all the time: who is not let in any more hears nothing more. */
  readonly authenticate: Authenticate
  readonly scope: Right
  readonly log: Log
}

/** Answers the request, and gives the listener's place back. Rejects only before the stream has begun. */
export async function followEvents(request: FastifyRequest, reply: FastifyReply, input: FollowInput): Promise<void> {
  const { listener, log } = input
  const client = openConnection(reply)
  client.onLeave(listener.end)
  try {
    await follow(client, input, () => isAllowed(input, request))
  } catch (error) {
    if (!client.streaming()) throw error
    logError(log, GatewayError.from(error), request.id)
  } finally {
    listener.leave()
    if (client.streaming() && !client.over()) client.endStream()
    client.release()
  }
}

async function follow(
  client: HttpConnection,
  { followed, listener: { signal }, lookEveryMs }: FollowInput,
  allowed: () => Promise<boolean>,
): Promise<void> {
  client.expectStream(() => HEAD)
  await client.write(`retry: ${RECONNECT_AFTER_MS}\n\n`)
  while (!client.over() && !signal.aborted) {
    const events = await followed.read().catch(noneFromDatabase)
    if (events.length > 0) await client.write(events.map(renderBlock).join(''))
    else if (followed.isOver?.() === true) return
    else await pause(lookEveryMs, undefined, { signal }).catch(() => undefined)
    if (!(await allowed())) return
  }
}

/** A database that is away comes back; what happened meanwhile is told then. */
function noneFromDatabase(error: unknown): readonly StreamEvent[] {
  if (GatewayError.from(error).code === 'database_unavailable') return []
  throw error
}

function renderBlock({ id, event, data }: StreamEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`
}

async function isAllowed({ authenticate, scope }: FollowInput, request: FastifyRequest): Promise<boolean> {
  try {
    const { accountId, scopes } = await authenticate(request.headers.authorization, request.ip)
    return scopes.has(scope) && accountId === request.caller?.accountId
  } catch (error) {
    return GatewayError.from(error).retryable
  }
}
