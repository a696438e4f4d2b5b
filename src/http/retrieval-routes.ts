/** Serves the endpoints of retrieval: `POST /embeddings` and `POST /rerank`. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { type ApiRouteInput, completionRoute } from './chat-route.ts'
import { count, FORWARDED_FIELDS, INPUT_USAGE, optional } from './wire-fields.ts'

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
    dimensions: optional(
      Type.Integer({ minimum: 1, description: 'Length of the vectors, where the model can choose.' }),
    ),
    encoding_format: optional(
      Type.Union([Type.Literal('float'), Type.Literal('base64')], {
        description: 'Numbers (default), or base64 of 32-bit floats, little-endian.',
      }),
    ),
    user: optional(Type.String()),
  },
  {
    $id: 'EmbeddingsRequest',
    additionalProperties: true,
    examples: [{ model: 'text-embedding-3-small', input: 'Hello!' }],
    description: FORWARDED_FIELDS,
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
    usage: INPUT_USAGE,
  },
  { $id: 'Embeddings' },
)

export function embeddingsRoute(app: FastifyInstance, input: ApiRouteInput): void {
  completionRoute(app, '/embeddings', input, {
    summary: 'Create embeddings',
    description:
      'Returns one vector for each input. Requests are limited, held, charged and logged like chat completions. With an ' +
      '`Idempotency-Key` a repeat gets the answer of the first request, free of charge.',
    tags: ['Embeddings'],
    body: EmbeddingsRequest,
    response: { 200: Type.Ref('Embeddings') },
  })
}

const text = Type.Object({ text: Type.String() }, { additionalProperties: true })

export const RerankRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'ID of a rerank model; GET /v1/models?kind=rerank lists them.' }),
    query: Type.String({ minLength: 1 }),
    documents: Type.Array(Type.Union([Type.String(), text]), { minItems: 1, description: 'Texts to rank.' }),
    top_n: optional(Type.Integer({ minimum: 1, description: 'Results to return, the best ones. Default: all.' })),
    return_documents: optional(Type.Boolean({ description: 'Whether results have the text of their documents.' })),
  },
  {
    $id: 'RerankRequest',
    additionalProperties: true,
    examples: [{ model: 'rerank-v3.5', query: 'What is a turnpike?', documents: ['A toll road.', 'A fish.'] }],
    description: FORWARDED_FIELDS,
  },
)

/** The path of Cohere's newer client, whose base URL has no version. */
const COHERE_V2 = '/v2/rerank'

export const Ranking = Type.Object(
  {
    id: Type.String({ description: 'ID of the request at the gateway, as in the usage log.' }),
    object: Type.Literal('list'),
    model: Type.String({ description: 'Requested model ID.' }),
    results: Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'Position in `documents`.' }),
        relevance_score: Type.Number(),
        document: Type.Optional(Type.Object({ text: Type.String() })),
      }),
      { description: 'The most relevant first.' },
    ),
    usage: INPUT_USAGE,
    meta: Type.Object({
      api_version: Type.Object({ version: Type.String() }),
      billed_units: Type.Object({ search_units: Type.Optional(count), input_tokens: Type.Optional(count) }),
    }),
  },
  { $id: 'Ranking' },
)

export function rerankRoute(app: FastifyInstance, input: ApiRouteInput): void {
  for (const path of app.prefix === '' ? ['/rerank', COHERE_V2] : ['/rerank']) {
    completionRoute(app, path, input, {
      summary: 'Rank documents',
      description:
        'Orders texts by their relevance to a query. Requests are limited, held, charged and logged like chat completions. ' +
        'With an `Idempotency-Key` a repeat gets the answer of the first request, free of charge.',
      tags: ['Rerank'],
      body: RerankRequest,
      response: { 200: Type.Ref('Ranking') },
    })
  }
}
