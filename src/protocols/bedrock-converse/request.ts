/** Renders a request for the Converse API, with its tools and structured output. Drops nothing without a warning. */
import type { ChatRequest, ResponseFormat, Tool } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Json } from '../../lib/json.ts'
import { type Fields, type ForwardedFields, forwardedFields, pricedField, withOthers } from '../body-fields.ts'
import { ANSWER_TOOL } from '../conversation.ts'
import {
  effortOf,
  outputLimitOf,
  readThinking,
  refuseSamplingControls,
  unsupportedParameter,
  withoutCustomTools,
} from '../parameters.ts'
import type { RenderTarget, WireRequest } from '../protocol.ts'
import { sentServerTools } from '../server-tools.ts'
import { renderMessages } from './messages.ts'
import {
  familyOf,
  holdsToSchema,
  type ModelFamily,
  planReasoning,
  type ReasoningPlan,
  takesCachePoints,
  takesPrefill,
} from './models.ts'

/** With thinking, a model that supports `top_p` accepts no lower value. */
const LEAST_TOP_P = 0.95

/** @throws GatewayError `unsupported_parameter`, `unsupported_content` or `invalid_value`, with `param`. */
export function renderRequest(requested: ChatRequest, target: RenderTarget): WireRequest {
  const warnings = new Set<string>()
  const family = familyOf(target.model)
  const original = withoutCustomTools(requested)
  sentServerTools(original, target, () => false)
  refuseSamplingControls(original)
  const forwarding = { known: KNOWN, target, warnings }
  const fields = forwardedFields(original, forwarding)
  if (pricedField('modalities', original.modalities, forwarding) !== undefined) throw unsupportedParameter('modalities')
  const tier = pricedField('service_tier', original.serviceTier, forwarding)
  warnDropped(original, warnings)
  const request = withThinking(original, { thinking: fields['thinking'], family, warnings })
  const tools = planTools({ request, family, warnings })
  const reasoning = planReasoning({ request, target, family, forced: tools.forced, warnings })
  const body = renderBody({ request, target, family, tools, reasoning, fields, tier, warnings })
  const operation = request.stream ? 'converse-stream' : 'converse'
  return {
    path: `/model/${encodeURIComponent(target.model)}/${operation}`,
    body: JSON.stringify(body),
    ...(request.stream ? { headers: { accept: 'application/vnd.amazon.eventstream' } } : {}),
    warnings: [...warnings],
  }
}

/** The forwarded fields, which are all translated as far as the model's family supports them. */
export const FORWARDS: ForwardedFields = {
  fields: ['top_k', 'thinking'],
  source: {
    url: 'https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html',
    read: '2026-11-23',
  },
}
const KNOWN: ReadonlySet<string> = new Set(FORWARDS.fields)
/** The values of `serviceTier.type`. */
const SERVICE_TIERS: readonly string[] = ['flex', 'priority']

interface Rendering {
  readonly request: ChatRequest
  readonly target: RenderTarget
  readonly fields: Fields
  /** A priced tier; undefined: the standard one. */
  readonly tier: string | undefined
  readonly family: ModelFamily
  readonly tools: ToolPlan
  readonly reasoning: ReasoningPlan
  readonly warnings: Set<string>
}

function renderBody(rendering: Rendering): object {
  const { request, target, family, tools, reasoning, fields, tier, warnings } = rendering
  if (tier !== undefined && !SERVICE_TIERS.includes(tier)) throw unsupportedParameter('service_tier')
  const { top_k: topK, thinking: _, ...others } = fields
  const { system, messages } = renderMessages(request.messages, {
    warnings,
    returnsContext: reasoning.replays,
    prefill: takesPrefill(family),
    tools: tools.tools.length > 0,
    caches: takesCachePoints(target.model),
    cites: family.kind === 'claude',
    instructions: tools.instructions,
    price: target.price,
  })
  const modelFields = { ...reasoning.fields, ...tools.fields, ...renderTopK(topK, rendering) }
  const body = {
    messages,
    system: system.length === 0 ? undefined : system,
    inferenceConfig: unlessEmpty(renderInference(rendering)),
    toolConfig: tools.tools.length === 0 ? undefined : { tools: tools.tools, toolChoice: tools.choice },
    outputConfig: tools.outputConfig,
    additionalModelRequestFields: unlessEmpty(modelFields),
    serviceTier: tier === undefined ? undefined : { type: tier },
  }
  return withOthers(body, others, warnings)
}

/** Renders `top_k`, for which each vendor has its own field and some models have none. */
function renderTopK(topK: unknown, { family, reasoning, warnings }: Rendering): Json {
  if (topK === undefined) return {}
  const isFree = family.kind !== 'claude' || (family.traits.sampling !== 'none' && !reasoning.thinks)
  if (typeof topK === 'number' && isFree && family.kind === 'claude') return { top_k: topK }
  if (typeof topK === 'number' && family.kind === 'nova') return { inferenceConfig: { topK } }
  warnings.add('top_k')
  return {}
}

interface Thinking extends Pick<Rendering, 'family' | 'warnings'> {
  /** The field as the client sent it. */
  readonly thinking: unknown
}

/** Replaces the client's `thinking` by the nearest effort, which each family renders in its own way. */
function withThinking(request: ChatRequest, { thinking, family, warnings }: Thinking): ChatRequest {
  if (thinking === undefined) return request
  const requested = readThinking(thinking)
  const cannot = family.kind === 'other' || (family.kind === 'claude' && family.traits.thinking === 'none')
  if (cannot) {
    warnings.add('thinking')
    return request
  }
  const effort = requested === undefined ? undefined : (effortOf(requested) ?? request.reasoningEffort ?? 'medium')
  if (requested?.type !== 'disabled') warnings.add('thinking')
  return effort === undefined ? request : { ...request, reasoningEffort: effort }
}

function renderInference({ request, target, family, reasoning, warnings }: Rendering): Json {
  const sampling = renderSampling({ request, family, reasoning, warnings })
  const stop = request.stop?.filter((sequence) => sequence !== '') ?? []
  return {
    maxTokens: reasoning.unlimited === true ? undefined : (limitOf(request, target, family) ?? reasoning.maxTokens),
    ...sampling,
    stopSequences: stop.length === 0 ? undefined : stop,
  }
}

/** The output limit. Where only the gateway set it, the model's own maximum applies as well. */
function limitOf(request: ChatRequest, target: RenderTarget, family: ModelFamily): number | undefined {
  const limit = outputLimitOf(request, target)
  const isDefault = request.maxTokens === undefined && target.maxOutputTokens === undefined && family.kind === 'claude'
  return limit === undefined || !isDefault ? limit : Math.min(limit, family.traits.maxOutputTokens)
}

type Sampled = Pick<Rendering, 'request' | 'family' | 'reasoning' | 'warnings'>

/** Temperatures end at 1. Some models take no sampling parameter, some only one, and none with thinking. */
function renderSampling({ request, family, reasoning, warnings }: Sampled): Json {
  const traits = family.kind === 'claude' ? family.traits : undefined
  let temperature = request.temperature === undefined ? undefined : Math.min(request.temperature, 1)
  let topP = request.topP
  if (temperature !== request.temperature) warnings.add('temperature')
  const isFixed = traits !== undefined && (traits.sampling === 'none' || reasoning.thinks)
  if (isFixed && temperature !== undefined) {
    if (temperature !== 1) warnings.add('temperature')
    temperature = undefined
  }
  if (isFixed && topP !== undefined && (traits.sampling === 'none' || topP < LEAST_TOP_P)) {
    if (topP !== 1) warnings.add('top_p')
    topP = undefined
  }
  if (traits?.sampling === 'one' && temperature !== undefined && topP !== undefined) {
    if (topP !== 1) warnings.add('top_p')
    topP = undefined
  }
  return { temperature, topP }
}

/** Warns of hints without a counterpart. */
function warnDropped(request: ChatRequest, warnings: Set<string>): void {
  const { seed, user, metadata, store, prediction } = request
  if (seed !== undefined) warnings.add('seed')
  if (user !== undefined) warnings.add('user')
  if (Object.keys(metadata ?? {}).length > 0) warnings.add('metadata')
  if (store === true) warnings.add('store')
  if (prediction !== undefined && prediction !== null) warnings.add('prediction')
}

function unlessEmpty(fields: Json): Json | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined
}

type Choice = { readonly auto: Json } | { readonly any: Json } | { readonly tool: { readonly name: string } }

interface ToolPlan {
  readonly tools: readonly Json[]
  readonly choice: Choice | undefined
  /** Whether a tool call is forced. */
  readonly forced: boolean
  /** The value for `outputConfig`. Undefined if there is none. */
  readonly outputConfig: Json | undefined
  /** The fields for `additionalModelRequestFields`. */
  readonly fields: Json
  /** The instructions for the system prompt. */
  readonly instructions: readonly string[]
}

interface ToolInput {
  readonly request: ChatRequest
  readonly family: ModelFamily
  readonly warnings: Set<string>
}

const JSON_INSTRUCTION = 'Answer with one JSON object and nothing else: no text around it, no code fence.'
const ANSWER_DESCRIPTION = 'Gives the answer to the user. Its input is the whole answer.'

/** @throws GatewayError `unsupported_parameter` for a choice or a number of calls that cannot be enforced. */
function planTools(input: ToolInput): ToolPlan {
  const { request, family, warnings } = input
  const offered = offeredTools(request)
  if (offered.tools.some((tool) => tool.function.strict === true)) warnings.add('tools[].function.strict')
  const format = planFormat(input, offered.mode === 'none' ? [] : offered.tools)
  const tools = [...(offered.mode === 'none' ? [] : offered.tools.map(renderTool)), ...format.tools]
  const choice = tools.length === 0 ? undefined : (format.choice ?? renderChoice(offered))
  const forced = choice !== undefined && !('auto' in choice)
  if (forced && family.kind === 'claude' && !family.traits.forcedTools) {
    throw unsupportedParameter(format.choice === undefined ? 'tool_choice' : 'response_format')
  }
  const { outputConfig, instructions } = format
  const serial = request.parallelToolCalls === false && tools.length > format.tools.length
  const spoken = serial ? serialChoice(family, choice) : { choice, fields: {} }
  return { tools, forced, outputConfig, instructions, ...spoken }
}

interface OfferedTools {
  readonly tools: readonly Tool[]
  /** Undefined if the client made no choice. */
  readonly mode: 'none' | 'auto' | 'required' | undefined
  /** The one tool to be called. */
  readonly name?: string
}

/** Returns the offered tools: `allowed_tools` has the effect of offering only these. */
function offeredTools({ tools = [], toolChoice: choice }: ChatRequest): OfferedTools {
  if (tools.some((tool) => tool.function.name === ANSWER_TOOL)) {
    throw new GatewayError('invalid_value', `No tool may be called '${ANSWER_TOOL}'.`, { param: 'tools' })
  }
  if (tools.length === 0) {
    if (choice === undefined || choice === 'none' || choice === 'auto') return { tools, mode: undefined }
    throw new GatewayError('invalid_value', '`tool_choice` demands a tool, but there are no `tools`.', {
      param: 'tool_choice',
    })
  }
  if (typeof choice !== 'object') return { tools, mode: choice }
  if (choice.type === 'function') return { tools, mode: 'required', name: choice.function.name }
  const names = new Set(choice.allowed_tools.tools.map((tool) => tool.function.name))
  return { tools: tools.filter((tool) => names.has(tool.function.name)), mode: choice.allowed_tools.mode }
}

function renderTool({ function: { name, description, parameters } }: Tool): Json {
  const schema = parameters ?? { type: 'object', properties: {} }
  const inputSchema = { json: schema['type'] === undefined ? { type: 'object', ...schema } : schema }
  return { toolSpec: { name, ...(description ? { description } : {}), inputSchema } }
}

function renderChoice({ mode, name }: OfferedTools): Choice | undefined {
  if (name !== undefined) return { tool: { name } }
  if (mode === 'required') return { any: {} }
  return mode === 'auto' ? { auto: {} } : undefined
}

/** Limits Claude to one call at a time, in its own format; other models cannot be limited. */
function serialChoice(family: ModelFamily, choice: Choice | undefined): Pick<ToolPlan, 'choice' | 'fields'> {
  if (family.kind !== 'claude') throw unsupportedParameter('parallel_tool_calls')
  const kind = choice === undefined || 'auto' in choice ? 'auto' : 'any' in choice ? 'any' : 'tool'
  const name = choice !== undefined && 'tool' in choice ? { name: choice.tool.name } : {}
  return { choice: undefined, fields: { tool_choice: { type: kind, ...name, disable_parallel_tool_use: true } } }
}

interface FormatPlan extends Pick<ToolPlan, 'tools' | 'outputConfig' | 'instructions'> {
  readonly choice: Choice | undefined
}
const PLAIN: FormatPlan = { tools: [], choice: undefined, outputConfig: undefined, instructions: [] }

/** Models without structured output are made to call a tool with the schema, beside the client's own tools. */
function planFormat({ request, family, warnings }: ToolInput, tools: readonly Tool[]): FormatPlan {
  const { responseFormat: format, toolChoice: choice } = request
  if (format === undefined || format.type === 'text') return PLAIN
  if (format.type === 'json_object' || format.json_schema.schema === undefined) {
    warnings.add('response_format')
    return { ...PLAIN, instructions: [JSON_INSTRUCTION] }
  }
  if (holdsToSchema(family)) return { ...PLAIN, outputConfig: outputConfig(format) }
  const isCallDemanded = tools.length > 0 && choice !== undefined && choice !== 'auto'
  if (isCallDemanded) return PLAIN
  warnings.add('response_format')
  const answer = {
    toolSpec: { name: ANSWER_TOOL, description: ANSWER_DESCRIPTION, inputSchema: { json: format.json_schema.schema } },
  }
  return { ...PLAIN, tools: [answer], choice: tools.length === 0 ? { tool: { name: ANSWER_TOOL } } : { any: {} } }
}

function outputConfig({ json_schema: format }: ResponseFormat & { readonly type: 'json_schema' }): Json {
  const { name, description, schema } = format
  const jsonSchema = { schema: JSON.stringify(schema), name, ...(description ? { description } : {}) }
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } }
}
