/** The internal endpoint from which other processes relay streams of this one. Not public, and not rate limited. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../domain/errors.ts'
import type { AccountId } from '../domain/ids.ts'
import {
  ACCOUNT_HEADER,
  ANOTHER_INSTANCE,
  INSTANCE_HEADER,
  isToken,
  RELAY_HEADER,
  RELAY_PATH,
  UNKNOWN_STREAM,
} from '../net/relay.ts'
import { lastEventIdOf } from './chat-route.ts'
import { type HttpConnection, openConnection } from './connection.ts'

interface RelayListener {
  readonly accountId: AccountId
  /** The ID of the completion. */
  readonly id: string
  readonly after: number | undefined
  readonly client: HttpConnection
}

export interface RelayRouteInput {
  readonly token: string
  /** The ID of this process. */
  readonly instanceId: string
  /**
   * Writes a stream to a client. Resolves when it is complete or the client disconnected, rejects with the error to send;
   * undefined: there is no such stream.
   */
  readonly listen: (listener: RelayListener) => Promise<void> | undefined
}

export function relayRoute(app: FastifyInstance, { token, instanceId, listen }: RelayRouteInput): void {
  app.get(`${RELAY_PATH}:id`, { schema: { hide: true } }, async (request, reply) => {
    if (!isToken(request.headers.authorization, token))
      throw new GatewayError('invalid_credential', 'This endpoint is internal.')
    if (request.headers[INSTANCE_HEADER] !== instanceId) return reply.code(ANOTHER_INSTANCE).send()
    const client = openConnection(reply)
    try {
      reply.header(RELAY_HEADER, 'answer')
      const relayed = listen({ ...streamOf(request), after: lastEventIdOf(request), client })
      if (relayed === undefined) return reply.removeHeader(RELAY_HEADER).code(UNKNOWN_STREAM).send()
      await relayed
    } catch (error) {
      if (!client.over()) throw error
    } finally {
      client.release()
    }
    return reply
  })
}

function streamOf({ params, headers }: FastifyRequest): Pick<RelayListener, 'accountId' | 'id'> {
  const { id } = params as { readonly id: string } // the path has it
  const account = headers[ACCOUNT_HEADER]
  return { id, accountId: (typeof account === 'string' ? account : '') as AccountId } // an unknown account has no streams
}
