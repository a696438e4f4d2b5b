/** Our request as a Messages request. Nothing is dropped in silence. */
import type { ChatRequest } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { refuseCustomTools } from '../custom-tools.ts'
import {
  type Fields,
  type ForwardedFields,
  type Forwarding,
  forwardedFields,
  pricedField,
  withOthers,
} from '../forwarded-fields.ts'
import { outputLimitOf } from '../output-limit.ts'
import type { RenderTarget, WireRequest } from '../protocol.ts'
import type { Gathering } from './content.ts'
import { planFormat } from './format.ts'
import { renderConversation } from './messages.ts'
import { type ModelTraits, traitsOf } from './models.ts'
import type { AnthropicMessagesOptions } from './options.ts'
import { planThinking, type ThinkingPlan } from './reasoning.ts'
import { planTools } from './tools.ts'
import type { Block } from './wire.ts'

const VERSION = '2023-06-01'
/** Room for an answer where neither client nor catalogue say how long it may be, in tokens. */
const ANSWER_ROOM = 8192
/** Beside the answer's, where the model decides how long it thinks. */
const THINKING_ROOM = 24_576

/** @throws GatewayError with `param`, for what the API cannot do. */
export function renderRequest(
  request: ChatRequest,
  target: RenderTarget,
  options: AnthropicMessagesOptions,
): WireRequest {
  const traits = (options.traitsOf ?? traitsOf)(target.model)
  const warnings = new Set<string>()
  const { price } = target
  const gathering: Gathering = { warnings, betas: new Set(), cached: [], price }
  refuseCustomTools(request)
  const fields = forwardedFields(request, { known: KNOWN, target, warnings })
  const { top_k: _, thinking: __, safety_identifier: ___, ...others } = fields
  const body = withOthers(renderBody(request, { target, traits, gathering, fields }), others, warnings)
  const { betas } = gathering
  const headers: Record<string, string> = { 'anthropic-version': VERSION }
  if (betas.size > 0) headers['anthropic-beta'] = [...betas].join(',')
  return { path: '/v1/messages', body: JSON.stringify(body), headers, warnings: [...warnings] }
}

/** Of these, all but the last are translated. */
export const FORWARDS: ForwardedFields = {
  fields: ['top_k', 'thinking', 'safety_identifier', 'cache_control'],
  source: { url: 'https://platform.claude.com/docs/en/api/messages', read: '2026-11-20' },
}
const KNOWN: ReadonlySet<string> = new Set(FORWARDS.fields)

interface Rendering {
  readonly target: RenderTarget
  readonly fields: Fields
  readonly traits: ModelTraits
  readonly gathering: Gathering
}

function renderBody(request: ChatRequest, rendering: Rendering): Block {
  const { target, traits, gathering, fields } = rendering
  const { warnings, betas } = gathering
  refuseUnsayable(request, { target, warnings })
  const format = planFormat(request.responseFormat, traits, warnings)
  const { outputFormat, answerTool } = format
  const tools = planTools(request, { traits, answerTool, warnings })
  const asked = limitAsked(request, rendering)
  const limit = asked ?? target.maxOutputTokens ?? traits.maxOutputTokens
  const asking = fields['thinking']
  const plan = planThinking(request, { traits, limit, isForced: tools.isForced, asking, warnings, betas })
  const conversation = renderConversation(request.messages, {
    ...gathering,
    thinking: plan.isOn,
    prefill: traits.prefill && !plan.isOn && outputFormat === undefined,
    instructions: [format.instruction, tools.instruction].filter((text) => text !== undefined),
  })
  const hasOutputConfig = plan.effort !== undefined || outputFormat !== undefined
  return {
    model: target.model,
    max_tokens: asked ?? target.maxOutputTokens ?? roomFor(plan, traits),
    ...conversation,
    tools: tools.tools,
    tool_choice: tools.choice,
    thinking: plan.thinking,
    output_config: hasOutputConfig ? { effort: plan.effort, format: outputFormat } : undefined,
    ...renderSampling(request, { traits, isThinking: plan.isOn, topK: fields['top_k'], warnings }),
    stop_sequences: request.stop,
    metadata: renderMetadata(request, fields, warnings),
    stream: request.stream ? true : undefined,
  }
}

/** Where only the gateway said how long the answer may be, what is known of the model counts as well. */
function limitAsked(request: ChatRequest, { target, traits, gathering }: Rendering): number | undefined {
  const isNamed = request.maxTokens !== undefined
  const most = target.maxOutputTokens ?? (isNamed ? undefined : traits.maxOutputTokens)
  const limit = outputLimitOf(request, target)
  if (limit === undefined || most === undefined || limit <= most) return limit
  if (isNamed) gathering.warnings.add('max_tokens')
  return most
}

function roomFor({ budget, isOn }: ThinkingPlan, { maxOutputTokens }: ModelTraits): number {
  const forThinking = budget ?? (isOn ? THINKING_ROOM : 0)
  return Math.min(maxOutputTokens, ANSWER_ROOM + forThinking)
}

/** What changes the answer and has no counterpart. Values that ask for nothing pass. */
function refuseUnsayable(request: ChatRequest, forwarding: Pick<Forwarding, 'target' | 'warnings'>): void {
  const { logprobs, topLogprobs = 0, frequencyPenalty = 0, presencePenalty = 0, logitBias = {} } = request
  if (logprobs === true) throw unsupported('logprobs')
  if (topLogprobs !== 0) throw unsupported('top_logprobs')
  if (frequencyPenalty !== 0) throw unsupported('frequency_penalty')
  if (presencePenalty !== 0) throw unsupported('presence_penalty')
  if (Object.keys(logitBias).length > 0) throw unsupported('logit_bias')
  if (pricedField('modalities', request.modalities, forwarding) !== undefined) throw unsupported('modalities')
  if (pricedField('service_tier', request.serviceTier, forwarding) !== undefined) throw unsupported('service_tier')
  if (request.stop?.some((stop) => stop.trim() === '')) {
    const message = "The provider of this model does not take a 'stop' sequence of nothing but white space."
    throw new GatewayError('unsupported_parameter', message, { param: 'stop' })
  }
}

function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', `The provider of this model does not support '${param}'.`, { param })
}

interface SamplingRules {
  readonly traits: ModelTraits
  readonly isThinking: boolean
  /** `top_k` as the client wrote it. */
  readonly topK: unknown
  readonly warnings: Set<string>
}

interface Sampling {
  readonly temperature?: number | undefined
  readonly top_p?: number | undefined
  readonly top_k?: number | undefined
}

/** 1 is the default of both `temperature` and `top_p`, so leaving it out says the same. */
function renderSampling(request: ChatRequest, { traits, isThinking, topK: top, warnings }: SamplingRules): Sampling {
  const { temperature, topP } = request
  const topK = typeof top === 'number' ? top : undefined
  if (top !== undefined && topK === undefined) warnings.add('top_k')
  const isFree = traits.sampling !== 'none' && !isThinking
  const drop = (name: string, value: number | undefined): undefined => {
    if (value !== undefined && value !== 1) warnings.add(name)
    return undefined
  }
  if (!isFree) {
    const mayNarrow = traits.sampling !== 'none' && topP !== undefined && topP >= 0.95
    drop('temperature', temperature)
    if (topK !== undefined) warnings.add('top_k')
    return { top_p: mayNarrow ? topP : drop('top_p', topP) }
  }
  if (temperature !== undefined && temperature > 1) warnings.add('temperature')
  const heat = temperature === undefined ? undefined : Math.min(temperature, 1)
  if (traits.sampling === 'both' || heat === undefined || topP === undefined)
    return { temperature: heat, top_p: topP, top_k: topK }
  return heat === 1 ? { top_p: topP, top_k: topK } : { temperature: heat, top_p: drop('top_p', topP), top_k: topK }
}

interface UserMetadata {
  readonly user_id: string
}

/** The hints: of them the API has a word for who the user is. */
function renderMetadata(request: ChatRequest, fields: Fields, warnings: Set<string>): UserMetadata | undefined {
  const { user, metadata, seed, store, prediction } = request
  const { safety_identifier: identifier = user } = fields
  if (metadata !== undefined) warnings.add('metadata')
  if (seed !== undefined) warnings.add('seed')
  if (store === true) warnings.add('store')
  if (prediction !== undefined) warnings.add('prediction')
  if (user !== undefined && identifier !== user) warnings.add('user')
  if (typeof identifier === 'string') return { user_id: identifier }
  if (identifier !== undefined) warnings.add('safety_identifier')
  return undefined
}
