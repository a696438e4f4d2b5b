/** `POST /messages`: Anthropic's Messages API. Its body is checked by the gateway, which names paths better than a schema. */
import type { FastifyInstance } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { Caller } from '../domain/identity/caller.ts'
import type { BodyFindings } from '../domain/json-body.ts'
import { isRecord } from '../lib/json.ts'
import { callerOf, type RouteApi } from './caller.ts'
import { answerCompletion, type ChatRouteInput } from './chat-route.ts'
import { StreamEventView } from './event-stream.ts'

export interface MessagesRouteInput extends ChatRouteInput {
  readonly api: RouteApi
  /** The tokens of a prompt. */
  readonly countTokens: (caller: Caller, body: unknown, findings: BodyFindings | undefined) => Promise<number>
}

const block = Type.Object({ type: Type.String() }, { additionalProperties: true })
const content = Type.Union([Type.String(), Type.Array(block)], { description: 'A text, or content blocks.' })
const opt = Type.Optional
/** Null means absent. */
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const fields = (description: string) =>
  Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], { description })

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
    system: opt(orNull(content)),
    stream: opt(orNull(Type.Boolean({ default: false }))),
    temperature: opt(orNull(Type.Number({ minimum: 0, maximum: 1 }))),
    top_p: opt(orNull(Type.Number({ minimum: 0, maximum: 1 }))),
    top_k: opt(orNull(Type.Integer({ minimum: 0 }))),
    stop_sequences: opt(orNull(Type.Array(Type.String()))),
    tools: opt(orNull(Type.Array(Type.Unknown(), { maxItems: 128 }))),
    tool_choice: opt(fields('`type` is auto, any, tool or none.')),
    thinking: opt(fields('`type` is enabled (with `budget_tokens`), adaptive or disabled.')),
    output_config: opt(fields('`effort`, and `format` of a structured answer.')),
    metadata: opt(orNull(Type.Object({ user_id: opt(orNull(Type.String())) }, { additionalProperties: true }))),
    service_tier: opt(orNull(Type.String())),
  },
  {
    $id: 'MessagesRequest',
    additionalProperties: true,
    examples: [{ model: 'turnpike-simulator', max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] }],
    description: 'Other fields are named in `x-turnpike-warnings`.',
  },
)

const count = Type.Integer({ minimum: 0 })
const TokenCount = Type.Object({ input_tokens: count })

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
        cost: Type.Number({ description: 'USD, at most 9 decimals.' }),
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

export function messagesRoute(
  app: FastifyInstance,
  { bodyLimitBytes, api, countTokens, ...answering }: MessagesRouteInput,
): void {
  app.post(
    '/messages',
    {
      config: { scope: 'chat', bodyLimitBytes, isChat: true, api },
      validatorCompiler: () => () => true,
      schema: {
        summary: 'Create a message',
        description:
          "Anthropic's Messages API over the models of every provider. The key may be sent as `x-api-key`. With `stream: " +
          'true` the answer is an event stream from `message_start` to `message_stop`; a failure after it began is an ' +
          '`error` event, and no `message_stop` follows it. Errors have the shape of that API.',
        tags: ['Messages'],
        body: MessagesRequest,
        response: {
          200: {
            description: 'The message; with `stream: true` an event stream.',
            content: {
              'application/json': { schema: Type.Ref('Message') },
              'text/event-stream': { schema: StreamEventView },
            },
          },
          '4xx': Type.Ref('MessagesError'),
          '5xx': Type.Ref('MessagesError'),
        },
      },
    },
    (request, reply) => answerCompletion(request, reply, answering),
  )
  app.post(
    '/messages/count_tokens',
    {
      config: { scope: 'chat', bodyLimitBytes, isChat: true, api },
      validatorCompiler: () => () => true,
      schema: {
        summary: 'Count the tokens of a message',
        description:
          'Counts a prompt here, as its provider is expected to count it. Nothing is sent, and nothing charged.',
        tags: ['Messages'],
        body: Type.Omit(MessagesRequest, ['max_tokens'], { $id: 'CountTokensRequest' }),
        response: { 200: TokenCount, '4xx': Type.Ref('MessagesError'), '5xx': Type.Ref('MessagesError') },
      },
    },
    async (request) => {
      try {
        const body = isRecord(request.body) ? { max_tokens: 1, ...request.body } : request.body
        return { input_tokens: await countTokens(callerOf(request), body, request.findings) }
      } finally {
        request.bodyReservation?.release()
      }
    },
  )
}
