/** Routes whose answers are completions, and the first of them: `POST /chat/completions`. */
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { type AttributionHeaders, readAttributionHeaders } from '../domain/attribution.ts'
import { ROUTING_HEADER } from '../domain/chat.ts'
import type { SavedAnswer } from '../domain/credit.ts'
import { type Caller, TEAM_ENDPOINTS, type TeamEndpoint } from '../domain/identity/caller.ts'
import type { BodyFindings } from '../domain/json-body.ts'
import { type RequestTrace, releaseTrace } from '../domain/trace.ts'
import { callerOf, type RouteApi } from './caller.ts'
import { type HttpConnection, openConnection } from './connection.ts'
import { parseIdempotencyKey, parseLastEventId } from './request-headers.ts'
import { CHUNK, cost, FORWARDED_FIELDS, optional } from './wire-fields.ts'

export interface ChatRouteInput {
  readonly bodyLimitBytes: number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /**
   * Responds on `client`; rejects with `GatewayError` if nothing was written.
   * @returns The saved answer of an earlier request with the same `Idempotency-Key`, which the route sends unchanged.
   */
  readonly complete: (incoming: ChatIncoming, client: HttpConnection) => Promise<SavedAnswer | undefined>
}

interface ChatIncoming {
  readonly caller: Caller
  /** The parsed JSON body. */
  readonly body: unknown
  /** The client's headers that the API passes on. */
  readonly headers: Readonly<Record<string, string>> | undefined
  /** The value of the header `x-turnpike-routing`. */
  readonly routing: string | undefined
  /** Results of scanning a large body; see `domain/json-body.ts`. */
  readonly findings: BodyFindings | undefined
  readonly requestId: string
  readonly clientRequestId: string | undefined
  readonly attribution: AttributionHeaders | undefined
  readonly idempotencyKey: string | undefined
  /** The last event received of a stream with that key. */
  readonly lastEventId: number | undefined
  /** Monotonic milliseconds. */
  readonly receivedAt: number
  /** Undefined if the request is not traced. */
  readonly trace: RequestTrace | undefined
}

/** The input of routes of other APIs than chat completions. */
export interface ApiRouteInput extends ChatRouteInput {
  readonly api: RouteApi
  /** The tokens of a prompt. */
  readonly countTokens: (caller: Caller, body: unknown, findings: BodyFindings | undefined) => Promise<number>
}

export function chatRoute(app: FastifyInstance, input: ChatRouteInput): void {
  completionRoute(app, '/chat/completions', input, {
    summary: 'Create a chat completion',
    description:
      'Routes the request to a provider by its model ID. With `stream: true` the response is an event stream of ' +
      'chunks that ends with `data: [DONE]`; a failure after its start is an event with `error`, then `[DONE]`. With an ' +
      '`Idempotency-Key` a repeat gets the answer of the first request, free of charge. Events of such a stream have ' +
      'an `id`; a repeat with `Last-Event-ID` gets the events after it, even while the first request still runs.',
    tags: ['Chat'],
    body: ChatCompletionRequest,
    response: { 200: wholeOrStream('The completion', 'ChatCompletion', CHUNK) },
  })
}

/** Adds a route whose answers are completions. */
export function completionRoute(
  app: FastifyInstance,
  path: string,
  input: ChatRouteInput & Partial<ApiRouteInput>,
  schema: FastifySchema,
): void {
  const { clock, complete } = input
  app.post(path, { ...optionsOf(input), schema }, (request, reply) =>
    answerCompletion(request, reply, { clock, complete }),
  )
}

interface TokenCountRoute {
  readonly schema: FastifySchema
  /** Completes the body to one that the API accepts. */
  readonly complete?: (body: unknown) => unknown
  readonly render: (tokens: number) => object
}

/** Adds a route that counts the tokens of a prompt. */
export function tokenCountRoute(
  app: FastifyInstance,
  path: string,
  { countTokens, ...input }: ApiRouteInput,
  { schema, complete = (body) => body, render }: TokenCountRoute,
): void {
  const description =
    'Counts a prompt here, as its provider is expected to count it. Nothing is sent, and nothing charged.'
  app.post(path, { ...optionsOf(input), schema: { description, ...schema } }, async (request) => {
    try {
      return render(await countTokens(callerOf(request), complete(request.body), request.findings))
    } finally {
      request.bodyReservation?.release()
    }
  })
}

/** The gateway validates bodies: it reports paths and codes better than a schema. */
function optionsOf(input: ChatRouteInput & Partial<ApiRouteInput>) {
  const { bodyLimitBytes, api } = input
  return {
    config: { scope: 'chat', endpoint: endpointOf(api), bodyLimitBytes, isChat: true, ...(api && { api }) } as const,
    validatorCompiler: () => () => true,
  }
}

/** The end of its path names an API but chat completions. */
function endpointOf(api: Pick<RouteApi, 'endpoint'> | undefined): TeamEndpoint {
  const name = api?.endpoint.slice(api.endpoint.lastIndexOf('/') + 1)
  return TEAM_ENDPOINTS.find((endpoint) => endpoint === name) ?? 'chat'
}

/** The response of a route, in its schema. @param id Of the schema of whole answers. @param event Of streams. */
export function wholeOrStream(answer: string, id: string, event: TSchema) {
  return {
    description: `${answer}; with \`stream: true\` an event stream.`,
    content: { 'application/json': { schema: Type.Ref(id) }, 'text/event-stream': { schema: event } },
  }
}

async function answerCompletion(
  request: FastifyRequest,
  reply: FastifyReply,
  { clock, complete }: Pick<ChatRouteInput, 'clock' | 'complete'>,
): Promise<FastifyReply> {
  const receivedAt = clock()
  const client = openConnection(reply)
  const { trace } = request
  if (trace !== undefined) trace.open += 1 // a call may outlive its connection
  try {
    const saved = await complete(incomingOf(request, receivedAt), client)
    if (saved !== undefined && !client.over()) sendSaved(reply, saved)
  } catch (error) {
    if (!client.over()) throw error
  } finally {
    client.release()
    if (trace !== undefined) releaseTrace(trace)
    request.bodyReservation?.release()
  }
  return reply
}

function sendSaved(reply: FastifyReply, { status, headers, body }: SavedAnswer): void {
  reply.code(status).headers(headers).send(body)
}

function incomingOf(request: FastifyRequest, receivedAt: number): ChatIncoming {
  const idempotencyKey = idempotencyKeyOf(request)
  return {
    caller: callerOf(request),
    body: request.body,
    headers: passedHeaders(request),
    routing: routingOf(request),
    findings: request.findings,
    requestId: request.id,
    clientRequestId: clientRequestIdOf(request),
    attribution: readAttributionHeaders(request.headers),
    idempotencyKey,
    lastEventId: idempotencyKey === undefined ? undefined : lastEventIdOf(request),
    receivedAt,
    trace: request.trace,
  }
}

function routingOf({ headers }: FastifyRequest): string | undefined {
  const value = headers[ROUTING_HEADER]
  return value === undefined ? undefined : String(value)
}

function passedHeaders({ routeOptions, headers }: FastifyRequest): Record<string, string> | undefined {
  const names = routeOptions.config.api?.passedHeaders
  if (names === undefined) return undefined
  const present = names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])] as const]))
  return Object.fromEntries(present)
}

function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const value = headers['idempotency-key']
  return value === undefined ? undefined : parseIdempotencyKey(String(value))
}

/** Only for a request with an idempotency key: event-stream clients send the header automatically. */
export function lastEventIdOf({ headers }: FastifyRequest): number | undefined {
  const value = headers['last-event-id']
  return value === undefined ? undefined : parseLastEventId(String(value))
}

/** Returns `X-Client-Request-Id`: 1 to 128 characters of `[A-Za-z0-9._:-]`. Anything else is ignored. */
function clientRequestIdOf({ headers }: FastifyRequest): string | undefined {
  const value = headers['x-client-request-id']
  return typeof value === 'string' && /^[\w.:-]{1,128}$/.test(value) ? value : undefined
}

/* The chat-completions contract for the OpenAPI document; the gateway's own parser validates requests. */

const Message = Type.Object(
  {
    role: Type.Union(
      ['system', 'developer', 'user', 'assistant', 'tool'].map((role) => Type.Literal(role)),
      { description: 'Author of the message. `developer` means the same as `system`.' },
    ),
    content: Type.Optional(
      Type.Unknown({
        description: 'Text, null (assistant with tool calls), or a list of text, image_url, input_audio, file parts.',
      }),
    ),
    name: Type.Optional(Type.String()),
    tool_calls: Type.Optional(Type.Array(Type.Unknown(), { description: 'Tool calls of an assistant message.' })),
    tool_call_id: Type.Optional(
      Type.String({ description: 'For a tool message: the ID of the tool call that it answers.' }),
    ),
    refusal: optional(Type.String()),
    reasoning_content: optional(Type.String()),
  },
  { additionalProperties: true },
)

const optionalNumber = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Number({ minimum, maximum, description }))

export const ChatCompletionRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'Model ID; GET /v1/models lists them.' }),
    messages: Type.Array(Message, { minItems: 1 }),
    temperature: optionalNumber(0, 2, 'Sampling temperature.'),
    max_tokens: Type.Optional(Type.Integer({ minimum: 1, description: 'Maximum number of tokens in the answer.' })),
    max_completion_tokens: Type.Optional(Type.Integer({ minimum: 1, description: 'Newer name of `max_tokens`.' })),
    stream: Type.Optional(Type.Boolean({ default: false })),
    stream_options: Type.Optional(
      Type.Object({
        include_usage: Type.Optional(Type.Boolean({ description: 'Sends a last chunk that contains only the usage.' })),
      }),
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
    frequency_penalty: optionalNumber(-2, 2, 'Penalizes frequent tokens.'),
    presence_penalty: optionalNumber(-2, 2, 'Penalizes tokens that are already present.'),
    logit_bias: Type.Optional(Type.Record(Type.String(), Type.Number({ minimum: -100, maximum: 100 }))),
    reasoning_effort: Type.Optional(Type.String({ description: 'none, minimal, low, medium, high, xhigh or max.' })),
    user: Type.Optional(Type.String()),
    metadata: Type.Optional(Type.Record(Type.String(), Type.String())),
    service_tier: Type.Optional(Type.String()),
    store: Type.Optional(Type.Boolean()),
    prediction: Type.Optional(Type.Unknown()),
    modalities: Type.Optional(Type.Array(Type.String())),
    models: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 10,
        description: 'IDs of models that answer, in order, where `model` cannot.',
      }),
    ),
    provider: Type.Optional(
      Type.Unknown({
        description:
          'Which providers may answer, and in which order: `order`, `only`, `ignore`, `sort`, `max_price`, `allow_fallbacks`, `data_collection`, `zdr`, `require_parameters`; docs/routing.md.',
      }),
    ),
    route: Type.Optional(Type.Literal('fallback', { description: 'Says what `models` does anyway.' })),
  },
  {
    $id: 'ChatCompletionRequest',
    additionalProperties: true,
    examples: [{ model: 'turnpike-simulator', messages: [{ role: 'user', content: 'Hello!' }] }],
    description: FORWARDED_FIELDS,
  },
)

const Usage = Type.Object({
  prompt_tokens: Type.Integer({ description: 'Including cached tokens.' }),
  completion_tokens: Type.Integer({ description: 'Including reasoning tokens.' }),
  total_tokens: Type.Integer(),
  prompt_tokens_details: Type.Optional(
    Type.Object({
      cached_tokens: Type.Optional(Type.Integer()),
      cache_write_tokens: Type.Optional(Type.Integer()),
    }),
  ),
  completion_tokens_details: Type.Optional(Type.Object({ reasoning_tokens: Type.Optional(Type.Integer()) })),
  cost,
})

export const ChatCompletion = Type.Object(
  {
    id: Type.String({ description: 'ID of the completion at the gateway, as in the usage log.' }),
    object: Type.Literal('chat.completion'),
    created: Type.Integer({ description: 'Unix seconds.' }),
    model: Type.String({ description: 'Requested model ID, or that of the fallback that answered.' }),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        message: Message,
        logprobs: Type.Optional(Type.Unknown()),
        finish_reason: Type.Union(['stop', 'length', 'tool_calls', 'content_filter'].map((r) => Type.Literal(r))),
      }),
    ),
    usage: Usage,
    system_fingerprint: Type.Null({ description: 'Several providers may answer, so there is none.' }),
  },
  { $id: 'ChatCompletion' },
)

export const ErrorBody = Type.Object(
  {
    error: Type.Object({
      type: Type.String({ description: 'Stable: programs compare it.' }),
      message: Type.String({ description: 'For people. It may change.' }),
      code: Type.String({ description: 'More specific than `type`.' }),
      param: Type.Optional(Type.String({ description: 'Path of the invalid parameter.' })),
      retry_after: Type.Optional(Type.Integer({ description: 'Seconds.' })),
      request_id: Type.String(),
      doc_url: Type.Optional(Type.String({ description: 'Path of the documentation of the code, on this gateway.' })),
    }),
  },
  {
    $id: 'Error',
    examples: [
      {
        error: {
          type: 'invalid_request',
          message: "'name' is required.",
          code: 'missing_field',
          param: 'name',
          request_id: 'req_00000000exampleexample',
          doc_url: '/docs/errors#missing_field',
        },
      },
    ],
  },
)
