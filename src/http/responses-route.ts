/** Serves `POST /responses`: OpenAI's Responses API, and its token counts. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { type ApiRouteInput, completionRoute, tokenCountRoute, wholeOrStream } from './chat-route.ts'
import { routeNotFound } from './errors.ts'
import { cost, count, optional, optionalObject } from './wire-fields.ts'

const item = Type.Object({ type: Type.Optional(Type.String()) }, { additionalProperties: true })

export const ResponsesRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'Model ID; GET /v1/models lists them.' }),
    input: Type.Union([Type.String(), Type.Array(item, { minItems: 1 })], {
      description:
        'A text, or items: message, reasoning, function_call, function_call_output, custom_tool_call, ' +
        'custom_tool_call_output, local_shell_call, local_shell_call_output, additional_tools, item_reference.',
    }),
    instructions: optional(Type.String({ description: 'A system message before the input.' })),
    stream: optional(Type.Boolean({ default: false })),
    max_output_tokens: optional(Type.Integer({ minimum: 1, description: 'Most tokens in the answer.' })),
    tools: optional(
      Type.Array(Type.Unknown(), { maxItems: 128, description: 'function, custom, namespace, local_shell, …' }),
    ),
    tool_choice: Type.Optional(
      Type.Unknown({ description: 'none, auto, required, a tool by its name, or allowed_tools.' }),
    ),
    parallel_tool_calls: optional(Type.Boolean()),
    text: optionalObject('`format` of a structured answer, and `verbosity`.'),
    reasoning: optionalObject('`effort` and `summary`.'),
    include: optional(
      Type.Array(Type.String(), { description: 'message.output_text.logprobs, reasoning.encrypted_content.' }),
    ),
    temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    top_logprobs: optional(Type.Integer({ minimum: 0, maximum: 20 })),
    metadata: optional(Type.Record(Type.String(), Type.String())),
    prompt_cache_key: optional(Type.String()),
    safety_identifier: optional(Type.String()),
    service_tier: optional(Type.String()),
    user: optional(Type.String()),
    store: optional(
      Type.Boolean({
        description:
          'Stores the response, where the operator allows it; then the default. Otherwise answered as false.',
      }),
    ),
    background: optional(Type.Boolean({ description: 'true: 422.' })),
    previous_response_id: optional(
      Type.String({ description: 'A stored response to continue; else 400 `previous_response_not_found`.' }),
    ),
  },
  {
    $id: 'ResponsesRequest',
    additionalProperties: true,
    examples: [{ model: 'turnpike-simulator', input: 'Hello!' }],
    description: 'Other fields are named in `x-turnpike-warnings`.',
  },
)

const StreamEvent = Type.Object(
  { event: Type.String(), data: Type.String({ description: 'JSON.' }) },
  { description: 'Events up to `response.completed`, `response.incomplete` or `response.failed`.' },
)

export const ResponseResource = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('response'),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
    status: Type.String({ description: 'completed or incomplete.' }),
    model: Type.String({ description: 'The model ID of the request.' }),
    output: Type.Array(item, {
      description: 'Items: reasoning, message, function_call, custom_tool_call, local_shell_call.',
    }),
    incomplete_details: Type.Union([
      Type.Object({ reason: Type.String({ description: 'max_output_tokens, content_filter.' }) }),
      Type.Null(),
    ]),
    store: Type.Boolean({ description: 'Whether it is stored.' }),
    usage: Type.Object(
      {
        input_tokens: Type.Integer({ minimum: 0, description: 'Including those read from a cache.' }),
        output_tokens: Type.Integer({ minimum: 0, description: 'Including those of reasoning.' }),
        total_tokens: count,
        cost,
      },
      { additionalProperties: true },
    ),
  },
  {
    $id: 'ResponseResource',
    additionalProperties: true,
    description: 'As in the Open Responses specification; other fields repeat the request.',
  },
)

export function responsesRoute(app: FastifyInstance, input: ApiRouteInput): void {
  completionRoute(app, '/responses', input, {
    summary: 'Create a response',
    description:
      "OpenAI's Responses API over the models of every provider. With `stream: true` the answer is an event stream " +
      'from `response.created` to `response.completed` or `response.incomplete`; a failure after it began is an ' +
      '`error` event, then `response.failed`. Where the operator does not allow to store responses, send all items of ' +
      'the conversation as `input`.',
    tags: ['Responses'],
    body: ResponsesRequest,
    response: { 200: wholeOrStream('The response', 'ResponseResource', StreamEvent) },
  })
  tokenCountRoute(app, '/responses/input_tokens', input, {
    schema: {
      summary: 'Count the input tokens of a response',
      tags: ['Responses'],
      body: Type.Ref('ResponsesRequest'),
      response: { 200: Type.Object({ object: Type.Literal('response.input_tokens'), input_tokens: count }) },
    },
    render: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  })
  refuseWebSockets(app)
}

/** Clients that try a WebSocket first fall back to HTTP at this status. */
function refuseWebSockets(app: FastifyInstance): void {
  app.get('/responses', { config: { scope: 'chat' }, schema: { hide: true } }, (request, reply) => {
    const { upgrade } = request.headers
    if (upgrade === undefined) throw routeNotFound('GET', '/v1/responses', ['POST'])
    const message = 'WebSockets are not supported here: send the request with POST.'
    reply.code(426).header('connection', 'close').header('upgrade', 'HTTP/1.1')
    return { error: { type: 'invalid_request', message, code: 'upgrade_required', request_id: request.id } }
  })
}
