import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Caller } from '../domain/caller.ts'
import { callerOf } from './caller.ts'
import { ChatCompletion, ChatCompletionRequest } from './chat-schema.ts'
import { type HttpConnection, openConnection } from './connection.ts'

export interface ChatRouteInput {
  readonly bodyLimitBytes: number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Answers on `client`; rejects with `GatewayError` as long as nothing was written. */
  readonly complete: (
    incoming: { caller: Caller; body: unknown; clientRequestId: string | undefined; receivedAt: number },
    client: HttpConnection,
  ) => Promise<void>
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
          'chunks that ends with `data: [DONE]`; a failure after it began is an event with `error`, then `[DONE]`.',
        tags: ['Chat'],
        body: ChatCompletionRequest,
        response: { 200: ChatCompletion },
      },
    },
    async (request, reply) => {
      const receivedAt = clock()
      const client = openConnection(reply)
      try {
        const clientRequestId = clientRequestIdOf(request)
        await complete({ caller: callerOf(request), body: request.body, clientRequestId, receivedAt }, client)
      } catch (error) {
        if (!client.over()) throw error
      } finally {
        client.release()
      }
      return reply
    },
  )
}

/** `X-Client-Request-Id`: 1 to 128 characters of `[A-Za-z0-9._:-]`; anything else is ignored. */
function clientRequestIdOf({ headers }: FastifyRequest): string | undefined {
  const value = headers['x-client-request-id']
  return typeof value === 'string' && /^[\w.:-]{1,128}$/.test(value) ? value : undefined
}
