/**
 * Reads a Responses request as a chat completion. Each item and field becomes its counterpart there, and what has none is
 * refused or named in `x-turnpike-warnings`. The chat completion's own checks follow, so limits are the same for both APIs.
 */
import type { ChatRequest, NativeRequest } from '../../../domain/chat.ts'
import { isRecord, type Json } from '../../../lib/json.ts'
import {
  arrayAt,
  bodyObject,
  booleanAt,
  integerIn,
  isAbsent,
  objectAt,
  oneOf,
  presentFields,
  refuse,
  stringAt,
} from '../../openai-chat/client/checks.ts'
import { parseChatRequest } from '../../openai-chat/client/request.ts'
import { ROUTING_FIELDS, routingFields } from '../../routing-fields.ts'
import { type Conversation, itemPath, readConversation } from './items.ts'
import type { StoredContext } from './stored.ts'
import { type ListedTool, readChoice, readTools, type ToolForm } from './tools.ts'

/** The parts of a request that its answer repeats or needs. */
export interface ResponseDetails {
  /** The fields of the answer that repeat the request. */
  readonly echo: Json
  /** The forms of tools whose calls are not plain function calls, by the name that the model sees. */
  readonly forms: ReadonlyMap<string, ToolForm>
  /** Whether the ID of each item identifies its response, so that requests can refer to it. */
  readonly isStored: boolean
}

interface ResponsesRequest extends ChatRequest {
  readonly responses: ResponseDetails
}

const TOKENS = { min: 1, max: Number.MAX_SAFE_INTEGER } as const
const LOGPROBS = { min: 0, max: 20 } as const
const LOGPROBS_FIELD = 'message.output_text.logprobs'
const CONTEXT_FIELD = 'reasoning.encrypted_content'

/** The fields that are translated, or whose effect is the same without a translation. */
const KNOWN: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'include',
  'max_output_tokens',
  'temperature',
  'top_p',
  'top_logprobs',
  'presence_penalty',
  'frequency_penalty',
  'metadata',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'user',
  'background',
  'store',
  'max_tool_calls',
  'client_metadata',
  ...ROUTING_FIELDS,
])
/** The fields that change the meaning of the answer and are therefore rejected. */
const REFUSED: ReadonlySet<string> = new Set(['conversation', 'prompt'])

/** The fields of an answer that come from its request; of another API's request: the defaults. */
export function detailsOf(request: ChatRequest): ResponseDetails {
  return isResponsesRequest(request) ? request.responses : { echo: echoOf({}), forms: new Map(), isStored: false }
}

function isResponsesRequest(request: ChatRequest): request is ResponsesRequest {
  return 'responses' in request
}

/**
 * @param headers `openai-beta`.
 * @param context Of an account whose responses are stored; undefined: they are not.
 * @throws GatewayError for the first fault.
 */
export function parseResponsesRequest(
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
  context?: StoredContext,
): ResponsesRequest {
  const body = presentFields(bodyObject(value))
  refuseState(body)
  const tools = readTools(listedTools(body, context?.earlierItems))
  const conversation = readConversation(body, tools, context?.earlierItems)
  const { messages, hasCustomCalls } = conversation
  const included = readInclude(body['include'])
  const text = readText(body['text'])
  const stream = body['stream'] !== undefined && booleanAt(body['stream'], 'stream')
  const { metadata: _, ...request } = parseChatRequest({
    model: body['model'],
    messages,
    stream,
    stream_options: stream ? body['stream_options'] : undefined,
    tools: tools.tools,
    tool_choice: body['tool_choice'] === undefined ? undefined : readChoice(body['tool_choice'], tools),
    parallel_tool_calls: body['parallel_tool_calls'],
    max_completion_tokens: readTokens(body['max_output_tokens']),
    ...readLogprobs(body['top_logprobs'], included.logprobs),
    ...text,
    reasoning_effort: readEffort(body['reasoning']),
    ...sameNames(body),
    ...passedOn(body),
    ...routingFields(body),
  })
  const unknown = [...included.unknown, ...unknownMembers(body)]
  const source = { body, headers, extra: unknownFields(body), unknown }
  const ignoredParameters = [...(request.ignoredParameters ?? []), ...(isStoreIgnored(body, context) ? ['store'] : [])]
  return {
    ...request,
    isTranslated: true,
    ...((hasCustomCalls || request.tools?.some(({ custom }) => custom !== undefined)) && {
      customToolsAsFunctions: true,
    }),
    ...(ignoredParameters.length > 0 && { ignoredParameters }),
    native: nativeRequest(source, conversation),
    responses: { echo: echoOf(body, context), forms: tools.forms, isStored: context?.store === true },
  }
}

/** No answer is made without a waiting client. The response that a request continues is found before it is parsed. */
function refuseState({ previous_response_id: previous, background, store }: Json): void {
  if (store !== undefined) booleanAt(store, 'store')
  if (background !== undefined && booleanAt(background, 'background')) {
    refuse(
      'unsupported_parameter',
      'background',
      '`background: true` is not supported: send the request and wait for its answer.',
    )
  }
  if (previous === undefined) return
  const id = stringAt(previous, 'previous_response_id').slice(0, 100)
  const message = `Previous response with id '${id}' not found: responses are not stored here. Send all items of the conversation as \`input\`.`
  refuse('previous_response_not_found', 'previous_response_id', message)
}

interface Source extends Pick<NativeRequest, 'body' | 'headers' | 'extra'> {
  /** Paths of values without a translation. */
  readonly unknown: readonly string[]
}

function nativeRequest(
  { unknown, ...source }: Source,
  { ignored, essential, untranslated }: Conversation,
): NativeRequest {
  const { extra } = source
  const names = Object.keys(extra)
  return {
    ...source,
    protocol: 'openai-responses',
    essential,
    dropped: [...names, ...unknown, ...ignored],
    untranslated: names.length === 0 ? untranslated : [extra, ...untranslated],
    builtInTools: 0,
  }
}

/** The members that are translated, or whose effect is the same without a translation. */
const MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  reasoning: new Set(['effort', 'summary', 'generate_summary']),
  text: new Set(['format', 'verbosity']),
  'text.format': new Set(['type', 'name', 'schema', 'strict', 'description']),
}

/** Returns the paths of other members of `reasoning` and `text`. */
function unknownMembers({ reasoning, text }: Json): readonly string[] {
  const format = isRecord(text) ? text['format'] : undefined
  const values = { reasoning, text, 'text.format': format }
  return Object.entries(values).flatMap(([path, value]) =>
    isRecord(value)
      ? Object.keys(value).flatMap((name) =>
          MEMBERS[path]?.has(name) || isAbsent(value[name]) ? [] : [`${path}.${name}`],
        )
      : [],
  )
}

function unknownFields(body: Json): Json {
  const unknown = Object.keys(body).filter((name) => !KNOWN.has(name) && !isDefault(name, body[name]))
  const refused = unknown.find((name) => REFUSED.has(name))
  if (refused !== undefined) {
    refuse('unsupported_parameter', refused, `\`${refused}\` is not supported: it is stored at the provider.`)
  }
  return Object.fromEntries(unknown.map((name) => [name, body[name]]))
}

/** Returns whether a response is not stored although its request requests it. */
function isStoreIgnored({ store }: Json, context: StoredContext | undefined): boolean {
  return context === undefined ? store === true : context.isTooLarge
}

/** Values of fields without a counterpart that ask for what happens anyway. */
function isDefault(name: string, value: unknown): boolean {
  return name === 'truncation' && oneOf(value, name, ['auto', 'disabled']) === 'disabled'
}

/** The tools of the request, and those that items of the input add. */
function listedTools({ tools, input }: Json, earlierItems = 0): readonly ListedTool[] {
  const own = tools === undefined ? [] : listed(tools, 'tools')
  if (!Array.isArray(input)) return own
  return [...own, ...input.flatMap((item, at) => addedTools(item, itemPath(at, earlierItems)))]
}

function addedTools(item: unknown, path: string): readonly ListedTool[] {
  if (!isRecord(item) || (item['type'] !== 'additional_tools' && item['type'] !== 'tool_search_output')) return []
  return isAbsent(item['tools']) ? [] : listed(item['tools'], `${path}.tools`)
}

function listed(tools: unknown, path: string): readonly ListedTool[] {
  return arrayAt(tools, path).map((tool, at) => ({ tool, path: `${path}[${at}]` }))
}

function readTokens(value: unknown): number | undefined {
  return value === undefined ? undefined : integerIn(value, 'max_output_tokens', TOKENS)
}

interface Included {
  readonly logprobs: boolean
  readonly unknown: readonly string[]
}

/** Reads the field. Data that a provider needs with the next request is always included, because nothing is stored. */
function readInclude(value: unknown): Included {
  if (value === undefined) return { logprobs: false, unknown: [] }
  const names = arrayAt(value, 'include').map((name, at) => stringAt(name, `include[${at}]`))
  const unknown = names.flatMap((name, at) =>
    name === LOGPROBS_FIELD || name === CONTEXT_FIELD ? [] : [`include[${at}]`],
  )
  return { logprobs: names.includes(LOGPROBS_FIELD), unknown }
}

function readLogprobs(value: unknown, isIncluded: boolean): object {
  const count = value === undefined ? 0 : integerIn(value, 'top_logprobs', LOGPROBS)
  if (count === 0) return isIncluded ? { logprobs: true } : {}
  return { logprobs: true, top_logprobs: count }
}

/** Reads `verbosity` and the format of a structured answer. */
function readText(value: unknown): object {
  if (value === undefined) return {}
  const { format, verbosity } = objectAt(value, 'text')
  return {
    ...(!isAbsent(verbosity) && { verbosity: oneOf(verbosity, 'text.verbosity', ['low', 'medium', 'high']) }),
    ...(!isAbsent(format) && { response_format: readFormat(objectAt(format, 'text.format')) }),
  }
}

function readFormat(format: Json): object {
  const type = oneOf(format['type'], 'text.format.type', ['text', 'json_object', 'json_schema'])
  if (type !== 'json_schema') return { type }
  const { name, schema, strict, description } = format
  return {
    type,
    json_schema: {
      name: stringAt(name, 'text.format.name'),
      schema: objectAt(schema, 'text.format.schema'),
      strict: isAbsent(strict) ? undefined : booleanAt(strict, 'text.format.strict'),
      description: isAbsent(description) ? undefined : stringAt(description, 'text.format.description'),
    },
  }
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** Summaries are what all other providers send as reasoning, so asking for one changes nothing. */
function readEffort(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const { effort } = objectAt(value, 'reasoning')
  return isAbsent(effort) ? undefined : oneOf(effort, 'reasoning.effort', EFFORTS)
}

const SAME_NAMES = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'metadata',
  'user',
  'service_tier',
] as const

/** Returns the fields that the parser of chat completions validates under the same name. */
function sameNames(body: Json): object {
  return Object.fromEntries(SAME_NAMES.map((name) => [name, body[name]]))
}

const MAX_CALLS = { min: 1, max: Number.MAX_SAFE_INTEGER } as const
const PASSED_ON = ['prompt_cache_key', 'prompt_cache_retention', 'safety_identifier'] as const

/** Returns the fields with the same name in both APIs. */
function passedOn(body: Json): object {
  const { max_tool_calls: calls } = body
  const limit = calls === undefined ? {} : { max_tool_calls: integerIn(calls, 'max_tool_calls', MAX_CALLS) }
  const texts = Object.fromEntries(
    PASSED_ON.flatMap((name) => (body[name] === undefined ? [] : [[name, stringAt(body[name], name)]])),
  )
  return { ...texts, ...limit }
}

/*
 * The fields of a response that repeat its request, with the API's defaults. They follow the Open Responses contract,
 * which requires each of them.
 */

/** Efforts in the contract; others are in OpenAI's API alone. */
const ECHOED_EFFORTS: ReadonlySet<unknown> = new Set(['none', 'low', 'medium', 'high', 'xhigh'])

/** @param body A request that has been validated. @param context Undefined: responses are not stored. */
function echoOf(body: Json, context?: StoredContext): Json {
  const { reasoning, text, tools } = body
  return {
    background: false,
    frequency_penalty: body['frequency_penalty'] ?? 0,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: body['max_tool_calls'] ?? null,
    metadata: body['metadata'] ?? {},
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    presence_penalty: body['presence_penalty'] ?? 0,
    previous_response_id: context?.previousId ?? null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    reasoning: echoReasoning(reasoning),
    safety_identifier: body['safety_identifier'] ?? null,
    store: context?.store ?? false,
    temperature: body['temperature'] ?? 1,
    text: echoText(text),
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: Array.isArray(tools) ? tools.map(echoTool) : [],
    top_logprobs: body['top_logprobs'] ?? 0,
    top_p: body['top_p'] ?? 1,
    truncation: 'disabled',
    ...(body['user'] !== undefined && { user: body['user'] }),
  }
}

function echoReasoning(reasoning: unknown): Json {
  const { effort, summary } = isRecord(reasoning) ? reasoning : {}
  return { effort: ECHOED_EFFORTS.has(effort) ? effort : null, summary: summary ?? null }
}

/** The contract has no schema in the format of an answer. */
function echoText(text: unknown): Json {
  const { format, verbosity } = isRecord(text) ? text : {}
  const shown = isAbsent(verbosity) ? {} : { verbosity }
  if (!isRecord(format)) return { format: { type: 'text' }, ...shown }
  const { type, name, description = null, strict } = format
  if (type !== 'json_schema') return { format: { type }, ...shown }
  return { format: { type, name, description, schema: null, strict: strict === true }, ...shown }
}

function echoTool(tool: unknown): unknown {
  if (!isRecord(tool) || tool['type'] !== 'function') return tool
  const { type, name, description = null, parameters = null, strict = null } = tool
  return { type, name, description, parameters, strict }
}
