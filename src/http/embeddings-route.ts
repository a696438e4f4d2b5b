/** `POST /embeddings`. The gateway validates the body: it reports paths and codes better than a schema. */
import type { FastifyInstance } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { RouteApi } from './caller.ts'
import { answerCompletion, type ChatRouteInput } from './chat-route.ts'

export interface EmbeddingsRouteInput extends ChatRouteInput {
  readonly api: RouteApi
}

const opt = Type.Optional
/** Null means absent. */
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const tokenIds = Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1 })

export const EmbeddingsRequest = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      description: 'ID of an embedding model; GET /v1/models?kind=embedding lists them.',
    }),
    input: Type.Union(
      [Type.String(), Type.Array(Type.String(), { minItems: 1 }), tokenIds, Type.Array(tokenIds, { minItems: 1 })],
      { description: 'A text, several texts, or token IDs of one or several texts.' },
    ),
    dimensions: opt(
      orNull(Type.Integer({ minimum: 1, description: 'Length of the vectors, where the model can choose.' })),
    ),
    encoding_format: opt(
      orNull(
        Type.Union([Type.Literal('float'), Type.Literal('base64')], {
          description: 'Numbers (default), or base64 of 32-bit floats, little-endian.',
        }),
      ),
    ),
    user: opt(orNull(Type.String())),
  },
  {
    $id: 'EmbeddingsRequest',
    additionalProperties: true,
    examples: [{ model: 'text-embedding-3-small', input: 'Hello!' }],
    description: 'Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`.',
  },
)

export const Embeddings = Type.Object(
  {
    id: Type.String({ description: 'ID of the request at the gateway, as in the usage log.' }),
    object: Type.Literal('list'),
    model: Type.String({ description: 'Requested model ID.' }),
    data: Type.Array(
      Type.Object({
        object: Type.Literal('embedding'),
        index: Type.Integer({ description: 'Position of the input.' }),
        embedding: Type.Union([Type.Array(Type.Number()), Type.String()]),
      }),
    ),
    usage: Type.Object({
      prompt_tokens: Type.Integer(),
      total_tokens: Type.Integer(),
      cost: Type.Number({ description: 'USD, at most 9 decimals.' }),
    }),
  },
  { $id: 'Embeddings' },
)

export function embeddingsRoute(
  app: FastifyInstance,
  { bodyLimitBytes, api, ...answering }: EmbeddingsRouteInput,
): void {
  app.post(
    '/embeddings',
    {
      config: { scope: 'chat', bodyLimitBytes, isChat: true, api },
      validatorCompiler: () => () => true,
      schema: {
        summary: 'Create embeddings',
        description:
          'Returns one vector for each input. Requests are limited, held, charged and logged like chat completions. With an ' +
          '`Idempotency-Key` a repeat gets the answer of the first request, free of charge.',
        tags: ['Embeddings'],
        body: EmbeddingsRequest,
        response: { 200: Type.Ref('Embeddings') },
      },
    },
    (request, reply) => answerCompletion(request, reply, answering),
  )
}
