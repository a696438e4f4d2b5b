/** Our request in the host's words. Nothing is copied that need not change, and nothing is dropped in silence. */
import type { ChatMessage, ChatRequest, ContentPart, Tool, ToolChoice } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { RenderTarget, WireRequest } from '../protocol.ts'
import type { Hint, OpenAiChatOptions, Refusable } from './options.ts'

/** The body on its way: parameters by their names on the wire, undefined where unsaid. */
type Body = Record<string, unknown>

/** @throws GatewayError `unsupported_parameter` or `unsupported_content`, with `param`, for what the host cannot do. */
export function renderRequest(request: ChatRequest, target: RenderTarget, options: OpenAiChatOptions): WireRequest {
  const warnings = new Set<string>()
  const body = renderBody(request, target, options)
  body['messages'] = renderMessages(request.messages, options, warnings)
  renderTools(request, body, { options, warnings })
  renderValues(request, body, { options, warnings })
  for (const name of options.dropped ?? []) drop(body, name, warnings)
  for (const name of options.refused ?? []) refuse(body, name)
  for (const [name, theirs] of Object.entries(options.renamed ?? {})) {
    body[theirs] = body[name]
    body[name] = undefined
  }
  return { path: '/chat/completions', body: JSON.stringify(body), warnings: [...warnings] }
}

/** Every parameter under its usual name. Usage is always asked for: answers are paid by it. */
function renderBody(request: ChatRequest, target: RenderTarget, options: OpenAiChatOptions): Body {
  const { streamOptions = true, severalChoices = true, passUnknown = true, maxTokensField = 'max_tokens' } = options
  return {
    ...(passUnknown ? request.extra : undefined),
    model: target.model,
    messages: undefined,
    stream: request.stream ? true : undefined,
    stream_options: request.stream && streamOptions ? { include_usage: true } : undefined,
    n: severalChoices && request.n > 1 ? request.n : undefined,
    [maxTokensField]: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    stop: request.stop,
    parallel_tool_calls: request.parallelToolCalls,
    response_format: request.responseFormat,
    seed: request.seed,
    logprobs: request.logprobs,
    top_logprobs: request.topLogprobs,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
    logit_bias: request.logitBias,
    user: request.user,
    metadata: request.metadata,
    reasoning_effort: request.reasoningEffort,
    service_tier: request.serviceTier,
    store: request.store,
    prediction: request.prediction,
    modalities: request.modalities,
  }
}

interface Rendering {
  readonly options: OpenAiChatOptions
  /** Names of parameters that were dropped or bent. */
  readonly warnings: Set<string>
}

function renderTools(request: ChatRequest, body: Body, { options, warnings }: Rendering): void {
  const { tools, toolChoice } = request
  if (tools === undefined || tools.length === 0) {
    body['tool_choice'] = toolChoice === 'none' || toolChoice === 'auto' ? undefined : toolChoice
    return
  }
  if (toolChoice === 'none' && options.refused?.includes('tool_choice')) {
    warnings.add('tool_choice')
    return
  }
  const narrowed = narrowTools(tools, toolChoice, options)
  body['tools'] = narrowed.tools
  body['tool_choice'] = narrowed.choice === 'required' ? (options.requiredToolChoice ?? 'required') : narrowed.choice
}

/** `allowed_tools` is the same as offering only these tools. */
function narrowTools(
  tools: readonly Tool[],
  choice: ToolChoice | undefined,
  options: OpenAiChatOptions,
): { readonly tools: readonly Tool[]; readonly choice: ToolChoice | undefined } {
  if (options.allowedTools || typeof choice !== 'object' || choice.type !== 'allowed_tools') return { tools, choice }
  const { mode, tools: allowed } = choice.allowed_tools
  const names = new Set(allowed.map((tool) => tool.function.name))
  return { tools: tools.filter((tool) => names.has(tool.function.name)), choice: mode }
}

/** The parameters whose values differ between hosts. */
function renderValues(request: ChatRequest, body: Body, { options, warnings }: Rendering): void {
  const { temperature, reasoningEffort: effort, responseFormat: format } = request
  const { minimumTemperature: minimum, reasoningEfforts, responseFormats } = options
  if (minimum !== undefined && temperature !== undefined && temperature < minimum) {
    body['temperature'] = minimum
    warnings.add('temperature')
  }
  const nearest = effort === undefined ? undefined : reasoningEfforts?.[effort]
  if (nearest !== undefined && nearest !== effort) {
    body['reasoning_effort'] = nearest
    warnings.add('reasoning_effort')
  }
  if (format !== undefined && format.type !== 'text' && responseFormats?.includes(format.type) === false) {
    throw unsupported('response_format')
  }
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
    case 'tool_choice':
      return value === 'auto'
    case 'parallel_tool_calls':
      return value === true
    case 'modalities':
      return Array.isArray(value) && value.every((modality) => modality === 'text')
    case 'reasoning_effort':
      return false
  }
}

function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', `The provider of this model does not support '${param}'.`, { param })
}

type WireMessage = ChatMessage | Readonly<Record<string, unknown>>

/** The client's own messages, unless one must change. */
function renderMessages(
  messages: readonly ChatMessage[],
  options: OpenAiChatOptions,
  warnings: Set<string>,
): readonly WireMessage[] {
  let changed: WireMessage[] | undefined
  messages.forEach((message, position) => {
    checkMessage(message, position, options)
    const rendered = renderMessage(message, { options, warnings })
    if (rendered === message) return
    changed ??= [...messages]
    changed[position] = rendered
  })
  return changed ?? messages
}

function checkMessage(message: ChatMessage, position: number, options: OpenAiChatOptions): void {
  const { name, role, content } = message
  if (name !== undefined && role !== 'tool' && options.namedRoles?.includes(role) === false) {
    throw unsupported(`messages[${position}].name`)
  }
  if (options.refusedParts === undefined || !Array.isArray(content)) return
  content.forEach((part: ContentPart, place) => {
    if (!options.refusedParts?.includes(part.type)) return
    const param = `messages[${position}].content[${place}]`
    throw new GatewayError('unsupported_content', `The provider of this model does not read '${part.type}' content.`, {
      param,
    })
  })
}

function renderMessage(message: ChatMessage, { options, warnings }: Rendering): WireMessage {
  const { reasoningField = 'reasoning_content', messageFields } = options
  const isRenamed = message.role === 'developer' && !options.developerRole
  const hasReasoning = message.reasoning_content !== undefined && reasoningField !== 'reasoning_content'
  const isNamedTool =
    message.role === 'tool' && message.name !== undefined && options.namedRoles?.includes('tool') === false
  const hasStrange = messageFields !== undefined && Object.keys(message).some((field) => !messageFields.includes(field))
  if (!isRenamed && !hasReasoning && !isNamedTool && !hasStrange) return message
  const copy: Record<string, unknown> = { ...message }
  if (isRenamed) copy['role'] = 'system'
  if (hasReasoning) moveReasoning(copy, reasoningField, warnings)
  if (isNamedTool) copy['name'] = undefined
  if (messageFields !== undefined) keepFields(copy, messageFields, warnings)
  return copy
}

function moveReasoning(copy: Record<string, unknown>, field: string, warnings: Set<string>): void {
  const text = copy['reasoning_content']
  copy['reasoning_content'] = undefined
  if (text === null || text === '') return
  if (field === 'none') warnings.add('messages[].reasoning_content')
  else copy[field] ??= text
}

/** A refusal becomes text, which is what it is to the model; whatever else holds something is named. */
function keepFields(copy: Record<string, unknown>, fields: readonly string[], warnings: Set<string>): void {
  if (!fields.includes('refusal') && typeof copy['refusal'] === 'string' && !copy['content']) {
    copy['content'] = copy['refusal']
    copy['refusal'] = undefined
  }
  for (const [field, value] of Object.entries(copy)) {
    if (fields.includes(field) || value === undefined) continue
    copy[field] = undefined
    if (value !== null && !(Array.isArray(value) && value.length === 0)) warnings.add(`messages[].${field}`)
  }
}
