/** Our request in the API's words. Nothing is dropped in silence. */
import type { ChatRequest, ResponseFormat } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Json } from '../../lib/json.ts'
import { refuseCustomTools } from '../custom-tools.ts'
import { outputLimitOf } from '../output-limit.ts'
import type { RenderTarget, WireRequest } from '../protocol.ts'
import { renderConversation } from './contents.ts'
import { familyOf } from './models.ts'
import type { GeminiOptions } from './options.ts'
import { renderSchema } from './schema.ts'
import { renderTools } from './tools.ts'

const INT32_SIZE = 2 ** 31

/** Part of a body: undefined where unsaid. */
type Body = Record<string, unknown>

interface Rendering {
  readonly request: ChatRequest
  readonly target: RenderTarget
  readonly model: string
  /** Names of parameters that were dropped or bent. */
  readonly warnings: Set<string>
}

/** @throws GatewayError `unsupported_parameter` or `unsupported_content`, with `param`, for what the API cannot do. */
export function renderRequest(request: ChatRequest, target: RenderTarget, options: GeminiOptions): WireRequest {
  const { model } = target
  const warnings = new Set<string>()
  const rendering = { request, target, model, warnings }
  refuseCustomTools(request)
  refuseUnsayable(request)
  dropHints(request, warnings)
  const { demandsSignatures } = familyOf(model)
  const body = {
    ...renderConversation(request.messages, { demandsSignatures, warnings }),
    ...renderTools(request, { formatsWithTools: familyOf(model).formatsWithTools, warnings }),
    generationConfig: unlessEmpty(renderGeneration(rendering)),
    serviceTier: renderServiceTier(rendering, options),
  }
  return { path: renderPath(request.stream, model, options), body: stringify(body), warnings: [...warnings] }
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

function refuseUnsayable({ logitBias, modalities }: ChatRequest): void {
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

function renderGeneration(rendering: Rendering): Body {
  const { request, target } = rendering
  const logprobs = request.logprobs === true
  return {
    candidateCount: request.n > 1 ? request.n : undefined,
    maxOutputTokens: outputLimitOf(request, target),
    temperature: request.temperature,
    topP: request.topP,
    stopSequences: request.stop,
    seed: renderSeed(rendering),
    presencePenalty: request.presencePenalty,
    frequencyPenalty: request.frequencyPenalty,
    responseLogprobs: logprobs ? true : undefined,
    logprobs: logprobs ? request.topLogprobs : undefined,
    responseModalities: renderModalities(request.modalities),
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

/** Whoever says how much to think is shown the thoughts, unless it was none. */
function renderThinking({ request: { reasoningEffort: effort }, model, warnings }: Rendering): Json | undefined {
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

function renderServiceTier(
  { request, warnings }: Rendering,
  { serviceTier = true }: GeminiOptions,
): string | undefined {
  const { serviceTier: tier } = request
  if (tier === undefined || tier === 'auto' || tier === 'default') return undefined
  if (serviceTier && (tier === 'flex' || tier === 'priority')) return tier
  warnings.add('service_tier')
  return undefined
}

function unlessEmpty(body: Body): Body | undefined {
  return Object.values(body).every((value) => value === undefined) ? undefined : body
}

function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', `The provider of this model does not support '${param}'.`, { param })
}
