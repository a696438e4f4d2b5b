import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../domain/caller.ts'
import type { KeptAnswer } from '../domain/credit.ts'
import { callerOf } from './caller.ts'
import { ChatCompletion, ChatCompletionRequest } from './chat-schema.ts'
import { type HttpConnection, openConnection } from './connection.ts'
import { parseIdempotencyKey, parseLastEventId } from './idempotency-key.ts'

export interface ChatRouteInput {
  readonly bodyLimitBytes: number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /**
   * Answers on `client`; rejects with `GatewayError` as long as nothing was written.
   * @returns an answer that is to be sent as it is, where an earlier request had it already.
   */
  readonly complete: (incoming: ChatIncoming, client: HttpConnection) => Promise<KeptAnswer | undefined>
}

export interface ChatIncoming {
  readonly caller: Caller
  /** The parsed JSON body. */
  readonly body: unknown
  readonly requestId: string
  readonly clientRequestId: string | undefined
  readonly idempotencyKey: string | undefined
  /** The last event received of a stream with that key. */
  readonly lastEventId: number | undefined
  /** Monotonic milliseconds. */
  readonly receivedAt: number
}

/** `POST /chat/completions`. Its body is checked by the gateway, which names paths and codes better than a schema. */
export function chatRoute(app: FastifyInstance, { bodyLimitBytes, clock, complete }: ChatRouteInput): void {
  app.post(
    '/chat/completions',
    {
      config: { scope: 'chat', bodyLimitBytes },
      validatorCompiler: () => () => true,
      schema: {
        summary: 'Create a chat completion',
        description:
          'Routes the request to a provider by its model ID. With `stream: true` the answer is an event stream of ' +
          'chunks that ends with `data: [DONE]`; a failure after it began is an event with `error`, then `[DONE]`. With an ' +
          '`Idempotency-Key` a repeat gets the answer of the first, and costs nothing. Events of a stream then have an ' +
          '`id`; a repeat with `Last-Event-ID` gets those that follow it, also while the first still runs.',
        tags: ['Chat'],
        body: ChatCompletionRequest,
        response: { 200: ChatCompletion },
      },
    },
    async (request, reply) => {
      const receivedAt = clock()
      const client = openConnection(reply)
      try {
        const kept = await complete(incomingOf(request, receivedAt), client)
        if (kept !== undefined && !client.over()) sendKept(reply, kept)
      } catch (error) {
        if (!client.over()) throw error
      } finally {
        client.release()
      }
      return reply
    },
  )
}

function sendKept(reply: FastifyReply, { status, headers, body }: KeptAnswer): void {
  reply.code(status).headers(headers).send(body)
}

function incomingOf(request: FastifyRequest, receivedAt: number): ChatIncoming {
  const idempotencyKey = idempotencyKeyOf(request)
  return {
    caller: callerOf(request),
    body: request.body,
    requestId: request.id,
    clientRequestId: clientRequestIdOf(request),
    idempotencyKey,
    lastEventId: idempotencyKey === undefined ? undefined : lastEventIdOf(request),
    receivedAt,
  }
}

function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const value = headers['idempotency-key']
  return value === undefined ? undefined : parseIdempotencyKey(String(value))
}

/** Clients of event streams send it by themselves, so without a key it means nothing. */
export function lastEventIdOf({ headers }: FastifyRequest): number | undefined {
  const value = headers['last-event-id']
  return value === undefined ? undefined : parseLastEventId(String(value))
}

/** `X-Client-Request-Id`: 1 to 128 characters of `[A-Za-z0-9._:-]`; anything else is ignored. */
function clientRequestIdOf({ headers }: FastifyRequest): string | undefined {
  const value = headers['x-client-request-id']
  return typeof value === 'string' && /^[\w.:-]{1,128}$/.test(value) ? value : undefined
}
