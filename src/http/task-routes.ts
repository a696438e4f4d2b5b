/** Serves models that do not chat: `POST /completions`, `POST /embeddings` and `POST /rerank`. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { type ApiRouteInput, completionRoute, wholeOrStream } from './chat-route.ts'
import { CHUNK, cost, count, FORWARDED_FIELDS, INPUT_USAGE, optional } from './wire-fields.ts'

export const CompletionsRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'ID of a chat model; GET /v1/models lists them.' }),
    prompt: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: 1 })]),
    suffix: optional(Type.String({ description: 'Text after the completion. 422 on providers that cannot fill in.' })),
    max_tokens: optional(Type.Integer({ minimum: 1, default: 16, description: 'Most tokens of the completion.' })),
    temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    n: optional(Type.Integer({ minimum: 1, maximum: 16, default: 1 })),
    stop: optional(Type.Union([Type.String(), Type.Array(Type.String())])),
    stream: optional(Type.Boolean({ default: false })),
    seed: optional(Type.Integer()),
    user: optional(Type.String()),
  },
  {
    $id: 'CompletionsRequest',
    additionalProperties: true,
    examples: [{ model: 'turnpike-simulator', prompt: 'Hello!' }],
    description: FORWARDED_FIELDS,
  },
)

export const TextCompletion = Type.Object(
  {
    id: Type.String({ description: 'ID of the completion at the gateway, as in the usage log.' }),
    object: Type.Literal('text_completion'),
    created: Type.Integer({ description: 'Unix seconds.' }),
    model: Type.String({ description: 'Requested model ID.' }),
    choices: Type.Array(
      Type.Object({
        text: Type.String(),
        index: Type.Integer(),
        logprobs: Type.Null(),
        finish_reason: Type.Union(['stop', 'length', 'content_filter'].map((reason) => Type.Literal(reason))),
      }),
    ),
    usage: Type.Object(
      { prompt_tokens: Type.Integer(), completion_tokens: Type.Integer(), total_tokens: Type.Integer(), cost },
      { additionalProperties: true },
    ),
  },
  { $id: 'TextCompletion' },
)

export function completionsRoute(app: FastifyInstance, input: ApiRouteInput): void {
  completionRoute(app, '/completions', input, {
    summary: 'Create a legacy completion',
    description:
      'Continues a prompt, or fills in before `suffix`. Providers that have such an endpoint get it as it is; on others ' +
      'the prompt becomes the message of a user. With `stream: true` the response is an event stream of chunks that ends ' +
      'with `data: [DONE]`.',
    tags: ['Completions'],
    body: CompletionsRequest,
    response: { 200: wholeOrStream('The completion', 'TextCompletion', CHUNK) },
  })
}

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
