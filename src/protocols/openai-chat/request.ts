/** Renders a request in the host's dialect. Copies only what must change, and drops nothing without a warning. */
import type { ChatRequest, Tool, ToolChoice } from '../../domain/chat.ts'
import type { Json } from '../../lib/json.ts'
import { type Forwarding, forwardedFields, pricedField } from '../body-fields.ts'
import { checkStops, outputLimitOf, unsupportedParameter, withoutCustomTools } from '../parameters.ts'
import type { RenderTarget, UpstreamProtocol, WireRequest } from '../protocol.ts'
import { sentServerTools } from '../server-tools.ts'
import { placeResults, renderMessages } from './messages.ts'
import type { Body, Hint, OpenAiChatOptions, Refusable } from './options.ts'

interface Dialect {
  readonly options: OpenAiChatOptions
  /** The names of `options.forwards`. */
  readonly known: ReadonlySet<string>
}

/** The limit of OpenAI's API. */
const MAX_STOPS = 4
const NONE: readonly never[] = []

export function requestRenderer(options: OpenAiChatOptions): UpstreamProtocol['renderRequest'] {
  const dialect = { options, known: new Set(options.forwards?.fields) }
  return (request, target) => renderRequest(request, target, dialect)
}

/** @throws GatewayError `unsupported_parameter` or `unsupported_content`, with `param`, for what the host cannot do. */
function renderRequest(original: ChatRequest, target: RenderTarget, { options, known }: Dialect): WireRequest {
  const warnings = new Set<string>()
  const forwarding = { known, target, warnings }
  const adapted = options.adaptRequest === undefined ? original : options.adaptRequest(original)
  const hasOther = adapted.customToolsAsFunctions === true && options.customTools !== true
  const request = placeResults(hasOther ? withoutCustomTools(adapted) : adapted, options, warnings)
  const body: Body = { ...forwardedFields(request, forwarding) }
  addParameters(body, request, { target, options })
  addPriced(body, request, forwarding)
  body['messages'] = renderMessages(request.messages, { options, warnings, price: target.price })
  const offer = renderTools(request, options, warnings)
  put(body, 'tools', withServerTools(offer.tools, request, { target, options }))
  put(body, 'tool_choice', offer.choice)
  renderValues(request, body, { options, warnings })
  const isForced = offer.choice !== 'auto' && offer.choice !== 'none' && offer.choice !== undefined
  if (isForced && options.forcedWith !== undefined) forceTool(request, body, { options, warnings })
  else renderEffort(request, body, { options, warnings })
  for (const name of options.dropped ?? NONE) drop(body, name, warnings)
  for (const name of options.refused ?? NONE) refuse(body, name)
  options.adaptBody?.(body, { request, warnings })
  return { path: '/chat/completions', body: JSON.stringify(body), warnings: warnings.size === 0 ? NONE : [...warnings] }
}

interface Recipient extends Pick<Dialect, 'options'> {
  readonly target: RenderTarget
}

/**
 * Adds every parameter of the request under its usual name. Usage is always requested, since answers are billed by
 * it.
 */
function addParameters(body: Body, request: ChatRequest, { target, options }: Recipient): void {
  const { streamOptions = true, severalChoices = true, maxTokensField = 'max_tokens', maxStops = MAX_STOPS } = options
  checkStops(request.stop, maxStops)
  body['model'] = target.model
  body['messages'] = undefined
  if (request.stream) {
    body['stream'] = true
    if (streamOptions) body['stream_options'] = { include_usage: true }
  }
  if (severalChoices && request.n > 1) body['n'] = request.n
  put(body, maxTokensField, outputLimitOf(request, target))
  put(body, 'temperature', request.temperature)
  put(body, 'top_p', request.topP)
  put(body, 'stop', request.stop)
  put(body, 'parallel_tool_calls', request.parallelToolCalls)
  put(body, 'response_format', request.responseFormat)
  put(body, 'seed', request.seed)
  put(body, 'logprobs', request.logprobs)
  put(body, 'top_logprobs', request.topLogprobs)
  put(body, 'frequency_penalty', request.frequencyPenalty)
  put(body, 'presence_penalty', request.presencePenalty)
  put(body, 'logit_bias', request.logitBias)
  put(body, 'user', request.user)
  put(body, 'metadata', request.metadata)
  put(body, 'reasoning_effort', request.reasoningEffort)
  put(body, 'store', request.store)
  put(body, 'prediction', request.prediction)
}

/** Adds the gateway's own parameters whose cost not every price covers. */
function addPriced(body: Body, { serviceTier, modalities }: ChatRequest, forwarding: Forwarding): void {
  put(body, 'service_tier', pricedField('service_tier', serviceTier, forwarding))
  put(body, 'modalities', pricedField('modalities', modalities, forwarding))
}

/**
 * Adds tools with a limit of uses, only for hosts of the operator's own.
 * @throws GatewayError `unsupported_parameter` for other server tools.
 */
function withServerTools(
  tools: readonly unknown[] | undefined,
  request: ChatRequest,
  { target, options }: Recipient,
): readonly unknown[] | undefined {
  if (request.serverTools === undefined) return tools
  const isUnknown = target.forwardUnknown === true && options.toolUses === undefined
  const sent = sentServerTools(request, target, ({ maxUses }) => isUnknown && maxUses !== undefined)
  return sent.length === 0 ? tools : [...(tools ?? []), ...sent.map(({ wire }) => wire)]
}

function put(body: Body, name: string, value: unknown): void {
  if (value !== undefined) body[name] = value
}

interface Rendering {
  readonly options: OpenAiChatOptions
  /** The names of parameters that were dropped or adjusted. */
  readonly warnings: Set<string>
}

const ANY_TEMPERATURE = [0, Number.POSITIVE_INFINITY] as const

/** Renders the parameters whose values differ between hosts. */
function renderValues(request: ChatRequest, body: Body, { options, warnings }: Rendering): void {
  const { temperature, responseFormat: format } = request
  const { temperatureRange = ANY_TEMPERATURE, responseFormats, serviceTiers } = options
  const min = temperatureRange[0] // by index, because a destructuring pattern would use an iterator
  const max = temperatureRange[1]
  if (temperature !== undefined && (temperature < min || temperature > max)) {
    body['temperature'] = Math.min(Math.max(temperature, min), max)
    warnings.add('temperature')
  }
  const { service_tier: serviceTier } = body
  if (typeof serviceTier === 'string' && serviceTiers !== undefined) {
    if (!Object.hasOwn(serviceTiers, serviceTier)) throw unsupportedParameter('service_tier')
    body['service_tier'] = serviceTiers[serviceTier]
  }
  if (format !== undefined && format.type !== 'text' && responseFormats?.includes(format.type) === false) {
    throw unsupportedParameter('response_format')
  }
}

function renderEffort({ reasoningEffort: requested }: ChatRequest, body: Body, { options, warnings }: Rendering): void {
  if (requested === undefined) return
  const effort = options.reasoningEfforts?.[requested] ?? requested
  if (effort !== requested) warnings.add('reasoning_effort')
  const fields = options.effortFields?.(effort)
  body['reasoning_effort'] = fields === undefined ? effort : undefined
  addFields(body, fields)
}

/** Disables thinking on hosts that cannot combine it with a forced tool call. */
function forceTool({ reasoningEffort: requested }: ChatRequest, body: Body, { options, warnings }: Rendering): void {
  if (requested !== undefined && requested !== 'none') warnings.add('reasoning_effort')
  body['reasoning_effort'] = undefined
  addFields(body, options.forcedWith)
}

/** Adds fields that the client did not send itself. */
function addFields(body: Body, fields: Json = {}): void {
  for (const [name, value] of Object.entries(fields)) if (!(name in body)) body[name] = value
}

function drop(body: Body, name: Hint, warnings: Set<string>): void {
  if (body[name] === undefined) return
  body[name] = undefined
  warnings.add(name)
}

function refuse(body: Body, name: Refusable): void {
  const value = body[name]
  if (value === undefined) return
  if (!isDefault(name, value)) throw unsupportedParameter(name)
  body[name] = undefined
}

/** Returns whether the value has no effect. */
function isDefault(name: Refusable, value: unknown): boolean {
  switch (name) {
    case 'logprobs':
      return value === false
    case 'top_logprobs':
    case 'frequency_penalty':
    case 'presence_penalty':
      return value === 0
    case 'logit_bias':
      return typeof value === 'object' && value !== null && Object.keys(value).length === 0
    case 'parallel_tool_calls':
      return value === true
    case 'modalities':
      return Array.isArray(value) && value.every((modality) => modality === 'text')
  }
}

interface RenderedTools {
  readonly tools: readonly unknown[] | undefined
  /** `tool_choice` on the wire. */
  readonly choice: ToolChoice | Json | undefined
}

interface Offer {
  readonly tools: readonly Tool[]
  readonly choice: ToolChoice | undefined
}

/** @throws GatewayError `unsupported_parameter` for choices that the host does not support. */
function renderTools(
  { tools, toolChoice }: ChatRequest,
  options: OpenAiChatOptions,
  warnings: Set<string>,
): RenderedTools {
  if (tools === undefined || tools.length === 0) {
    return { tools: undefined, choice: toolChoice === 'none' || toolChoice === 'auto' ? undefined : toolChoice }
  }
  if (toolChoice === 'none' && options.toolChoices?.includes('none') === false) {
    warnings.add('tool_choice')
    return { tools: undefined, choice: undefined }
  }
  if (tools.some(isCustom)) {
    if (options.customTools) return renderCustom({ tools, choice: toolChoice })
    throw unsupportedParameter(`tools[${tools.findIndex(isCustom)}].type`)
  }
  const offer = supportedChoice(narrowTools({ tools, choice: toolChoice }, options), options)
  return { tools: options.toolParameters ? offer.tools.map(withParameters) : offer.tools, choice: offer.choice }
}

/** Replaces `allowed_tools` by offering only these tools, which has the same effect. */
function narrowTools({ tools, choice }: Offer, options: OpenAiChatOptions): Offer {
  if (options.allowedTools || typeof choice !== 'object' || choice.type !== 'allowed_tools') return { tools, choice }
  const { mode, tools: allowed } = choice.allowed_tools
  const names = new Set(allowed.map((tool) => tool.function.name))
  return { tools: tools.filter((tool) => names.has(tool.function.name)), choice: mode }
}

/** Replaces a choice that the host does not support by an equivalent one: with a single tool, `required` names it. */
function supportedChoice({ tools, choice }: Offer, { toolChoices }: OpenAiChatOptions): Offer {
  const named = typeof choice === 'object' && choice.type === 'function' ? choice.function.name : undefined
  const kind = named === undefined ? choice : 'function'
  if (toolChoices === undefined || (kind !== 'required' && kind !== 'function')) return { tools, choice }
  if (toolChoices.includes(kind)) return { tools, choice }
  const [only] = tools
  if (kind === 'function' && toolChoices.includes('required')) {
    return { tools: tools.filter((tool) => tool.function.name === named), choice: 'required' }
  }
  if (kind === 'required' && toolChoices.includes('function') && only !== undefined && tools.length === 1) {
    return { tools, choice: { type: 'function', function: { name: only.function.name } } }
  }
  throw unsupportedParameter('tool_choice')
}

function withParameters(tool: Tool): Tool {
  if (tool.function.parameters !== undefined) return tool
  return { ...tool, function: { ...tool.function, parameters: { type: 'object', properties: {} } } }
}

function isCustom({ custom }: Tool): boolean {
  return custom !== undefined
}

/** Custom tools and choices among them, in OpenAI's format. */
function renderCustom({ tools, choice }: Offer): RenderedTools {
  const names = new Set(tools.filter(isCustom).map((tool) => tool.function.name))
  const rendered = tools.map(({ custom, ...tool }) =>
    custom === undefined ? tool : { type: 'custom', custom: { ...tool.function, ...custom } },
  )
  return { tools: rendered, choice: typeof choice === 'object' ? renderChoice(choice, names) : choice }
}

function renderChoice(choice: Exclude<ToolChoice, string>, custom: ReadonlySet<string>): Json {
  if (choice.type === 'function') return renderNamed(choice.function.name, custom)
  const { mode, tools } = choice.allowed_tools
  const named = tools.map((tool) => renderNamed(tool.function.name, custom))
  return { type: 'allowed_tools', allowed_tools: { mode, tools: named } }
}

function renderNamed(name: string, custom: ReadonlySet<string>): Json {
  return custom.has(name) ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } }
}
