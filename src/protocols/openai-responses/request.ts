/** Renders a request. Hints without a counterpart are dropped with a warning; what changes the answer is refused. */
import type { ChatRequest, NativeRequest, ResponseFormat, ServerTool, Tool, ToolChoice } from '../../domain/chat.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import {
  CACHE_LIFETIME_PARAM,
  type Fields,
  type ForwardedFields,
  forwardedFields,
  isCachingPriced,
  pricedField,
  withoutLifetime,
} from '../body-fields.ts'
import { decodeContext, isOpaqueContext } from '../opaque-context.ts'
import { effortOf, outputLimitOf, readThinking, refuseSamplingControls, unsupportedParameter } from '../parameters.ts'
import type { RenderTarget, UpstreamProtocol, WireRequest } from '../protocol.ts'
import { DEFAULT_USE_LIMIT, requestsSearch, sentServerTools, type ToolUses } from '../server-tools.ts'
import { CONTEXT_KEY, isOfGateway, withOriginalId } from './context.ts'
import { type InputSettings, isReportedLifetime, MAX_CALL_ID, type RenderedInput, renderInput } from './input.ts'

export interface OpenAiResponsesOptions {
  /** Whether the host searches the web. Default: false, such tools are rejected. */
  readonly searches?: boolean
  /** Whether a model returns encrypted reasoning; others reject requests for it. Default: every model. */
  readonly encryptsReasoning?: (model: string) => boolean
}

/** The format's own fields that chat completions have not, or have under the same name. */
export const FORWARDS: ForwardedFields = {
  fields: [
    'reasoning',
    'thinking',
    'verbosity',
    'truncation',
    'max_tool_calls',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'safety_identifier',
  ],
  source: { url: 'https://platform.openai.com/docs/api-reference/responses/create', read: '2026-11-24' },
}
/** The fields that refer to state stored at the host, for which no hold covers the cost. */
const STORED_STATE = ['previous_response_id', 'conversation', 'prompt', 'background'] as const
/** The fields that only this codec sets. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'input',
  'instructions',
  'text',
  'include',
  'store',
  'stream_options',
  'tools',
  'tool_choice',
])

interface Dialect {
  readonly options: OpenAiResponsesOptions
  readonly known: ReadonlySet<string>
}

export function requestRenderer(options: OpenAiResponsesOptions): UpstreamProtocol['renderRequest'] {
  const fields = options.searches ? [...FORWARDS.fields, 'web_search_options'] : FORWARDS.fields
  const dialect = { options, known: new Set(fields) }
  return (request, target) => renderRequest(request, target, dialect)
}

/** @throws GatewayError `unsupported_parameter` or `unsupported_content`, with `param`, for what the API cannot do. */
function renderRequest(request: ChatRequest, target: RenderTarget, { options, known }: Dialect): WireRequest {
  const warnings = new Set<string>()
  refuseUnknownMeaning(request)
  const forwarded = forwardedFields(request, { known, target, warnings })
  const { reasoning, thinking, verbosity, web_search_options: _, ...others } = forwarded
  const { encryptsReasoning = () => true, searches = false } = options
  const native = nativeOf(request)
  const body = {
    ...withoutOwn({ ...others, ...unknownFields(native, { known, target, warnings }) }, warnings),
    model: target.model,
    ...renderPrompt(request, { warnings, price: target.price }),
    stream: request.stream ? true : undefined,
    stream_options: request.stream && request.plainChunks ? { include_obfuscation: false } : undefined,
    store: false,
    include: includeOf(request, encryptsReasoning(target.model)),
    max_output_tokens: outputLimitOf(request, target),
    reasoning: native?.body['reasoning'] ?? renderReasoning(request, { reasoning, thinking }, warnings),
    text: native?.body['text'] ?? renderText(request.responseFormat, verbosity),
    temperature: request.temperature,
    top_p: request.topP,
    top_logprobs: request.logprobs ? request.topLogprobs : undefined,
    user: request.user,
    metadata: native?.body['metadata'] ?? request.metadata,
    client_metadata: native?.body['client_metadata'],
    service_tier: pricedField('service_tier', request.serviceTier, { target, warnings }),
    ...renderOffer(request, target, searches),
  }
  for (const [name, value] of [
    ['seed', request.seed],
    ['prediction', request.prediction],
    ['store', request.store || undefined],
  ] as const) {
    if (value !== undefined) warnings.add(name)
  }
  const headers = native && betaHeader(native)
  return { path: '/responses', body: JSON.stringify(body), warnings: [...warnings], ...(headers && { headers }) }
}

/** The client's own fields that have no translation. */
function unknownFields(
  native: NativeRequest | undefined,
  {
    known,
    target,
    warnings,
  }: Pick<Dialect, 'known'> & { readonly target: RenderTarget; readonly warnings: Set<string> },
): Fields {
  if (native === undefined) return {}
  const priced = { price: target.price, forwardUnknown: true }
  return forwardedFields({ extra: native.extra }, { known, target: priced, warnings })
}

function renderPrompt(request: ChatRequest, settings: InputSettings): object {
  const native = nativeOf(request)
  const own = native && renderNativeInput(native, { ...settings, isSent: sentTools(request) })
  return own ?? renderInput(request.messages, settings)
}

/** Tools in the client's own form, with the limits of all requests. */
function renderOffer(request: ChatRequest, target: RenderTarget, searches: boolean): RenderedTools {
  const rendered = renderTools(request, target, searches)
  const native = nativeOf(request)
  if (native === undefined) return rendered
  const tools = renderNativeTools(native, sentTools(request)) as readonly Json[]
  const { tool_choice: choice, parallel_tool_calls } = native.body
  const { max_tool_calls } = rendered
  if (tools.length === 0 && rendered.tools === undefined) return {}
  return {
    ...(tools.length > 0 && { tools }),
    tool_choice: choice,
    parallel_tool_calls: parallel_tool_calls as boolean | undefined,
    ...(max_tool_calls !== undefined && { max_tool_calls }),
  }
}

/** Parameters that change the answer, and that the API has not. */
function refuseUnknownMeaning(request: ChatRequest): void {
  const { stop = [], modalities = [], extra } = request
  refuseSamplingControls({ ...request, logprobs: false, topLogprobs: 0 })
  if (stop.length > 0) throw unsupportedParameter('stop')
  if (modalities.some((modality) => modality !== 'text')) throw unsupportedParameter('modalities')
  for (const name of STORED_STATE) {
    const value = extra[name]
    if (value !== undefined && value !== null && value !== false) throw unsupportedParameter(name)
  }
}

function withoutOwn(fields: Fields, warnings: Set<string>): Json {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    const isUnreported = name === 'prompt_cache_options' && isRecord(value) && !isReportedLifetime(value)
    if (OWN_FIELDS.has(name) || isUnreported) warnings.add(name)
    else kept[name] = value
  }
  return kept
}

function includeOf(request: ChatRequest, encryptsReasoning: boolean): readonly string[] | undefined {
  const { logprobs } = request
  const native = nativeOf(request)
  const include = new Set(encryptsReasoning ? ['reasoning.encrypted_content'] : [])
  if (logprobs) include.add('message.output_text.logprobs')
  const { include: own = [] } = native?.body ?? {}
  for (const name of own as readonly string[]) if (name !== 'reasoning.encrypted_content') include.add(name)
  return include.size > 0 ? [...include] : undefined
}

interface ReasoningFields {
  readonly reasoning: unknown
  /** The field `thinking` of Anthropic's API. */
  readonly thinking: unknown
}

/** Effort and summary, in whichever form they are requested; a summary is only given on request. */
function renderReasoning(
  { reasoningEffort }: ChatRequest,
  { reasoning, thinking: requested }: ReasoningFields,
  warnings: Set<string>,
): Json | undefined {
  const { effort: own, summary: wished, generate_summary: older, ...others } = isRecord(reasoning) ? reasoning : {}
  if (Object.keys(others).length > 0 || (reasoning !== undefined && !isRecord(reasoning))) warnings.add('reasoning')
  const thinking = readThinking(requested)
  // Not every model can do without reasoning.
  if (requested !== undefined && (thinking === undefined || thinking.type === 'disabled')) warnings.add('thinking')
  const budgeted = thinking === undefined || thinking.type === 'disabled' ? undefined : effortOf(thinking)
  const effort = reasoningEffort ?? (textOf(own) || budgeted)
  const shown = thinking?.display === 'summarized' ? 'auto' : undefined
  const summary = textOf(wished) || textOf(older) || shown
  return effort === undefined && summary === undefined ? undefined : { effort, summary }
}

function renderText(format: ResponseFormat | undefined, verbosity: unknown): Json | undefined {
  const rendered = format === undefined ? undefined : renderFormat(format)
  return rendered === undefined && verbosity === undefined ? undefined : { format: rendered, verbosity }
}

/** Flat here, nested in chat completions. */
function renderFormat(format: ResponseFormat): Json {
  if (format.type !== 'json_schema') return { type: format.type }
  return { type: 'json_schema', ...format.json_schema }
}

// Renders a request of this same API from the client's own items, tools and fields, so that nothing is lost in translation.
// Decisions of the gateway (model, limits, storage) and priced parts (tools that run at the provider, cache lifetimes) follow
// the rules of all requests.

function nativeOf({ native }: ChatRequest): NativeRequest | undefined {
  return native?.protocol === 'openai-responses' ? native : undefined
}

const BETA = /^[\w.=;, -]{1,500}$/

/** Returns the header `openai-beta` if the client sent it. */
function betaHeader({ headers }: NativeRequest): Readonly<Record<string, string>> | undefined {
  const { 'openai-beta': beta } = headers
  return beta !== undefined && BETA.test(beta) ? { 'openai-beta': beta } : undefined
}

interface NativeInput {
  readonly instructions: unknown
  readonly input: RenderedInput['input'] | string
}

interface ItemSettings extends InputSettings {
  /** Returns whether a tool of the list is sent. */
  readonly isSent: (tool: unknown) => boolean
}

/**
 * Returns the client's own input; undefined where only its translation fits the API: a call ID of another provider that is
 * too long, or reasoning of this API that the gateway has encoded, whose items have positions of their own.
 */
function renderNativeInput({ body }: NativeRequest, settings: ItemSettings): NativeInput | undefined {
  const { instructions, input } = body
  if (typeof input === 'string') return { instructions, input }
  const items: Json[] = []
  for (const item of Array.isArray(input) ? input.filter(isRecord) : []) {
    if (textOf(item['call_id']).length > MAX_CALL_ID) return undefined
    const encrypted = textOf(item['encrypted_content'])
    const isUnreadable = item['type'] === 'reasoning' && encrypted === '' && isOfGateway(item)
    if (!isOpaqueContext(encrypted) && !isUnreadable) items.push(renderItem(withOriginalId(item), settings))
    else if (Object.hasOwn(decodeContext(encrypted) ?? {}, CONTEXT_KEY)) return undefined
    // else: reasoning of another protocol, which this one cannot read
  }
  return { instructions, input: items }
}

/** The members of an item that may have cache marks or tools. */
function renderItem(item: Json, settings: ItemSettings): Json {
  let rendered = item
  for (const name of ['content', 'output']) {
    const parts = rendered[name]
    if (!Array.isArray(parts)) continue
    const priced = parts.map((part: unknown) => (isRecord(part) ? withPricedCache(part, settings) : part))
    if (priced.some((part, at) => part !== parts[at])) rendered = { ...rendered, [name]: priced }
  }
  const { tools } = rendered
  if (!Array.isArray(tools) || tools.every(settings.isSent)) return rendered
  return { ...rendered, tools: tools.filter(settings.isSent) }
}

/** Returns the part unchanged if the price covers its cache lifetime and the usage reports it. */
function withPricedCache(part: Json, { price, warnings }: InputSettings): Json {
  const { prompt_cache_breakpoint: breakpoint } = part
  if (!isRecord(breakpoint) || (isCachingPriced(part, price) && isReportedLifetime(breakpoint))) return part
  warnings.add(CACHE_LIFETIME_PARAM)
  return withoutLifetime(part)
}

/** The client's own tools, in their order. @param isSent See `sentTools`. */
function renderNativeTools({ body }: NativeRequest, isSent: (tool: unknown) => boolean): readonly unknown[] {
  const { tools } = body
  return Array.isArray(tools) ? tools.filter(isSent) : []
}

/** Tools that run at the client; others are sent where the request still has them, since each of those has a price. */
const CLIENT_TOOLS: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace', 'local_shell'])

/** @returns whether a tool of the request is sent. */
function sentTools({ serverTools = [] }: ChatRequest): (tool: unknown) => boolean {
  const priced = new Set<unknown>(serverTools.map(({ wire }) => wire))
  return (tool) => (isRecord(tool) && CLIENT_TOOLS.has(tool['type'])) || priced.has(tool)
}

// Renders tools and the choice among them: functions, custom tools, and web searches, which run at the host. The API
// limits the uses of its own tools by `max_tool_calls`, which is sent whenever there is one.
//
// Source: OpenAI, "Function calling", "Web search" (search actions have a fee) and "Create a response", read 2026-11-24.

interface RenderedTools {
  readonly tools?: readonly Json[]
  readonly tool_choice?: unknown
  readonly parallel_tool_calls?: boolean | undefined
  readonly max_tool_calls?: number
}

/** @param searches Whether the host has a web search. @throws GatewayError `unsupported_parameter` for other tools of hosts. */
function renderTools(request: ChatRequest, target: RenderTarget, searches: boolean): RenderedTools {
  const { tools = [], toolChoice, parallelToolCalls } = request
  const custom = new Set(tools.filter(isCustom).map((tool) => tool.function.name))
  const hosted = renderServerTools(request, target, searches)
  if (tools.length === 0 && hosted.length === 0) return {}
  return {
    tools: [...tools.map(renderTool), ...hosted],
    tool_choice: typeof toolChoice === 'object' ? renderChoice(toolChoice, custom) : toolChoice,
    parallel_tool_calls: parallelToolCalls,
    ...(hosted.length > 0 && { max_tool_calls: searchLimit(request) }),
  }
}

function isCustom({ custom }: Tool): boolean {
  return custom !== undefined
}

/** Renders a tool. In this API functions are strict by default; in chat completions they are not. */
function renderTool({ function: { name, description, parameters, strict }, custom }: Tool): Json {
  if (custom !== undefined) return { type: 'custom', name, description, format: renderGrammar(custom.format) }
  return { type: 'function', name, description, parameters: parameters ?? null, strict: strict ?? false }
}

/** Chat completions nest what a grammar is; here it is flat. */
function renderGrammar(format: unknown): unknown {
  if (!isRecord(format) || !isRecord(format['grammar'])) return format
  return { type: 'grammar', ...format['grammar'] }
}

function renderChoice(choice: Exclude<ToolChoice, string>, custom: ReadonlySet<string>): Json {
  if (choice.type === 'function') return renderNamed(choice.function.name, custom)
  const { mode, tools } = choice.allowed_tools
  return { type: 'allowed_tools', mode, tools: tools.map((tool) => renderNamed(tool.function.name, custom)) }
}

function renderNamed(name: string, custom: ReadonlySet<string>): Json {
  return { type: custom.has(name) ? 'custom' : 'function', name }
}

/** Renders one search tool, however the request enables it. */
function renderServerTools(request: ChatRequest, target: RenderTarget, searches: boolean): readonly Json[] {
  const sent = sentServerTools(request, target, ({ name }) => searches && name === 'web_search')
  if (sent.length > 0) return sent.map(renderSearch)
  if (!searches || !requestsSearch(request)) return []
  const { web_search_options: options } = request.extra
  const { search_context_size, user_location: location } = isRecord(options) ? options : {}
  const nested = isRecord(location) && isRecord(location['approximate']) ? location['approximate'] : location
  return [{ type: 'web_search', search_context_size, user_location: locationOf(nested) }]
}

/** @throws GatewayError `unsupported_parameter` for domains to leave out, which the API does not know. */
function renderSearch({ wire, param }: ServerTool): Json {
  const { type, max_uses: _, name, user_location, allowed_domains: domains, blocked_domains: blocked, ...own } = wire
  if (Array.isArray(blocked) && blocked.length > 0) throw unsupportedParameter(`${param}.blocked_domains`)
  const filters = Array.isArray(domains) ? { filters: { allowed_domains: domains } } : {}
  const isOfOpenAi = name === undefined && typeof type === 'string'
  return { ...own, ...filters, type: isOfOpenAi ? type : 'web_search', user_location: locationOf(user_location) }
}

function locationOf(location: unknown): Json | undefined {
  return isRecord(location) ? { ...location, type: 'approximate' } : undefined
}

/** The most searches of one call: the client's limit, in either form. */
function searchLimit({ serverTools = [], extra }: ChatRequest): number {
  const { max_tool_calls: limit } = extra
  const own = serverTools.reduce((sum, { maxUses = DEFAULT_USE_LIMIT }) => sum + maxUses, 0) || DEFAULT_USE_LIMIT
  return typeof limit === 'number' && Number.isSafeInteger(limit) && limit > 0 ? Math.min(limit, own) : own
}

/** The chargeable uses of one call, for hosts that search. */
export function toolUses(request: ChatRequest): ToolUses {
  const requested = request.serverTools ?? []
  if (requested.length === 0 && !requestsSearch(request)) return {}
  const [first] = requested
  return { web_search: { limit: searchLimit(request), param: first?.param ?? 'web_search_options' } }
}
