/** Serves `POST /messages`: Anthropic's Messages API, and its token counts. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { isRecord } from '../lib/json.ts'
import { type ApiRouteInput, completionRoute, tokenCountRoute, wholeOrStream } from './chat-route.ts'
import { StreamEventView } from './event-stream.ts'
import { cost, count, optional, optionalObject } from './wire-fields.ts'

const block = Type.Object({ type: Type.String() }, { additionalProperties: true })
const content = Type.Union([Type.String(), Type.Array(block)], { description: 'A text, or content blocks.' })

export const MessagesRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'Model ID; GET /v1/models lists them.' }),
    messages: Type.Array(
      Type.Object(
        { role: Type.Union(['user', 'assistant', 'system'].map((role) => Type.Literal(role))), content },
        { additionalProperties: true },
      ),
      { minItems: 1 },
    ),
    max_tokens: Type.Integer({ minimum: 1, description: 'Most tokens in the answer.' }),
    system: optional(content),
    stream: optional(Type.Boolean({ default: false })),
    temperature: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_k: optional(Type.Integer({ minimum: 0 })),
    stop_sequences: optional(Type.Array(Type.String())),
    tools: optional(Type.Array(Type.Unknown(), { maxItems: 128 })),
    tool_choice: optionalObject('`type` is auto, any, tool or none.'),
    thinking: optionalObject('`type` is enabled (with `budget_tokens`), adaptive or disabled.'),
    output_config: optionalObject('`effort`, and `format` of a structured answer.'),
    metadata: optional(Type.Object({ user_id: optional(Type.String()) }, { additionalProperties: true })),
    service_tier: optional(Type.String()),
  },
  {
    $id: 'MessagesRequest',
    additionalProperties: true,
    examples: [{ model: 'turnpike-simulator', max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] }],
    description: 'Other fields are named in `x-turnpike-warnings`.',
  },
)

export const Message = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('message'),
    role: Type.Literal('assistant'),
    model: Type.String({ description: 'The model ID of the request.' }),
    content: Type.Array(block, { description: 'Blocks: text, thinking, redacted_thinking, tool_use.' }),
    stop_reason: Type.String({ description: 'end_turn, max_tokens, stop_sequence, tool_use, refusal, …' }),
    stop_sequence: Type.Union([Type.String(), Type.Null()]),
    usage: Type.Object(
      {
        input_tokens: Type.Integer({ minimum: 0, description: 'Without those read from a cache or written to it.' }),
        cache_creation_input_tokens: count,
        cache_read_input_tokens: count,
        output_tokens: count,
        cost,
      },
      { additionalProperties: true },
    ),
  },
  { $id: 'Message' },
)

export const MessagesError = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object(
      {
        type: Type.String({ description: 'As in that API: `invalid_request_error`, `overloaded_error`, …' }),
        message: Type.String({ description: 'For people; may change.' }),
        code: Type.String({ description: 'More exact than type.' }),
      },
      { additionalProperties: true },
    ),
    request_id: Type.String(),
  },
  { $id: 'MessagesError' },
)

export function messagesRoute(app: FastifyInstance, input: ApiRouteInput): void {
  const errors = { '4xx': Type.Ref('MessagesError'), '5xx': Type.Ref('MessagesError') }
  completionRoute(app, '/messages', input, {
    summary: 'Create a message',
    description:
      "Anthropic's Messages API over the models of every provider. The key may be sent as `x-api-key`. With `stream: " +
      'true` the answer is an event stream from `message_start` to `message_stop`; a failure after it began is an ' +
      '`error` event, and no `message_stop` follows it. Errors have the shape of that API.',
    tags: ['Messages'],
    body: MessagesRequest,
    response: { 200: wholeOrStream('The message', 'Message', StreamEventView), ...errors },
  })
  tokenCountRoute(app, '/messages/count_tokens', input, {
    schema: {
      summary: 'Count the tokens of a message',
      tags: ['Messages'],
      body: Type.Omit(MessagesRequest, ['max_tokens'], { $id: 'CountTokensRequest' }),
      response: { 200: Type.Object({ input_tokens: count }), ...errors },
    },
    complete: (body) => (isRecord(body) ? { max_tokens: 1, ...body } : body),
    render: (tokens) => ({ input_tokens: tokens }),
  })
}
