/** Rules of request parameters that all protocols share: output limit, stop sequences, `thinking`, what is unsupported. */
import type { ChatRequest, ReasoningEffort, Tool, ToolCall } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import { isRecord } from '../lib/json.ts'

/** Returns the error for a parameter that a provider cannot apply and whose omission would change the answer. */
export function unsupportedParameter(
  param: string,
  message = `The provider of this model does not support '${param}'.`,
): GatewayError {
  return new GatewayError('unsupported_parameter', message, { param })
}

/** @param param The path of the content. @param what The kind of content, in words; cut to 120 characters. */
export function unsupportedContent(param: string, what: string): GatewayError {
  const message = `The provider of this model does not read ${what.slice(0, 120)}.`
  return new GatewayError('unsupported_content', message, { param })
}

/**
 * The most tokens of one answer: the client's limit, but never more than is held.
 * @returns undefined when neither client nor gateway set a limit, which only tests of a codec do.
 */
export function outputLimitOf(
  { maxTokens: requested }: Pick<ChatRequest, 'maxTokens'>,
  { outputTokens: held }: { readonly outputTokens?: number | undefined },
): number | undefined {
  if (requested === undefined || held === undefined) return requested ?? held
  return Math.min(requested, held)
}

/** @throws GatewayError `unsupported_parameter` for more sequences than the provider takes. */
export function checkStops(stop: readonly string[] | undefined, limit: number): void {
  if (stop === undefined || stop.length <= limit) return
  throw unsupportedParameter(
    'stop',
    `The provider of this model takes at most ${limit} stop sequences, not ${stop.length}.`,
  )
}

/**
 * The request for a provider without custom tools, which take free text in place of JSON arguments: only the author of
 * the chat-completions format has them. Where the request allows it, they become functions with one text.
 * @throws GatewayError `unsupported_parameter` for a custom tool, or for the call of one in the conversation.
 */
export function withoutCustomTools(request: ChatRequest): ChatRequest {
  if (request.customToolsAsFunctions !== true) refuseCustomTools(request)
  const { customToolsAsFunctions, tools, messages } = request
  if (customToolsAsFunctions !== true) return request
  return {
    ...request,
    ...(tools !== undefined && { tools: tools.map(asFunction) }),
    messages: messages.map((message) =>
      message.tool_calls?.some(({ custom }) => custom)
        ? { ...message, tool_calls: message.tool_calls.map(asFunctionCall) }
        : message,
    ),
  }
}

function refuseCustomTools({ tools = [], messages }: ChatRequest): void {
  const message = 'The provider of this model does not support custom tools.'
  const position = tools.findIndex(({ custom }) => custom !== undefined)
  if (position >= 0) throw unsupportedParameter(`tools[${position}].type`, message)
  for (let at = 0; at < messages.length; at++) {
    const called = messages[at]?.tool_calls?.findIndex(({ custom }) => custom) ?? -1
    if (called >= 0) throw unsupportedParameter(`messages[${at}].tool_calls[${called}].type`, message)
  }
}

const TEXT_INPUT = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool.' } },
  required: ['input'],
  additionalProperties: false,
}

function asFunction({ custom, ...tool }: Tool): Tool {
  if (custom === undefined) return tool
  const { name, description = '' } = tool.function
  const text = [description, grammarText(custom.format)].filter((part) => part !== '').join('\n\n')
  return { type: 'function', function: { name, ...(text !== '' && { description: text }), parameters: TEXT_INPUT } }
}

/** Renders a grammar as text for the model, for providers that do not enforce it. */
function grammarText(format: unknown): string {
  const grammar = isRecord(format) && isRecord(format['grammar']) ? format['grammar'] : {}
  const { syntax, definition } = grammar
  if (typeof definition !== 'string') return ''
  return `\`input\` must match this grammar${typeof syntax === 'string' ? ` (${syntax})` : ''}:\n${definition}`
}

function asFunctionCall({ custom, ...call }: ToolCall): ToolCall {
  if (!custom) return call
  const { name, arguments: input } = call.function
  return { ...call, function: { name, arguments: JSON.stringify({ input }) } }
}

/** @throws GatewayError `unsupported_parameter` for values of sampling parameters that change the answer. */
export function refuseSamplingControls(request: ChatRequest): void {
  const { logprobs, topLogprobs = 0, frequencyPenalty = 0, presencePenalty = 0, logitBias = {} } = request
  if (logprobs === true) throw unsupportedParameter('logprobs')
  if (topLogprobs !== 0) throw unsupportedParameter('top_logprobs')
  if (frequencyPenalty !== 0) throw unsupportedParameter('frequency_penalty')
  if (presencePenalty !== 0) throw unsupportedParameter('presence_penalty')
  if (Object.keys(logitBias).length > 0) throw unsupportedParameter('logit_bias')
}

/**
 * The extension field `thinking` of Anthropic's API, which many hosts have adopted:
 * `{type: "enabled", budget_tokens}`, `{type: "adaptive"}`, `{type: "disabled"}`.
 */
export interface RequestedThinking {
  readonly type: 'enabled' | 'adaptive' | 'disabled'
  /** The budget in tokens. */
  readonly budget: number | undefined
  /** Whether the thinking's text is shown: `summarized` or `omitted`. */
  readonly display: string | undefined
}

/** @returns undefined for any other value. */
export function readThinking(value: unknown): RequestedThinking | undefined {
  if (!isRecord(value)) return undefined
  const { type, budget_tokens: tokens, display } = value
  if (type !== 'enabled' && type !== 'adaptive' && type !== 'disabled') return undefined
  const budget = typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens > 0 ? tokens : undefined
  return { type, budget, display: typeof display === 'string' ? display : undefined }
}

/** The nearest effort to a budget in tokens. */
export function effortOf({ type, budget }: RequestedThinking): ReasoningEffort | undefined {
  if (type === 'disabled') return 'none'
  if (budget === undefined) return undefined
  if (budget <= 2048) return 'low'
  if (budget <= 10_000) return 'medium'
  return budget <= 20_000 ? 'high' : 'xhigh'
}

const NOTHING: readonly string[] = []

/**
 * Names what is left out of a request that came by an API of another protocol than the host's.
 * @throws GatewayError `unsupported_content` where the request would mean something else without it.
 */
export function droppedNativeFields({ native }: ChatRequest, protocol: string): readonly string[] {
  if (native === undefined || native.protocol === protocol) return NOTHING
  const { essential, dropped } = native
  if (essential !== undefined) throw unsupportedContent(essential, `\`${essential}\``)
  return dropped
}
