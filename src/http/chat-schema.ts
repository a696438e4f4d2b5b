import { Type } from 'typebox'

/** The chat-completions contract for the OpenAPI document; the gateway's own parser is what checks requests. */

const Message = Type.Object(
  {
    role: Type.Union(
      ['system', 'developer', 'user', 'assistant', 'tool'].map((role) => Type.Literal(role)),
      { description: 'Who speaks. `developer` means the same as `system`.' },
    ),
    content: Type.Optional(
      Type.Unknown({
        description: 'Text, null (assistant with tool calls), or a list of text, image_url, input_audio, file parts.',
      }),
    ),
    name: Type.Optional(Type.String()),
    tool_calls: Type.Optional(Type.Array(Type.Unknown(), { description: 'Calls of an assistant message.' })),
    tool_call_id: Type.Optional(Type.String({ description: 'On a tool message: the call it answers.' })),
    refusal: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    reasoning_content: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  },
  { additionalProperties: true },
)

const optionalNumber = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Number({ minimum, maximum, description }))

export const ChatCompletionRequest = Type.Object(
  {
    model: Type.String({ description: 'Model ID; GET /v1/models lists them.' }),
    messages: Type.Array(Message, { minItems: 1 }),
    temperature: optionalNumber(0, 2, 'Sampling temperature.'),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1, description: 'Most tokens in the answer.' })),
    max_completion_tokens: Type.Optional(Type.Integer({ minimum: 1, description: 'The newer name of max_tokens.' })),
    stream: Type.Optional(Type.Boolean({ default: false })),
    stream_options: Type.Optional(
      Type.Object({ include_usage: Type.Optional(Type.Boolean({ description: 'A last chunk with usage alone.' })) }),
    ),
    top_p: optionalNumber(0, 1, 'Nucleus sampling.'),
    stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })])),
    n: Type.Optional(Type.Integer({ minimum: 1, maximum: 16, default: 1 })),
    tools: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 128 })),
    tool_choice: Type.Optional(Type.Unknown()),
    parallel_tool_calls: Type.Optional(Type.Boolean()),
    response_format: Type.Optional(Type.Unknown({ description: 'text, json_object or json_schema.' })),
    seed: Type.Optional(Type.Integer()),
    logprobs: Type.Optional(Type.Boolean()),
    top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
    frequency_penalty: optionalNumber(-2, 2, 'Against frequent tokens.'),
    presence_penalty: optionalNumber(-2, 2, 'Against tokens already present.'),
    logit_bias: Type.Optional(Type.Record(Type.String(), Type.Number({ minimum: -100, maximum: 100 }))),
    reasoning_effort: Type.Optional(Type.String({ description: 'none, minimal, low, medium, high, xhigh or max.' })),
    user: Type.Optional(Type.String()),
    metadata: Type.Optional(Type.Record(Type.String(), Type.String())),
    service_tier: Type.Optional(Type.String()),
    store: Type.Optional(Type.Boolean()),
    prediction: Type.Optional(Type.Unknown()),
    modalities: Type.Optional(Type.Array(Type.String())),
  },
  {
    $id: 'ChatCompletionRequest',
    additionalProperties: true,
    description: 'Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`.',
  },
)

const Usage = Type.Object({
  prompt_tokens: Type.Integer({ description: 'Includes cached ones.' }),
  completion_tokens: Type.Integer({ description: 'Includes reasoning.' }),
  total_tokens: Type.Integer(),
  prompt_tokens_details: Type.Optional(
    Type.Object({
      cached_tokens: Type.Optional(Type.Integer()),
      cache_write_tokens: Type.Optional(Type.Integer()),
    }),
  ),
  completion_tokens_details: Type.Optional(Type.Object({ reasoning_tokens: Type.Optional(Type.Integer()) })),
  cost: Type.Number({ description: 'USD, at most 9 decimals.' }),
})

export const ChatCompletion = Type.Object(
  {
    id: Type.String({ description: "The gateway's own id, that of the usage row." }),
    object: Type.Literal('chat.completion'),
    created: Type.Integer({ description: 'Unix seconds.' }),
    model: Type.String({ description: 'The model ID that was asked for.' }),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        message: Message,
        logprobs: Type.Optional(Type.Unknown()),
        finish_reason: Type.Union(['stop', 'length', 'tool_calls', 'content_filter'].map((r) => Type.Literal(r))),
      }),
    ),
    usage: Usage,
  },
  { $id: 'ChatCompletion' },
)

export const ErrorBody = Type.Object(
  {
    error: Type.Object({
      type: Type.String({ description: 'Stable; check this.' }),
      message: Type.String({ description: 'For people; may change.' }),
      code: Type.String({ description: 'More exact than type.' }),
      param: Type.Optional(Type.String({ description: 'Path of the offending parameter.' })),
      retry_after: Type.Optional(Type.Integer({ description: 'Seconds.' })),
      request_id: Type.String(),
    }),
  },
  { $id: 'Error' },
)
