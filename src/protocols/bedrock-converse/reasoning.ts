/**
 * How much a model is to reason, and what of its earlier reasoning goes back. The API has no word for it: each family of
 * models has its own in `additionalModelRequestFields`.
 */
import type { ChatMessage, ChatRequest, ReasoningEffort } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Json } from '../../lib/json.ts'
import type { ModelTraits } from '../anthropic-messages/models.ts'
import { outputLimitOf } from '../output-limit.ts'
import type { RenderTarget } from '../protocol.ts'
import { contextOf } from './context.ts'
import type { ModelFamily } from './models.ts'

export interface ReasoningPlan {
  /** For `additionalModelRequestFields`. */
  readonly fields: Json
  /** Whether earlier reasoning goes back. */
  readonly replays: boolean
  /** Whether the model is told to think, with which it takes no sampling parameters. */
  readonly thinks: boolean
  /** The limit of the answer where the client gave none and thinking needs one. */
  readonly maxTokens?: number
  /** The model takes no limit with this plan: it goes on to its own maximum, for which all is held. */
  readonly unlimited?: boolean
}

export interface PlanInput {
  readonly request: ChatRequest
  readonly target: RenderTarget
  readonly family: ModelFamily
  /** Whether a tool call is demanded, which goes with no thinking. */
  readonly forced: boolean
  readonly warnings: Set<string>
}

/** The least that thinking may be given, in tokens. */
const MIN_BUDGET = 1024
/** What is left for the answer where nobody says how long it may be. */
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

/** @throws GatewayError `unsupported_parameter` where a model is to reason of which no way is known to say it. */
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

/** Thinking is off unless asked for, and once on it wants every call of the running tool loop behind its thinking. */
function planBudget({ request, target, forced, warnings }: PlanInput): ReasoningPlan {
  const { reasoningEffort: effort } = request
  const asked = outputLimitOf(request, target)
  if (effort === undefined || effort === 'none') return NOTHING
  const limit = asked ?? target.maxOutputTokens ?? BUDGETS[effort] + ANSWER_TOKENS
  if (forced || limit <= MIN_BUDGET || lostReasoning(request.messages)) {
    warnings.add('reasoning_effort')
    return NOTHING
  }
  const budget = Math.min(BUDGETS[effort], limit - 1)
  if (budget < BUDGETS[effort]) warnings.add('reasoning_effort')
  const fields = { thinking: { type: 'enabled', budget_tokens: budget } }
  return { fields, replays: true, thinks: true, ...(asked === undefined ? { maxTokens: limit } : {}) }
}

/** Whether the tool loop that is running has calls whose reasoning the client did not send back. */
function lostReasoning(messages: readonly ChatMessage[]): boolean {
  const begins = messages.findLastIndex(({ role }) => role === 'user')
  return messages
    .slice(begins + 1)
    .some((message) => (message.tool_calls?.length ?? 0) > 0 && contextOf(message) === undefined)
}

/** The model decides how much it thinks, under an effort; calls without their thinking are taken. */
function planAdaptive(input: PlanInput, traits: ModelTraits): ReasoningPlan {
  const { request, forced, warnings } = input
  const { reasoningEffort: effort } = request
  if (!forced && effort === undefined) return { ...NOTHING, replays: true, thinks: traits.thinksUnasked }
  if (forced || effort === undefined || effort === 'none') return planNoThinking(input, traits)
  const level = nearestEffort(effort, traits)
  if (level !== effort) warnings.add('reasoning_effort')
  return { fields: { thinking: { type: 'adaptive' }, output_config: { effort: level } }, replays: true, thinks: true }
}

function planNoThinking({ request, warnings }: PlanInput, { thinkingOff, thinksUnasked }: ModelTraits): ReasoningPlan {
  const isAsked = request.reasoningEffort !== undefined && request.reasoningEffort !== 'none'
  if (isAsked) warnings.add('reasoning_effort')
  if (!thinksUnasked) return NOTHING
  if (thinkingOff === 'disabled') return { ...NOTHING, fields: { thinking: { type: 'disabled' } } }
  warnings.add('reasoning_effort')
  return { fields: { output_config: { effort: 'low' } }, replays: true, thinks: true }
}

function nearestEffort(effort: ReasoningEffort, { efforts }: ModelTraits): string {
  if (effort === 'minimal') return 'low'
  return efforts.find((level) => level === effort) ?? efforts.at(-1) ?? 'high'
}

/**
 * At the highest level the model takes neither a limit nor sampling parameters: what the client said of them counts more,
 * and so does a limit that is below the model's own maximum.
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

/** Less is held than the longest answer of the model, or it is not known how long that is. */
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

/** Not to reason is what a model does that cannot; of any other it is not known. */
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
