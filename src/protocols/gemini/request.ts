/**
 * Renders a request for generateContent, by the model's family. Drops nothing without a warning. The first family whose
 * pattern fits counts; the last fits all, and describes new models.
 *
 * Sources, read 2026-11-20: https://ai.google.dev/gemini-api/docs/thinking (levels and budgets of each model),
 * https://ai.google.dev/gemini-api/docs/openai (efforts in their terms),
 * https://ai.google.dev/gemini-api/docs/thought-signatures (models that require them).
 */
import type { ChatRequest, ReasoningEffort, ResponseFormat } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Json } from '../../lib/json.ts'
import { type Fields, type ForwardedFields, forwardedFields, pricedField, withOthers } from '../body-fields.ts'
import {
  checkStops,
  effortOf,
  outputLimitOf,
  readThinking,
  unsupportedParameter,
  withoutCustomTools,
} from '../parameters.ts'
import type { RenderTarget, WireRequest } from '../protocol.ts'
import { renderConversation } from './messages.ts'
import { renderSchema } from './schema.ts'
import { renderServerTools, renderTools } from './tools.ts'

const INT32_SIZE = 2 ** 31
/** The model decides how much it thinks. */
const DYNAMIC_BUDGET = -1

/** A part of a body, in which absent fields are undefined. */
type Body = Record<string, unknown>

/** The forwarded fields, which are all translated. */
export const FORWARDS: ForwardedFields = { fields: ['top_k', 'thinking', 'safety_settings', 'web_search_options'] }
const KNOWN: ReadonlySet<string> = new Set(FORWARDS.fields)

interface Rendering {
  readonly request: ChatRequest
  readonly target: RenderTarget
  readonly model: string
  readonly fields: Fields
  /** Undefined for text alone. */
  readonly modalities: readonly string[] | undefined
  /** The names of parameters that were dropped or adjusted. */
  readonly warnings: Set<string>
}

/** @throws GatewayError `unsupported_parameter` or `unsupported_content`, with `param`, for what the API cannot do. */
export function renderRequest(original: ChatRequest, target: RenderTarget, options: GeminiOptions): WireRequest {
  const { model } = target
  const warnings = new Set<string>()
  const request = withoutCustomTools(original)
  const forwarding = { known: KNOWN, target, warnings }
  const fields = forwardedFields(request, forwarding)
  const modalities = pricedField('modalities', request.modalities, forwarding)
  const rendering = { request, target, model, fields, modalities, warnings }
  refuseUnsupported(request, modalities)
  dropHints(request, warnings)
  const { demandsSignatures, formatsWithTools } = familyOf(model)
  const { top_k: _, thinking: __, safety_settings: safetySettings, web_search_options: ___, ...others } = fields
  const body = {
    ...renderConversation(request.messages, { demandsSignatures, warnings }),
    ...renderTools(request, { formatsWithTools, warnings, serverTools: renderServerTools(request, target, warnings) }),
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

function refuseUnsupported({ logitBias }: ChatRequest, modalities: readonly string[] | undefined): void {
  if (logitBias !== undefined && Object.keys(logitBias).length > 0) throw unsupportedParameter('logit_bias')
  if (modalities?.some((modality) => modality !== 'text' && modality !== 'image'))
    throw unsupportedParameter('modalities')
}

function dropHints({ user, metadata, store, prediction, parallelToolCalls }: ChatRequest, warnings: Set<string>): void {
  if (user !== undefined) warnings.add('user')
  if (metadata !== undefined) warnings.add('metadata')
  if (store === true) warnings.add('store')
  if (prediction !== undefined && prediction !== null) warnings.add('prediction')
  if (parallelToolCalls === false) warnings.add('parallel_tool_calls')
}

/** Source: https://ai.google.dev/api/generate-content#GenerationConfig, read 2026-11-23. */
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

/** The client's `thinking` as a budget in tokens, or as the nearest level. */
function renderThinking(rendering: Rendering): Json | undefined {
  const { request, model, fields, warnings } = rendering
  const requested = readThinking(fields['thinking'])
  if (requested === undefined) {
    if (fields['thinking'] !== undefined) warnings.add('thinking')
    return renderEffort(request.reasoningEffort, rendering)
  }
  const { thinking } = familyOf(model)
  const most = thinking?.max
  if (most === undefined) {
    warnings.add('thinking')
    return undefined
  }
  if (requested.type === 'disabled') return renderEffort('none', rendering)
  if (!('thinkingBudget' in most)) {
    if (requested.type === 'enabled') warnings.add('thinking')
    return renderEffort(request.reasoningEffort ?? effortOf(requested), rendering) ?? { includeThoughts: true }
  }
  const thinkingBudget =
    requested.budget === undefined ? DYNAMIC_BUDGET : Math.min(requested.budget, most.thinkingBudget)
  if (requested.budget !== undefined && thinkingBudget !== requested.budget) warnings.add('thinking')
  return { thinkingBudget, includeThoughts: true }
}

/** Requests with an effort get the thoughts as well, unless it is `none`. */
function renderEffort(effort: ReasoningEffort | undefined, { model, warnings }: Rendering): Json | undefined {
  if (effort === undefined) return undefined
  const { thinking, exactEfforts } = familyOf(model)
  if (thinking === undefined) {
    if (effort === 'none') return undefined
    throw unsupportedParameter('reasoning_effort')
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
  throw unsupportedParameter('service_tier')
}

function unlessEmpty(body: Body): Body | undefined {
  return Object.values(body).every((value) => value === undefined) ? undefined : body
}

type Level = 'minimal' | 'low' | 'medium' | 'high'

/** An effort on the wire: a level, or a budget in tokens. */
type Thinking = { readonly thinkingLevel: Level } | { readonly thinkingBudget: number }

interface Family {
  readonly pattern: RegExp
  /** Undefined for models that do not think. */
  readonly thinking: Readonly<Record<ReasoningEffort, Thinking>> | undefined
  /** Efforts with an exact counterpart; the others become the nearest, with a warning. */
  readonly exactEfforts: readonly ReasoningEffort[]
  /** Whether a function call without its thought signature is rejected. */
  readonly demandsSignatures: boolean
  /** Whether structured output can be combined with functions. */
  readonly formatsWithTools: boolean
}

const LOW: Thinking = { thinkingLevel: 'low' }
const MEDIUM: Thinking = { thinkingLevel: 'medium' }
const HIGH: Thinking = { thinkingLevel: 'high' }
const MINIMAL: Thinking = { thinkingLevel: 'minimal' }

const LEVELS = { none: LOW, minimal: LOW, low: LOW, medium: MEDIUM, high: HIGH, xhigh: HIGH, max: HIGH }
const BUDGETS = {
  none: { thinkingBudget: 0 },
  minimal: { thinkingBudget: 1024 },
  low: { thinkingBudget: 1024 },
  medium: { thinkingBudget: 8192 },
  high: { thinkingBudget: 24_576 },
  xhigh: { thinkingBudget: 24_576 },
  max: { thinkingBudget: 24_576 },
}
const BEFORE_3 = { demandsSignatures: false, formatsWithTools: false }
const SINCE_3 = { demandsSignatures: true, formatsWithTools: true }

const FAMILIES: readonly Family[] = [
  {
    pattern: /^(?:gemini-(?:1\.|2\.0|2\.5-flash-image)|gemma-[1-3])/,
    thinking: undefined,
    exactEfforts: [],
    ...BEFORE_3,
  },
  {
    pattern: /^gemini-2\.5-pro/,
    thinking: {
      ...BUDGETS,
      none: { thinkingBudget: 128 },
      xhigh: { thinkingBudget: 32_768 },
      max: { thinkingBudget: 32_768 },
    },
    exactEfforts: ['minimal', 'low', 'medium', 'high'],
    ...BEFORE_3,
  },
  {
    pattern: /^gemini-2\.5/,
    thinking: BUDGETS,
    exactEfforts: ['none', 'minimal', 'low', 'medium', 'high'],
    ...BEFORE_3,
  },
  { pattern: /^gemini-3-pro/, thinking: { ...LEVELS, medium: HIGH }, exactEfforts: ['low', 'high'], ...SINCE_3 },
  {
    pattern: /^gemini-3(?:\.[0-6])?-flash/,
    thinking: { ...LEVELS, none: MINIMAL, minimal: MINIMAL },
    exactEfforts: ['minimal', 'low', 'medium', 'high'],
    ...SINCE_3,
  },
  { pattern: /^/, thinking: LEVELS, exactEfforts: ['low', 'medium', 'high'], ...SINCE_3 },
]

/** @param model The provider's name of it, with or without a path before it. */
function familyOf(model: string): Family {
  const name = model.slice(model.lastIndexOf('/') + 1)
  const family = FAMILIES.find(({ pattern }) => pattern.test(name))
  if (family === undefined) throw new Error('the last family of models fits all')
  return family
}

/** The differences between the hosts of this format. */
export interface GeminiOptions {
  /**
   * The path between the base URL and `/models/…` (default: `/v1beta`). '' where the base URL is complete, as on Vertex
   * AI: `https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}/publishers/google`.
   */
  readonly pathPrefix?: string
  /** Whether the body may have `serviceTier` (default: true); otherwise a tier is rejected. */
  readonly serviceTier?: boolean
}
