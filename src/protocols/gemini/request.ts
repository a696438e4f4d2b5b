/** Our request in the API's words. Nothing is dropped in silence. */
import type { ChatRequest, ReasoningEffort, ResponseFormat } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Json } from '../../lib/json.ts'
import { refuseCustomTools } from '../custom-tools.ts'
import { type Fields, type ForwardedFields, forwardedFields, pricedField, withOthers } from '../forwarded-fields.ts'
import { outputLimitOf } from '../output-limit.ts'
import type { RenderTarget, WireRequest } from '../protocol.ts'
import { checkStops } from '../stop-sequences.ts'
import { effortOf, readThinking } from '../thinking.ts'
import { renderConversation } from './contents.ts'
import { familyOf } from './models.ts'
import type { GeminiOptions } from './options.ts'
import { renderSchema } from './schema.ts'
import { renderTools } from './tools.ts'

const INT32_SIZE = 2 ** 31
/** The model decides how much it thinks. */
const DYNAMIC_BUDGET = -1

/** Part of a body: undefined where unsaid. */
type Body = Record<string, unknown>

/** All are translated. */
export const FORWARDS: ForwardedFields = { fields: ['top_k', 'thinking', 'safety_settings'] }
const KNOWN: ReadonlySet<string> = new Set(FORWARDS.fields)

interface Rendering {
  readonly request: ChatRequest
  readonly target: RenderTarget
  readonly model: string
  readonly fields: Fields
  /** Undefined: text alone. */
  readonly modalities: readonly string[] | undefined
  /** Names of parameters that were dropped or bent. */
  readonly warnings: Set<string>
}

/** @throws GatewayError `unsupported_parameter` or `unsupported_content`, with `param`, for what the API cannot do. */
export function renderRequest(request: ChatRequest, target: RenderTarget, options: GeminiOptions): WireRequest {
  const { model } = target
  const warnings = new Set<string>()
  refuseCustomTools(request)
  const forwarding = { known: KNOWN, target, warnings }
  const fields = forwardedFields(request, forwarding)
  const modalities = pricedField('modalities', request.modalities, forwarding)
  const rendering = { request, target, model, fields, modalities, warnings }
  refuseUnsayable(request, modalities)
  dropHints(request, warnings)
  const { demandsSignatures } = familyOf(model)
  const { top_k: _, thinking: __, safety_settings: safetySettings, ...others } = fields
  const body = {
    ...renderConversation(request.messages, { demandsSignatures, warnings }),
    ...renderTools(request, { formatsWithTools: familyOf(model).formatsWithTools, warnings }),
    generationConfig: unlessEmpty(renderGeneration(rendering)),
    serviceTier: renderServiceTier(pricedField('service_tier', request.serviceTier, forwarding), options),
    safetySettings,
  }
  return {
    path: renderPath(request.stream, model, options),
    body: stringify(withOthers(body, others, warnings)),
    warnings: [...warnings],
  }
}

/** @param model May say more than a name: `tunedModels/…`. */
function renderPath(stream: boolean, model: string, { pathPrefix = '/v1beta' }: GeminiOptions): string {
  const resource = model.includes('/') ? model : `models/${model}`
  const path = `${pathPrefix}/${resource.split('/').map(encodeURIComponent).join('/')}`
  return stream ? `${path}:streamGenerateContent?alt=sse` : `${path}:generateContent`
}

function stringify(body: unknown): string {
  try {
    return JSON.stringify(body)
  } catch (error) {
    const message = 'The arguments or results of tools in `messages` are nested too deeply.'
    throw new GatewayError('invalid_value', message, { param: 'messages', cause: error })
  }
}

function refuseUnsayable({ logitBias }: ChatRequest, modalities: readonly string[] | undefined): void {
  if (logitBias !== undefined && Object.keys(logitBias).length > 0) throw unsupported('logit_bias')
  if (modalities?.some((modality) => modality !== 'text' && modality !== 'image')) throw unsupported('modalities')
}

function dropHints({ user, metadata, store, prediction, parallelToolCalls }: ChatRequest, warnings: Set<string>): void {
  if (user !== undefined) warnings.add('user')
  if (metadata !== undefined) warnings.add('metadata')
  if (store === true) warnings.add('store')
  if (prediction !== undefined && prediction !== null) warnings.add('prediction')
  if (parallelToolCalls === false) warnings.add('parallel_tool_calls')
}

/** https://ai.google.dev/api/generate-content#GenerationConfig, read 2026-11-23. */
const MAX_STOPS = 5

function stopsOf({ stop }: ChatRequest): readonly string[] | undefined {
  checkStops(stop, MAX_STOPS)
  return stop
}

function renderGeneration(rendering: Rendering): Body {
  const { request, target } = rendering
  const logprobs = request.logprobs === true
  return {
    candidateCount: request.n > 1 ? request.n : undefined,
    maxOutputTokens: outputLimitOf(request, target),
    temperature: request.temperature,
    topP: request.topP,
    topK: renderTopK(rendering),
    stopSequences: stopsOf(request),
    seed: renderSeed(rendering),
    presencePenalty: request.presencePenalty,
    frequencyPenalty: request.frequencyPenalty,
    responseLogprobs: logprobs ? true : undefined,
    logprobs: logprobs ? request.topLogprobs : undefined,
    responseModalities: renderModalities(rendering.modalities),
    thinkingConfig: renderThinking(rendering),
    ...renderFormat(request.responseFormat, rendering.warnings),
  }
}

/** A signed number of 32 bits; larger ones are folded. */
function renderSeed({ request: { seed }, warnings }: Rendering): number | undefined {
  if (seed === undefined || Math.abs(seed) < INT32_SIZE) return seed
  warnings.add('seed')
  return seed % INT32_SIZE
}

function renderModalities(modalities: readonly string[] | undefined): readonly string[] | undefined {
  return modalities?.includes('image') ? modalities.map((modality) => modality.toUpperCase()) : undefined
}

function renderTopK({ fields: { top_k: topK }, warnings }: Rendering): number | undefined {
  if (typeof topK === 'number') return topK
  if (topK !== undefined) warnings.add('top_k')
  return undefined
}

/** The client's `thinking` where it says one: as a budget in tokens, or the nearest level. */
function renderThinking(rendering: Rendering): Json | undefined {
  const { request, model, fields, warnings } = rendering
  const asked = readThinking(fields['thinking'])
  if (asked === undefined) {
    if (fields['thinking'] !== undefined) warnings.add('thinking')
    return renderEffort(request.reasoningEffort, rendering)
  }
  const { thinking } = familyOf(model)
  const most = thinking?.max
  if (most === undefined) {
    warnings.add('thinking')
    return undefined
  }
  if (asked.type === 'disabled') return renderEffort('none', rendering)
  if (!('thinkingBudget' in most)) {
    if (asked.type === 'enabled') warnings.add('thinking')
    return renderEffort(request.reasoningEffort ?? effortOf(asked), rendering) ?? { includeThoughts: true }
  }
  const thinkingBudget = asked.budget === undefined ? DYNAMIC_BUDGET : Math.min(asked.budget, most.thinkingBudget)
  if (asked.budget !== undefined && thinkingBudget !== asked.budget) warnings.add('thinking')
  return { thinkingBudget, includeThoughts: true }
}

/** Whoever says how much to think is shown the thoughts, unless it was none. */
function renderEffort(effort: ReasoningEffort | undefined, { model, warnings }: Rendering): Json | undefined {
  if (effort === undefined) return undefined
  const { thinking, exactEfforts } = familyOf(model)
  if (thinking === undefined) {
    if (effort === 'none') return undefined
    throw unsupported('reasoning_effort')
  }
  if (!exactEfforts.includes(effort)) warnings.add('reasoning_effort')
  return effort === 'none' ? thinking[effort] : { ...thinking[effort], includeThoughts: true }
}

function renderFormat(format: ResponseFormat | undefined, warnings: Set<string>): Body {
  if (format === undefined || format.type === 'text') return {}
  const responseMimeType = 'application/json'
  const schema = format.type === 'json_schema' ? format.json_schema.schema : undefined
  if (schema === undefined) return { responseMimeType }
  const responseJsonSchema = renderSchema(schema, 'response_format.json_schema.schema', warnings)
  return { responseMimeType, responseJsonSchema }
}

/** @param tier One that is priced. */
function renderServiceTier(tier: string | undefined, { serviceTier = true }: GeminiOptions): string | undefined {
  if (tier === undefined || (serviceTier && (tier === 'flex' || tier === 'priority'))) return tier
  throw unsupported('service_tier')
}

function unlessEmpty(body: Body): Body | undefined {
  return Object.values(body).every((value) => value === undefined) ? undefined : body
}

function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', `The provider of this model does not support '${param}'.`, { param })
}
