/** Our request in the words of the Converse API. Nothing is dropped in silence. */
import type { ChatRequest } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Json } from '../../lib/json.ts'
import { refuseCustomTools } from '../custom-tools.ts'
import { outputLimitOf } from '../output-limit.ts'
import type { RenderTarget, WireRequest } from '../protocol.ts'
import { renderConversation } from './messages.ts'
import { familyOf, type ModelFamily, takesPrefill } from './models.ts'
import { planReasoning, type ReasoningPlan } from './reasoning.ts'
import { planTools, type ToolPlan } from './tools.ts'

/** With thinking, a model that takes `top_p` at all takes it only from here. */
const LEAST_TOP_P = 0.95

/** @throws GatewayError `unsupported_parameter`, `unsupported_content` or `invalid_value`, with `param`. */
export function renderRequest(request: ChatRequest, target: RenderTarget): WireRequest {
  const warnings = new Set<string>()
  const family = familyOf(target.model)
  refuseCustomTools(request)
  refuseUnsaid(request)
  nameDropped(request, warnings)
  const tools = planTools({ request, family, warnings })
  const reasoning = planReasoning({ request, target, family, forced: tools.forced, warnings })
  const body = renderBody({ request, target, family, tools, reasoning, warnings })
  const operation = request.stream ? 'converse-stream' : 'converse'
  return {
    path: `/model/${encodeURIComponent(target.model)}/${operation}`,
    body: JSON.stringify(body),
    ...(request.stream ? { headers: { accept: 'application/vnd.amazon.eventstream' } } : {}),
    warnings: [...warnings],
  }
}

interface Rendering {
  readonly request: ChatRequest
  readonly target: RenderTarget
  readonly family: ModelFamily
  readonly tools: ToolPlan
  readonly reasoning: ReasoningPlan
  readonly warnings: Set<string>
}

function renderBody(rendering: Rendering): Json {
  const { request, family, tools, reasoning, warnings } = rendering
  const { system, messages } = renderConversation(request.messages, {
    warnings,
    reasoning: reasoning.replays,
    prefill: takesPrefill(family),
    tools: tools.tools.length > 0,
    instructions: tools.instructions,
  })
  const fields = { ...reasoning.fields, ...tools.fields }
  return {
    messages,
    system: system.length === 0 ? undefined : system,
    inferenceConfig: unlessEmpty(renderInference(rendering)),
    toolConfig: tools.tools.length === 0 ? undefined : { tools: tools.tools, toolChoice: tools.choice },
    outputConfig: tools.outputConfig,
    additionalModelRequestFields: unlessEmpty(fields),
  }
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

/** Where only the gateway said how long the answer may be, what is known of the model counts as well. */
function limitOf(request: ChatRequest, target: RenderTarget, family: ModelFamily): number | undefined {
  const limit = outputLimitOf(request, target)
  const isGuess = request.maxTokens === undefined && target.maxOutputTokens === undefined && family.kind === 'claude'
  return limit === undefined || !isGuess ? limit : Math.min(limit, family.traits.maxOutputTokens)
}

/** Temperatures end at 1 here. Some models take no sampling parameter, some only one, and none with thinking. */
function renderSampling({ request, family, reasoning, warnings }: Omit<Rendering, 'tools' | 'target'>): Json {
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

/** What changes an answer and has no word here. Values that ask for nothing are let go. */
function refuseUnsaid(request: ChatRequest): void {
  if (request.logprobs === true) throw unsupported('logprobs')
  if ((request.topLogprobs ?? 0) !== 0) throw unsupported('top_logprobs')
  if ((request.frequencyPenalty ?? 0) !== 0) throw unsupported('frequency_penalty')
  if ((request.presencePenalty ?? 0) !== 0) throw unsupported('presence_penalty')
  if (Object.keys(request.logitBias ?? {}).length > 0) throw unsupported('logit_bias')
  if (request.modalities?.some((modality) => modality !== 'text')) throw unsupported('modalities')
}

/** Hints that have no word here. */
function nameDropped(request: ChatRequest, warnings: Set<string>): void {
  const { seed, user, metadata, store, prediction, serviceTier } = request
  if (seed !== undefined) warnings.add('seed')
  if (user !== undefined) warnings.add('user')
  if (Object.keys(metadata ?? {}).length > 0) warnings.add('metadata')
  if (store === true) warnings.add('store')
  if (prediction !== undefined && prediction !== null) warnings.add('prediction')
  if (serviceTier !== undefined && serviceTier !== 'auto' && serviceTier !== 'default') warnings.add('service_tier')
}

function unlessEmpty(fields: Json): Json | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined
}

function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', `The provider of this model does not support '${param}'.`, { param })
}
