/** `POST /completions`. The gateway validates the body: it reports paths and codes better than a schema. */
import type { FastifyInstance } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { RouteApi } from './caller.ts'
import { answerCompletion, type ChatRouteInput } from './chat-route.ts'

export interface CompletionsRouteInput extends ChatRouteInput {
  readonly api: RouteApi
}

const opt = Type.Optional
/** Null means absent. */
const orNull = <Schema extends TSchema>(schema: Schema) => opt(Type.Union([schema, Type.Null()]))

export const CompletionsRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'ID of a chat model; GET /v1/models lists them.' }),
    prompt: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: 1 })]),
    suffix: orNull(Type.String({ description: 'Text after the completion. 422 on providers that cannot fill in.' })),
    max_tokens: orNull(Type.Integer({ minimum: 1, default: 16, description: 'Most tokens of the completion.' })),
    temperature: orNull(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: orNull(Type.Number({ minimum: 0, maximum: 1 })),
    n: orNull(Type.Integer({ minimum: 1, maximum: 16, default: 1 })),
    stop: orNull(Type.Union([Type.String(), Type.Array(Type.String())])),
    stream: orNull(Type.Boolean({ default: false })),
    seed: orNull(Type.Integer()),
    user: orNull(Type.String()),
  },
  {
    $id: 'CompletionsRequest',
    additionalProperties: true,
    examples: [{ model: 'turnpike-simulator', prompt: 'Hello!' }],
    description: 'Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`.',
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
      {
        prompt_tokens: Type.Integer(),
        completion_tokens: Type.Integer(),
        total_tokens: Type.Integer(),
        cost: Type.Number({ description: 'USD, at most 9 decimals.' }),
      },
      { additionalProperties: true },
    ),
  },
  { $id: 'TextCompletion' },
)

const ChunkView = Type.Object(
  { data: Type.String({ description: 'A chunk as JSON.' }) },
  { description: 'Chunks, then `data: [DONE]`.' },
)

export function completionsRoute(
  app: FastifyInstance,
  { bodyLimitBytes, api, ...answering }: CompletionsRouteInput,
): void {
  app.post(
    '/completions',
    {
      config: { scope: 'chat', bodyLimitBytes, isChat: true, api },
      validatorCompiler: () => () => true,
      schema: {
        summary: 'Create a legacy completion',
        description:
          'Continues a prompt, or fills in before `suffix`. Providers that have such an endpoint get it as it is; on others ' +
          'the prompt becomes the message of a user. With `stream: true` the response is an event stream of chunks that ends ' +
          'with `data: [DONE]`.',
        tags: ['Completions'],
        body: CompletionsRequest,
        response: {
          200: {
            description: 'The completion; with `stream: true` an event stream.',
            content: {
              'application/json': { schema: Type.Ref('TextCompletion') },
              'text/event-stream': { schema: ChunkView },
            },
          },
        },
      },
    },
    (request, reply) => answerCompletion(request, reply, answering),
  )
}
