/** `POST /responses`: OpenAI's Responses API. Its body is checked by the gateway, which names paths better than a schema. */
import type { FastifyInstance } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { Caller } from '../domain/identity/caller.ts'
import type { BodyFindings } from '../domain/json-body.ts'
import { callerOf, type RouteApi } from './caller.ts'
import { answerCompletion, type ChatRouteInput } from './chat-route.ts'
import { routeNotFound } from './errors.ts'

export interface ResponsesRouteInput extends ChatRouteInput {
  readonly api: RouteApi
  /** The tokens of a prompt. */
  readonly countTokens: (caller: Caller, body: unknown, findings: BodyFindings | undefined) => Promise<number>
}

const opt = Type.Optional
/** Null means absent. */
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const item = Type.Object({ type: opt(Type.String()) }, { additionalProperties: true })
const fields = (description: string) =>
  Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], { description })

export const ResponsesRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'Model ID; GET /v1/models lists them.' }),
    input: Type.Union([Type.String(), Type.Array(item, { minItems: 1 })], {
      description:
        'A text, or items: message, reasoning, function_call, function_call_output, custom_tool_call, ' +
        'custom_tool_call_output, local_shell_call, local_shell_call_output, additional_tools.',
    }),
    instructions: opt(orNull(Type.String({ description: 'A system message before the input.' }))),
    stream: opt(orNull(Type.Boolean({ default: false }))),
    max_output_tokens: opt(orNull(Type.Integer({ minimum: 1, description: 'Most tokens in the answer.' }))),
    tools: opt(
      orNull(Type.Array(Type.Unknown(), { maxItems: 128, description: 'function, custom, namespace, local_shell, …' })),
    ),
    tool_choice: opt(Type.Unknown({ description: 'none, auto, required, a tool by its name, or allowed_tools.' })),
    parallel_tool_calls: opt(orNull(Type.Boolean())),
    text: opt(fields('`format` of a structured answer, and `verbosity`.')),
    reasoning: opt(fields('`effort` and `summary`.')),
    include: opt(
      orNull(Type.Array(Type.String(), { description: 'message.output_text.logprobs, reasoning.encrypted_content.' })),
    ),
    temperature: opt(orNull(Type.Number({ minimum: 0, maximum: 2 }))),
    top_p: opt(orNull(Type.Number({ minimum: 0, maximum: 1 }))),
    top_logprobs: opt(orNull(Type.Integer({ minimum: 0, maximum: 20 }))),
    metadata: opt(orNull(Type.Record(Type.String(), Type.String()))),
    prompt_cache_key: opt(orNull(Type.String())),
    safety_identifier: opt(orNull(Type.String())),
    service_tier: opt(orNull(Type.String())),
    user: opt(orNull(Type.String())),
    store: opt(orNull(Type.Boolean({ description: 'Answered as false: responses are not stored.' }))),
    background: opt(orNull(Type.Boolean({ description: 'true: 422.' }))),
    previous_response_id: opt(orNull(Type.String({ description: '400 `previous_response_not_found`.' }))),
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
const count = Type.Integer({ minimum: 0 })
const TokenCount = Type.Object({ object: Type.Literal('response.input_tokens'), input_tokens: count })

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
    incomplete_details: orNull(
      Type.Object({ reason: Type.String({ description: 'max_output_tokens, content_filter.' }) }),
    ),
    store: Type.Literal(false),
    usage: Type.Object(
      {
        input_tokens: Type.Integer({ minimum: 0, description: 'Including those read from a cache.' }),
        output_tokens: Type.Integer({ minimum: 0, description: 'Including those of reasoning.' }),
        total_tokens: count,
        cost: Type.Number({ description: 'USD, at most 9 decimals.' }),
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

export function responsesRoute(
  app: FastifyInstance,
  { bodyLimitBytes, api, countTokens, ...answering }: ResponsesRouteInput,
): void {
  app.post(
    '/responses',
    {
      config: { scope: 'chat', bodyLimitBytes, isChat: true, api },
      validatorCompiler: () => () => true,
      schema: {
        summary: 'Create a response',
        description:
          "OpenAI's Responses API over the models of every provider. With `stream: true` the answer is an event stream " +
          'from `response.created` to `response.completed` or `response.incomplete`; a failure after it began is an ' +
          '`error` event, then `response.failed`. Nothing is stored: send all items of the conversation as `input`.',
        tags: ['Responses'],
        body: ResponsesRequest,
        response: {
          200: {
            description: 'The response; with `stream: true` an event stream.',
            content: {
              'application/json': { schema: Type.Ref('ResponseResource') },
              'text/event-stream': { schema: StreamEvent },
            },
          },
        },
      },
    },
    (request, reply) => answerCompletion(request, reply, answering),
  )
  app.post(
    '/responses/input_tokens',
    {
      config: { scope: 'chat', bodyLimitBytes, isChat: true, api },
      validatorCompiler: () => () => true,
      schema: {
        summary: 'Count the input tokens of a response',
        description:
          'Counts a prompt here, as its provider is expected to count it. Nothing is sent, and nothing charged.',
        tags: ['Responses'],
        body: Type.Ref('ResponsesRequest'),
        response: { 200: TokenCount },
      },
    },
    async (request) => {
      try {
        const tokens = await countTokens(callerOf(request), request.body, request.findings)
        return { object: 'response.input_tokens' as const, input_tokens: tokens }
      } finally {
        request.bodyReservation?.release()
      }
    },
  )
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
