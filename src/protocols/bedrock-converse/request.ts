/** Our request in the words of the Converse API. Nothing is dropped in silence. */
import type { ChatRequest } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Json } from '../../lib/json.ts'
import { refuseCustomTools } from '../custom-tools.ts'
import { type Fields, type ForwardedFields, forwardedFields, pricedField, withOthers } from '../forwarded-fields.ts'
import { outputLimitOf } from '../output-limit.ts'
import type { RenderTarget, WireRequest } from '../protocol.ts'
import { effortOf, readThinking } from '../thinking.ts'
import { renderConversation } from './messages.ts'
import { familyOf, type ModelFamily, takesPrefill } from './models.ts'
import { planReasoning, type ReasoningPlan } from './reasoning.ts'
import { planTools, type ToolPlan } from './tools.ts'

/** With thinking, a model that takes `top_p` at all takes it only from here. */
const LEAST_TOP_P = 0.95

/** @throws GatewayError `unsupported_parameter`, `unsupported_content` or `invalid_value`, with `param`. */
export function renderRequest(asked: ChatRequest, target: RenderTarget): WireRequest {
  const warnings = new Set<string>()
  const family = familyOf(target.model)
  refuseCustomTools(asked)
  refuseUnsaid(asked)
  const forwarding = { known: KNOWN, target, warnings }
  const fields = forwardedFields(asked, forwarding)
  if (pricedField('modalities', asked.modalities, forwarding) !== undefined) throw unsupported('modalities')
  const tier = pricedField('service_tier', asked.serviceTier, forwarding)
  nameDropped(asked, warnings)
  const request = withThinking(asked, { thinking: fields['thinking'], family, warnings })
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

/** All are translated, as far as the family of the model has them. */
export const FORWARDS: ForwardedFields = {
  fields: ['top_k', 'thinking'],
  source: {
    url: 'https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html',
    read: '2026-11-23',
  },
}
const KNOWN: ReadonlySet<string> = new Set(FORWARDS.fields)
/** The words of `serviceTier.type`. */
const SERVICE_TIERS: readonly string[] = ['flex', 'priority']

interface Rendering {
  readonly request: ChatRequest
  readonly target: RenderTarget
  readonly fields: Fields
  /** One that is priced; undefined: the ordinary one. */
  readonly tier: string | undefined
  readonly family: ModelFamily
  readonly tools: ToolPlan
  readonly reasoning: ReasoningPlan
  readonly warnings: Set<string>
}

function renderBody(rendering: Rendering): object {
  const { request, target, family, tools, reasoning, fields, tier, warnings } = rendering
  if (tier !== undefined && !SERVICE_TIERS.includes(tier)) throw unsupported('service_tier')
  const { top_k: topK, thinking: _, ...others } = fields
  const { system, messages } = renderConversation(request.messages, {
    warnings,
    reasoning: reasoning.replays,
    prefill: takesPrefill(family),
    tools: tools.tools.length > 0,
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

/** Each maker has it in a place of its own, and some models nowhere. */
function renderTopK(topK: unknown, { family, reasoning, warnings }: Rendering): Json {
  if (topK === undefined) return {}
  const isFree = family.kind !== 'claude' || (family.traits.sampling !== 'none' && !reasoning.thinks)
  if (typeof topK === 'number' && isFree && family.kind === 'claude') return { top_k: topK }
  if (typeof topK === 'number' && family.kind === 'nova') return { inferenceConfig: { topK } }
  warnings.add('top_k')
  return {}
}

interface Thinking extends Pick<Rendering, 'family' | 'warnings'> {
  /** As the client wrote it. */
  readonly thinking: unknown
}

/** The client's `thinking` as the nearest effort, which each family has its own words for. */
function withThinking(request: ChatRequest, { thinking, family, warnings }: Thinking): ChatRequest {
  if (thinking === undefined) return request
  const asked = readThinking(thinking)
  const cannot = family.kind === 'other' || (family.kind === 'claude' && family.traits.thinking === 'none')
  if (cannot) {
    warnings.add('thinking')
    return request
  }
  const effort = asked === undefined ? undefined : (effortOf(asked) ?? request.reasoningEffort ?? 'medium')
  if (asked?.type !== 'disabled') warnings.add('thinking')
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

/** Where only the gateway said how long the answer may be, what is known of the model counts as well. */
function limitOf(request: ChatRequest, target: RenderTarget, family: ModelFamily): number | undefined {
  const limit = outputLimitOf(request, target)
  const isGuess = request.maxTokens === undefined && target.maxOutputTokens === undefined && family.kind === 'claude'
  return limit === undefined || !isGuess ? limit : Math.min(limit, family.traits.maxOutputTokens)
}

type Sampled = Pick<Rendering, 'request' | 'family' | 'reasoning' | 'warnings'>

/** Temperatures end at 1 here. Some models take no sampling parameter, some only one, and none with thinking. */
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

/** What changes an answer and has no word here. Values that ask for nothing are let go. */
function refuseUnsaid(request: ChatRequest): void {
  if (request.logprobs === true) throw unsupported('logprobs')
  if ((request.topLogprobs ?? 0) !== 0) throw unsupported('top_logprobs')
  if ((request.frequencyPenalty ?? 0) !== 0) throw unsupported('frequency_penalty')
  if ((request.presencePenalty ?? 0) !== 0) throw unsupported('presence_penalty')
  if (Object.keys(request.logitBias ?? {}).length > 0) throw unsupported('logit_bias')
}

/** Hints that have no word here. */
function nameDropped(request: ChatRequest, warnings: Set<string>): void {
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

function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', `The provider of this model does not support '${param}'.`, { param })
}
