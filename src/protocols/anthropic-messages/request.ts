/** Renders a request for the Messages API. Drops nothing without a warning. */
import type { ChatRequest, NativeRequest } from '../../domain/chat.ts'
import { isRecord } from '../../lib/json.ts'
import {
  type Fields,
  type ForwardedFields,
  type Forwarding,
  forwardedFields,
  pricedField,
  withOthers,
} from '../body-fields.ts'
import type { Block } from '../conversation.ts'
import { outputLimitOf, refuseSamplingControls, unsupportedParameter, withoutCustomTools } from '../parameters.ts'
import type { RenderTarget, WireRequest } from '../protocol.ts'
import { renderMessages } from './messages.ts'
import { type ModelTraits, traitsOf } from './models.ts'
import { betasOf, nativeFields, nativeOf, renderNativeConversation, renderNativeTools } from './native.ts'
import { planThinking, type ThinkingPlan } from './reasoning.ts'
import { planFormat, planTools, renderServerTools } from './tools.ts'

const VERSION = '2023-06-01'
/** The limit of an answer in tokens where neither client nor catalogue set one. */
const DEFAULT_ANSWER_TOKENS = 8192
/** Added where the model decides how long it thinks. */
const DEFAULT_THINKING_TOKENS = 24_576

/** @throws GatewayError with `param`, for what the API cannot do. */
export function renderRequest(original: ChatRequest, target: RenderTarget): WireRequest {
  const traits = traitsOf(target.model)
  const warnings = new Set<string>()
  const request = withoutCustomTools(original)
  const native = nativeOf(request)
  const betas = new Set(betasOf(native))
  const fields = forwardedFields(request, { known: KNOWN, target, warnings })
  const { top_k: _, thinking: __, safety_identifier: ___, web_search_options: ____, ...others } = fields
  const extras = native === undefined ? others : { ...others, ...nativeFields(native, { target, warnings }) }
  const body = withOthers(renderBody(request, { target, traits, warnings, betas, fields }), extras, warnings)
  const headers: Record<string, string> = { 'anthropic-version': VERSION }
  if (betas.size > 0) headers['anthropic-beta'] = [...betas].join(',')
  return { path: '/v1/messages', body: JSON.stringify(body), headers, warnings: [...warnings] }
}

/** The forwarded fields, of which all but the last are translated. */
export const FORWARDS: ForwardedFields = {
  fields: ['top_k', 'thinking', 'safety_identifier', 'web_search_options', 'cache_control'],
  source: { url: 'https://platform.claude.com/docs/en/api/messages', read: '2026-11-20' },
}
const KNOWN: ReadonlySet<string> = new Set(FORWARDS.fields)

interface Rendering {
  readonly target: RenderTarget
  readonly fields: Fields
  readonly traits: ModelTraits
  /** The names of parameters that were dropped or adjusted. */
  readonly warnings: Set<string>
  /** The values of `anthropic-beta`. */
  readonly betas: Set<string>
}

function renderBody(request: ChatRequest, rendering: Rendering): Block {
  const { target, traits, warnings, betas, fields } = rendering
  refuseUnsupported(request, { target, warnings })
  const format = planFormat(request.responseFormat, traits, warnings)
  const { outputFormat, answerTool } = format
  const tools = planTools(request, { traits, answerTool, warnings })
  const serverTools = renderServerTools(request, { target, warnings, betas })
  const requested = requestedLimit(request, rendering)
  const limit = requested ?? target.maxOutputTokens ?? traits.maxOutputTokens
  const plan = planThinking(request, {
    traits,
    limit,
    isForced: tools.isForced,
    thinking: fields['thinking'],
    warnings,
    betas,
  })
  const native = nativeOf(request)
  const settings = {
    warnings,
    betas,
    price: target.price,
    returnsContext: plan.isOn,
    prefill: traits.prefill && !plan.isOn && outputFormat === undefined,
    instructions: [format.instruction, tools.instruction].filter((text) => text !== undefined),
  }
  const functions = tools.tools ?? []
  const outputConfig = { ...otherOutputConfig(native), effort: plan.effort, format: outputFormat }
  return {
    model: target.model,
    max_tokens: requested ?? target.maxOutputTokens ?? defaultLimit(plan, traits),
    ...(native === undefined ? renderMessages(request.messages, settings) : renderNativeConversation(native, settings)),
    tools:
      native === undefined
        ? listedTools([...functions, ...serverTools])
        : renderNativeTools(native, { functions, serverTools, price: target.price, warnings }),
    tool_choice: tools.choice,
    thinking: plan.thinking,
    output_config: Object.values(outputConfig).some((value) => value !== undefined) ? outputConfig : undefined,
    ...renderSampling(request, { traits, isThinking: plan.isOn, topK: fields['top_k'], warnings }),
    stop_sequences: request.stop,
    metadata: renderMetadata(request, fields, warnings),
    stream: request.stream ? true : undefined,
  }
}

function listedTools(tools: readonly Block[]): readonly Block[] | undefined {
  return tools.length === 0 ? undefined : tools
}

/** Members of `output_config` that other APIs do not have. */
function otherOutputConfig(native: NativeRequest | undefined): object {
  const config = native?.body['output_config']
  if (!isRecord(config)) return {}
  const { effort: _, format: __, ...others } = config
  return others
}

/** The output limit. Where only the gateway set it, the model's own maximum applies as well. */
function requestedLimit(request: ChatRequest, { target, traits, warnings }: Rendering): number | undefined {
  const isClients = request.maxTokens !== undefined
  const most = target.maxOutputTokens ?? (isClients ? undefined : traits.maxOutputTokens)
  const limit = outputLimitOf(request, target)
  if (limit === undefined || most === undefined || limit <= most) return limit
  if (isClients) warnings.add('max_tokens')
  return most
}

function defaultLimit({ budget, isOn }: ThinkingPlan, { maxOutputTokens }: ModelTraits): number {
  const forThinking = budget ?? (isOn ? DEFAULT_THINKING_TOKENS : 0)
  return Math.min(maxOutputTokens, DEFAULT_ANSWER_TOKENS + forThinking)
}

/** Rejects parameters that change the answer and have no counterpart. Values without effect pass. */
function refuseUnsupported(request: ChatRequest, forwarding: Pick<Forwarding, 'target' | 'warnings'>): void {
  refuseSamplingControls(request)
  if (pricedField('modalities', request.modalities, forwarding) !== undefined) throw unsupportedParameter('modalities')
  if (pricedField('service_tier', request.serviceTier, forwarding) !== undefined) {
    throw unsupportedParameter('service_tier')
  }
  if (request.stop?.some((stop) => stop.trim() === '')) {
    const message = "The provider of this model does not take a 'stop' sequence of nothing but white space."
    throw unsupportedParameter('stop', message)
  }
}

interface SamplingRules {
  readonly traits: ModelTraits
  readonly isThinking: boolean
  /** `top_k` as the client sent it. */
  readonly topK: unknown
  readonly warnings: Set<string>
}

interface Sampling {
  readonly temperature?: number | undefined
  readonly top_p?: number | undefined
  readonly top_k?: number | undefined
}

/** 1 is the default of both `temperature` and `top_p`, so leaving it out has the same effect. */
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

/** Renders metadata: of the hints, the API supports only the user's ID. */
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
