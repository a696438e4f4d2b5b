/** Streams of this process for the clients of others. It is no part of the interface, and no limit counts it. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import type { AccountId } from '../domain/ids.ts'
import { lastEventIdOf } from './chat-route.ts'
import { type HttpConnection, openConnection } from './connection.ts'
import {
  ACCOUNT_HEADER,
  ANOTHER_INSTANCE,
  INSTANCE_HEADER,
  isToken,
  RELAY_HEADER,
  RELAY_PATH,
  UNKNOWN_STREAM,
} from './relay-protocol.ts'

export interface RelayListener {
  readonly accountId: AccountId
  /** The completion's id. */
  readonly id: string
  readonly after: number | undefined
  readonly client: HttpConnection
}

export interface RelayRouteInput {
  readonly token: string
  /** Of this process. */
  readonly instanceId: string
  /**
   * Writes a stream to a client. Resolves when all is written or the client has left, rejects with what is to be its
   * status; undefined: there is no such stream.
   */
  readonly listen: (listener: RelayListener) => Promise<void> | undefined
}

export function relayRoute(app: FastifyInstance, { token, instanceId, listen }: RelayRouteInput): void {
  app.get(`${RELAY_PATH}:id`, { schema: { hide: true } }, async (request, reply) => {
    if (!isToken(request.headers.authorization, token)) throw new GatewayError('invalid_credential', 'Not for you.')
    if (request.headers[INSTANCE_HEADER] !== instanceId) return reply.code(ANOTHER_INSTANCE).send()
    const client = openConnection(reply)
    try {
      reply.header(RELAY_HEADER, 'answer')
      const heard = listen({ ...placeOf(request), after: lastEventIdOf(request), client })
      if (heard === undefined) return reply.removeHeader(RELAY_HEADER).code(UNKNOWN_STREAM).send()
      await heard
    } catch (error) {
      if (!client.over()) throw error
    } finally {
      client.release()
    }
    return reply
  })
}

function placeOf({ params, headers }: FastifyRequest): Pick<RelayListener, 'accountId' | 'id'> {
  const { id } = params as { readonly id: string } // the path has it
  const account = headers[ACCOUNT_HEADER]
  return { id, accountId: (typeof account === 'string' ? account : '') as AccountId } // nothing is found for what is none
}
