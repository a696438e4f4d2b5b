/** `POST /rerank`. The gateway validates the body: it reports paths and codes better than a schema. */
import type { FastifyInstance } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { RouteApi } from './caller.ts'
import { answerCompletion, type ChatRouteInput } from './chat-route.ts'

export interface RerankRouteInput extends ChatRouteInput {
  readonly api: RouteApi
}

const opt = Type.Optional
/** Null means absent. */
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const text = Type.Object({ text: Type.String() }, { additionalProperties: true })

export const RerankRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'ID of a rerank model; GET /v1/models?kind=rerank lists them.' }),
    query: Type.String({ minLength: 1 }),
    documents: Type.Array(Type.Union([Type.String(), text]), { minItems: 1, description: 'Texts to rank.' }),
    top_n: opt(orNull(Type.Integer({ minimum: 1, description: 'Results to return, the best ones. Default: all.' }))),
    return_documents: opt(orNull(Type.Boolean({ description: 'Whether results have the text of their documents.' }))),
  },
  {
    $id: 'RerankRequest',
    additionalProperties: true,
    examples: [{ model: 'rerank-v3.5', query: 'What is a turnpike?', documents: ['A toll road.', 'A fish.'] }],
    description: 'Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`.',
  },
)

/** The path of Cohere's newer client, whose base URL has no version. */
const COHERE_V2 = '/v2/rerank'

const optionalCount = opt(Type.Integer({ minimum: 0 }))

export const Ranking = Type.Object(
  {
    id: Type.String({ description: 'ID of the request at the gateway, as in the usage log.' }),
    object: Type.Literal('list'),
    model: Type.String({ description: 'Requested model ID.' }),
    results: Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'Position in `documents`.' }),
        relevance_score: Type.Number(),
        document: opt(Type.Object({ text: Type.String() })),
      }),
      { description: 'The most relevant first.' },
    ),
    usage: Type.Object({
      prompt_tokens: Type.Integer(),
      total_tokens: Type.Integer(),
      cost: Type.Number({ description: 'USD, at most 9 decimals.' }),
    }),
    meta: Type.Object({
      api_version: Type.Object({ version: Type.String() }),
      billed_units: Type.Object({ search_units: optionalCount, input_tokens: optionalCount }),
    }),
  },
  { $id: 'Ranking' },
)

export function rerankRoute(app: FastifyInstance, { bodyLimitBytes, api, ...answering }: RerankRouteInput): void {
  const options = {
    config: { scope: 'chat', bodyLimitBytes, isChat: true, api },
    validatorCompiler: () => () => true,
    schema: {
      summary: 'Rank documents',
      description:
        'Orders texts by their relevance to a query. Requests are limited, held, charged and logged like chat completions. ' +
        'With an `Idempotency-Key` a repeat gets the answer of the first request, free of charge.',
      tags: ['Rerank'],
      body: RerankRequest,
      response: { 200: Type.Ref('Ranking') },
    },
  } as const
  const paths = app.prefix === '' ? ['/rerank', COHERE_V2] : ['/rerank']
  for (const path of paths) app.post(path, options, (request, reply) => answerCompletion(request, reply, answering))
}
