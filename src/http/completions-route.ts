/** Serves `POST /completions`. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { type ApiRouteInput, completionRoute, wholeOrStream } from './chat-route.ts'
import { CHUNK, cost, FORWARDED_FIELDS, optional } from './wire-fields.ts'

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
