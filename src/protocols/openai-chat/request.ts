/** Our request in the host's words. Nothing is copied that need not change, and nothing is dropped in silence. */
import type { ChatRequest } from '../../domain/chat.ts'
import { type Forwarding, forwardedFields, pricedField } from '../forwarded-fields.ts'
import { outputLimitOf } from '../output-limit.ts'
import type { RenderTarget, WireRequest } from '../protocol.ts'
import { checkStops } from '../stop-sequences.ts'
import { renderMessages, unsupported } from './messages.ts'
import type { Hint, OpenAiChatOptions, Refusable } from './options.ts'
import { renderTools } from './tools.ts'

/** The body on its way: parameters by their names on the wire, absent or undefined where unsaid. */
type Body = Record<string, unknown>

/** @throws GatewayError `unsupported_parameter` or `unsupported_content`, with `param`, for what the host cannot do. */
export function renderRequest(request: ChatRequest, target: RenderTarget, { options, known }: Dialect): WireRequest {
  const warnings = new Set<string>()
  const forwarding = { known, target, warnings }
  const body: Body = { ...forwardedFields(request, forwarding) }
  addParameters(body, request, { target, options })
  addPriced(body, request, forwarding)
  body['messages'] = renderMessages(request.messages, { options, warnings, price: target.price })
  const offer = renderTools(request, options, warnings)
  put(body, 'tools', offer.tools)
  put(body, 'tool_choice', offer.choice)
  renderValues(request, body, { options, warnings })
  const isForced = offer.choice !== 'auto' && offer.choice !== 'none' && offer.choice !== undefined
  if (isForced && options.forcedWith !== undefined) forceTool(request, body, { options, warnings })
  else renderEffort(request, body, { options, warnings })
  for (const name of options.dropped ?? NONE) drop(body, name, warnings)
  for (const name of options.refused ?? NONE) refuse(body, name)
  if (options.renamed !== undefined) rename(body, options.renamed)
  return { path: '/chat/completions', body: JSON.stringify(body), warnings: warnings.size === 0 ? NONE : [...warnings] }
}

const NONE: readonly never[] = []

export interface Dialect {
  readonly options: OpenAiChatOptions
  /** The names of `options.forwards`. */
  readonly known: ReadonlySet<string>
}

/** Of the originator's API. */
const MAX_STOPS = 4

interface Addressee extends Pick<Dialect, 'options'> {
  readonly target: RenderTarget
}

/** Every parameter that is said, under its usual name. Usage is always asked for: answers are paid by it. */
function addParameters(body: Body, request: ChatRequest, { target, options }: Addressee): void {
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

/** Parameters of ours that cost what not every price says. */
function addPriced(body: Body, { serviceTier, modalities }: ChatRequest, forwarding: Forwarding): void {
  put(body, 'service_tier', pricedField('service_tier', serviceTier, forwarding))
  put(body, 'modalities', pricedField('modalities', modalities, forwarding))
}

function put(body: Body, name: string, value: unknown): void {
  if (value !== undefined) body[name] = value
}

function rename(body: Body, names: NonNullable<OpenAiChatOptions['renamed']>): void {
  for (const [name, theirs] of Object.entries(names)) {
    body[theirs] = body[name]
    body[name] = undefined
  }
}

interface Rendering {
  readonly options: OpenAiChatOptions
  /** Names of parameters that were dropped or bent. */
  readonly warnings: Set<string>
}

/** The parameters whose values differ between hosts. */
function renderValues(request: ChatRequest, body: Body, { options, warnings }: Rendering): void {
  const { temperature, responseFormat: format } = request
  const {
    minimumTemperature = 0,
    maximumTemperature = Number.POSITIVE_INFINITY,
    responseFormats,
    serviceTiers,
  } = options
  if (temperature !== undefined && (temperature < minimumTemperature || temperature > maximumTemperature)) {
    body['temperature'] = Math.min(Math.max(temperature, minimumTemperature), maximumTemperature)
    warnings.add('temperature')
  }
  const { service_tier: serviceTier } = body
  if (typeof serviceTier === 'string' && serviceTiers !== undefined) {
    if (!Object.hasOwn(serviceTiers, serviceTier)) throw unsupported('service_tier')
    body['service_tier'] = serviceTiers[serviceTier]
  }
  if (format !== undefined && format.type !== 'text' && responseFormats?.includes(format.type) === false) {
    throw unsupported('response_format')
  }
}

function renderEffort({ reasoningEffort: asked }: ChatRequest, body: Body, { options, warnings }: Rendering): void {
  if (asked === undefined) return
  const effort = options.reasoningEfforts?.[asked] ?? asked
  if (effort !== asked) warnings.add('reasoning_effort')
  const fields = options.effortFields?.(effort)
  body['reasoning_effort'] = fields === undefined ? effort : undefined
  addFields(body, fields)
}

/** A tool is called without thinking by hosts that cannot think and be forced at once. */
function forceTool({ reasoningEffort: asked }: ChatRequest, body: Body, { options, warnings }: Rendering): void {
  if (asked !== undefined && asked !== 'none') warnings.add('reasoning_effort')
  body['reasoning_effort'] = undefined
  addFields(body, options.forcedWith)
}

/** What the client says of a field itself stands. */
function addFields(body: Body, fields: Readonly<Record<string, unknown>> = {}): void {
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
  if (!asksForNothing(name, value)) throw unsupported(name)
  body[name] = undefined
}

/** Values that are as good as unsaid. */
function asksForNothing(name: Refusable, value: unknown): boolean {
  switch (name) {
    case 'logprobs':
      return value === false
    case 'top_logprobs':
    case 'frequency_penalty':
    case 'presence_penalty':
      return value === 0
    case 'logit_bias':
      return typeof value === 'object' && value !== null && Object.keys(value).length === 0
    case 'tools':
      return false
    case 'parallel_tool_calls':
      return value === true
    case 'modalities':
      return Array.isArray(value) && value.every((modality) => modality === 'text')
    case 'reasoning_effort':
      return false
  }
}
