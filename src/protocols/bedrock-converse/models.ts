/**
 * The families of models behind the service, and how reasoning is requested from each. The service passes parameters on in
 * the vendor's own format, in `additionalModelRequestFields`, and rejects those that a model does not know.
 *
 * Sources, read 2026-11-20: https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html,
 * https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html,
 * https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html
 */

import type { ChatMessage, ChatRequest, ReasoningEffort } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Json } from '../../lib/json.ts'
import { type ModelTraits, traitsOf } from '../anthropic-messages/models.ts'
import { outputLimitOf } from '../parameters.ts'
import type { RenderTarget } from '../protocol.ts'
import { contextOf } from './context.ts'

export type ModelFamily =
  /** Thinking as in Anthropic's API, with the same model traits. */
  | { readonly kind: 'claude'; readonly traits: ModelTraits }
  /** `reasoningConfig` with three levels. */
  | { readonly kind: 'nova' }
  /** `reasoning_effort` with three levels. */
  | { readonly kind: 'gpt-oss' }
  /** Unknown, like everything that is named by a resource name alone. */
  | { readonly kind: 'other' }

/** @param model The name of a model or inference profile, or an ARN. */
export function familyOf(model: string): ModelFamily {
  const name = model.toLowerCase()
  if (/claude-/.test(name)) return { kind: 'claude', traits: traitsOf(name) }
  if (/\bnova-\d/.test(name)) return { kind: 'nova' }
  if (/\bgpt-oss\b/.test(name)) return { kind: 'gpt-oss' }
  return { kind: 'other' }
}

/** Returns whether the model supports structured output; for unknown models the service decides. */
export function holdsToSchema(family: ModelFamily): boolean {
  if (family.kind === 'claude') return family.traits.structuredOutput
  return family.kind === 'other'
}

/** Returns whether a conversation may end with the beginning of the answer. */
export function takesPrefill(family: ModelFamily): boolean {
  return family.kind !== 'claude' || family.traits.prefill
}

/**
 * Whether the model takes cache points, which others reject. A resource name alone may be that of one that does.
 *
 * Source: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html, read 2026-11-24.
 */
export function takesCachePoints(model: string): boolean {
  const name = model.toLowerCase()
  if (/claude-(?:instant|v2|3-(?:haiku|sonnet|opus)|3-5-sonnet-20240620)/.test(name)) return false
  return /claude-|\bnova-/.test(name) || (name.startsWith('arn:') && !name.includes('foundation-model/'))
}

export interface ReasoningPlan {
  /** The fields for `additionalModelRequestFields`. */
  readonly fields: Json
  /** Whether earlier reasoning is sent back. */
  readonly replays: boolean
  /** Whether thinking is on. The model then accepts no sampling parameters. */
  readonly thinks: boolean
  /** The limit of the answer where the client gave none and thinking needs one. */
  readonly maxTokens?: number
  /** The model takes no limit with this plan: it may write up to its own maximum, which is held. */
  readonly unlimited?: boolean
}

interface PlanInput {
  readonly request: ChatRequest
  readonly target: RenderTarget
  readonly family: ModelFamily
  /** Whether a tool call is forced, which excludes thinking. */
  readonly forced: boolean
  readonly warnings: Set<string>
}

/** The least budget of thinking, in tokens. */
const MIN_BUDGET = 1024
/** The tokens reserved for the answer if no limit is known. */
const ANSWER_TOKENS = 4096
const BUDGETS: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: MIN_BUDGET,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
}
const THREE_LEVELS: Readonly<Record<Exclude<ReasoningEffort, 'none'>, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
}
const NOTHING: ReasoningPlan = { fields: {}, replays: false, thinks: false }

/** @throws GatewayError `unsupported_parameter` where the model's reasoning cannot be controlled. */
export function planReasoning(input: PlanInput): ReasoningPlan {
  const { family } = input
  switch (family.kind) {
    case 'claude':
      return planClaude(input, family.traits)
    case 'nova':
      return planNova(input)
    case 'gpt-oss':
      return planLevel(input)
    case 'other':
      return planOther(input)
  }
}

function planClaude(input: PlanInput, traits: ModelTraits): ReasoningPlan {
  switch (traits.thinking) {
    case 'none':
      return planOther(input)
    case 'budget':
      return planBudget(input)
    case 'adaptive':
      return planAdaptive(input, traits)
  }
}

/** Thinking is off by default; when on, every call of the current tool loop must follow its thinking. */
function planBudget({ request, target, forced, warnings }: PlanInput): ReasoningPlan {
  const { reasoningEffort: effort } = request
  const limited = outputLimitOf(request, target)
  if (effort === undefined || effort === 'none') return NOTHING
  const limit = limited ?? target.maxOutputTokens ?? BUDGETS[effort] + ANSWER_TOKENS
  if (forced || limit <= MIN_BUDGET || hasLostReasoning(request.messages)) {
    warnings.add('reasoning_effort')
    return NOTHING
  }
  const budget = Math.min(BUDGETS[effort], limit - 1)
  if (budget < BUDGETS[effort]) warnings.add('reasoning_effort')
  const fields = { thinking: { type: 'enabled', budget_tokens: budget } }
  return { fields, replays: true, thinks: true, ...(limited === undefined ? { maxTokens: limit } : {}) }
}

/** Returns whether the current tool loop has calls whose reasoning the client did not return. */
function hasLostReasoning(messages: readonly ChatMessage[]): boolean {
  const start = messages.findLastIndex(({ role }) => role === 'user')
  return messages
    .slice(start + 1)
    .some((message) => (message.tool_calls?.length ?? 0) > 0 && contextOf(message) === undefined)
}

/** The model decides how much it thinks, under an effort; calls without their thinking are accepted. */
function planAdaptive(input: PlanInput, traits: ModelTraits): ReasoningPlan {
  const { request, forced, warnings } = input
  const { reasoningEffort: effort } = request
  if (!forced && effort === undefined) return { ...NOTHING, replays: true, thinks: traits.thinksByDefault }
  if (forced || effort === undefined || effort === 'none') return planNoThinking(input, traits)
  const level = nearestEffort(effort, traits)
  if (level !== effort) warnings.add('reasoning_effort')
  return { fields: { thinking: { type: 'adaptive' }, output_config: { effort: level } }, replays: true, thinks: true }
}

function planNoThinking(
  { request, warnings }: PlanInput,
  { thinkingOff, thinksByDefault }: ModelTraits,
): ReasoningPlan {
  const isRequested = request.reasoningEffort !== undefined && request.reasoningEffort !== 'none'
  if (isRequested) warnings.add('reasoning_effort')
  if (!thinksByDefault) return NOTHING
  if (thinkingOff === 'disabled') return { ...NOTHING, fields: { thinking: { type: 'disabled' } } }
  warnings.add('reasoning_effort')
  return { fields: { output_config: { effort: 'low' } }, replays: true, thinks: true }
}

function nearestEffort(effort: ReasoningEffort, { efforts }: ModelTraits): string {
  if (effort === 'minimal') return 'low'
  return efforts.find((level) => level === effort) ?? efforts.at(-1) ?? 'high'
}

/**
 * At the highest level the model takes neither a limit nor sampling parameters: those of the client take precedence, and
 * so does a limit below the model's own maximum.
 */
function planNova({ request, target, warnings }: PlanInput): ReasoningPlan {
  const { reasoningEffort: effort, maxTokens, temperature, topP } = request
  if (effort === undefined) return NOTHING
  if (effort === 'none') return { ...NOTHING, fields: { reasoningConfig: { type: 'disabled' } } }
  const isLimited = maxTokens !== undefined || temperature !== undefined || topP !== undefined || isLowered(target)
  const level = THREE_LEVELS[effort] === 'high' && isLimited ? 'medium' : THREE_LEVELS[effort]
  if (level !== effort) warnings.add('reasoning_effort')
  const fields = { reasoningConfig: { type: 'enabled', maxReasoningEffort: level } }
  return { ...NOTHING, fields, unlimited: level === 'high' }
}

/** Returns whether the hold covers less than the model's longest answer, or that is unknown. */
function isLowered({ outputTokens, maxOutputTokens }: RenderTarget): boolean {
  return outputTokens !== undefined && (maxOutputTokens === undefined || outputTokens < maxOutputTokens)
}

function planLevel({ request, warnings }: PlanInput): ReasoningPlan {
  const { reasoningEffort: effort } = request
  if (effort === undefined) return NOTHING
  const level = effort === 'none' ? 'low' : THREE_LEVELS[effort]
  if (level !== effort) warnings.add('reasoning_effort')
  return { ...NOTHING, fields: { reasoning_effort: level } }
}

/** Models that cannot reason accept `none`; for unknown models it is dropped with a warning. */
function planOther({ request, family, warnings }: PlanInput): ReasoningPlan {
  const { reasoningEffort: effort } = request
  const replays = family.kind === 'other'
  if (effort === undefined) return { ...NOTHING, replays }
  if (effort !== 'none') {
    throw new GatewayError('unsupported_parameter', `This model cannot be told how much to reason.`, {
      param: 'reasoning_effort',
    })
  }
  if (replays) warnings.add('reasoning_effort')
  return { ...NOTHING, replays }
}
