/** Renders `reasoning_effort` as thinking: by budget or by effort, as the model supports, and off where it is rejected. */
import type { ChatMessage, ChatRequest, ReasoningEffort } from '../../domain/chat.ts'
import type { Block } from '../conversation.ts'
import { effortOf, type RequestedThinking, readThinking } from '../parameters.ts'
import { contextOf } from './context.ts'
import type { Effort, ModelTraits } from './models.ts'

/** The API's own least budget. A budget must be smaller than `max_tokens`. */
const MIN_BUDGET = 1024
/** The share of the output limit for thinking, so that the rest is left for the answer. */
const BUDGET_SHARE = 0.8
const BUDGETS: Readonly<Record<Exclude<ReasoningEffort, 'none'>, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 10_000,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
}
/** Efforts in order of preference; the first that a model supports is sent. */
const EFFORTS: Readonly<Record<Exclude<ReasoningEffort, 'none'>, readonly Effort[]>> = {
  minimal: ['low'],
  low: ['low'],
  medium: ['medium'],
  high: ['high'],
  xhigh: ['xhigh', 'max', 'high'],
  max: ['max', 'high'],
}
const BINDING_BETA = 'thinking-binding-controls-2026-08-01'

export interface ThinkingPlan {
  /** The request's `thinking`. */
  readonly thinking: Block | undefined
  /** `output_config.effort`. */
  readonly effort: Effort | undefined
  /** The budget in tokens if thinking has one. */
  readonly budget: number | undefined
  /** Whether the model will think, so that earlier thinking must be returned. */
  readonly isOn: boolean
}

export interface ThinkingPlanning {
  readonly traits: ModelTraits
  /** The output limit in tokens. */
  readonly limit: number
  /** Whether a tool call is forced. */
  readonly isForced: boolean
  /** The client's `thinking`. */
  readonly thinking: unknown
  readonly warnings: Set<string>
  readonly betas: Set<string>
}

const OFF: ThinkingPlan = { thinking: undefined, effort: undefined, budget: undefined, isOn: false }

export function planThinking(request: ChatRequest, planning: ThinkingPlanning): ThinkingPlan {
  const { traits } = planning
  const plan = planEffort(request, planning)
  const type = plan.thinking === undefined ? 'adaptive' : plan.thinking['type']
  if (!plan.isOn || !traits.bindsThinking || type !== 'adaptive') return plan
  if (!request.messages.some((message) => contextOf(message) !== undefined)) return plan
  planning.betas.add(BINDING_BETA)
  // Clients shorten and edit their conversations; then the API drops the thinking instead of rejecting the request.
  const binding = { block_binding: { prefix_mismatch_behavior: 'drop_block' } }
  return { ...plan, thinking: { type, ...plan.thinking, ...binding } }
}

function planEffort(request: ChatRequest, planning: ThinkingPlanning): ThinkingPlan {
  const { reasoningEffort: effort } = request
  const { traits, warnings, thinking } = planning
  const requested = readThinking(thinking)
  if (requested !== undefined) return planRequested(request, requested, planning)
  if (thinking !== undefined) warnings.add('thinking')
  if (effort === undefined) return { ...OFF, isOn: traits.thinksByDefault }
  if (effort === 'none') return switchOff(planning, 'reasoning_effort')
  if (traits.thinking === 'adaptive') return planAdaptive(effort, planning)
  if (!mayThink(request, planning)) {
    warnings.add('reasoning_effort')
    return OFF
  }
  return planBudget(Math.min(BUDGETS[effort], Math.max(MIN_BUDGET, Math.floor(planning.limit * BUDGET_SHARE))))
}

/** Returns whether a model that thinks by a budget can do so in this request. */
function mayThink({ messages }: ChatRequest, { traits, limit, isForced }: ThinkingPlanning): boolean {
  return traits.thinking === 'budget' && !isForced && limit > MIN_BUDGET && !hasLostThinking(messages)
}

function planBudget(budget: number): ThinkingPlan {
  return { ...OFF, thinking: { type: 'enabled', budget_tokens: budget }, budget, isOn: true }
}

/** The client's own `thinking`, as far as the model supports it; adjustments become warnings. */
function planRequested(request: ChatRequest, requested: RequestedThinking, planning: ThinkingPlanning): ThinkingPlan {
  const { traits, limit, warnings } = planning
  const { type, budget = BUDGETS.medium, display } = requested
  if (type === 'disabled') return switchOff(planning, 'thinking')
  const effort = request.reasoningEffort === 'none' ? undefined : request.reasoningEffort
  if (traits.thinking === 'adaptive') {
    if (type === 'enabled') warnings.add('thinking')
    const plan = planAdaptive(effort ?? effortWithBudget(requested), planning)
    return display === undefined ? plan : { ...plan, thinking: { ...plan.thinking, display } }
  }
  if (!mayThink(request, planning)) {
    warnings.add('thinking')
    return OFF
  }
  const fitting = Math.min(Math.max(budget, MIN_BUDGET), limit - 1)
  if (type === 'adaptive' || fitting !== budget) warnings.add('thinking')
  return planBudget(fitting)
}

function effortWithBudget(requested: RequestedThinking): Exclude<ReasoningEffort, 'none'> | undefined {
  const effort = effortOf(requested)
  return effort === 'none' ? undefined : effort
}

function switchOff({ traits, warnings }: ThinkingPlanning, name: 'thinking' | 'reasoning_effort'): ThinkingPlan {
  if (traits.thinking === 'none') return OFF
  const { thinkingOff } = traits
  if (thinkingOff !== undefined) return { ...OFF, thinking: { type: thinkingOff }, isOn: thinkingOff !== 'disabled' }
  warnings.add(name)
  return { ...OFF, effort: 'low', isOn: true }
}

/** @param effort Undefined: the model's own. */
function planAdaptive(
  effort: Exclude<ReasoningEffort, 'none'> | undefined,
  { traits, warnings }: ThinkingPlanning,
): ThinkingPlan {
  const words = effort === undefined ? [] : EFFORTS[effort]
  const word = words.find((candidate) => traits.efforts.includes(candidate))
  if (word !== effort) warnings.add('reasoning_effort')
  const thinking = traits.hidesThinking ? { type: 'adaptive', display: 'summarized' } : { type: 'adaptive' }
  return { ...OFF, thinking, effort: word, isOn: true }
}

/**
 * With a budget, a tool loop that continues must have begun with thinking, and the client must have returned that.
 * Otherwise the loop can only continue without thinking.
 */
function hasLostThinking(messages: readonly ChatMessage[]): boolean {
  const start = startOfToolLoop(messages)
  if (start === undefined) return false
  const first = contextOf(start)?.[0]?.type
  return first !== 'thinking' && first !== 'redacted_thinking'
}

/** The assistant's message that began the current tool loop; undefined outside of one. */
function startOfToolLoop(messages: readonly ChatMessage[]): ChatMessage | undefined {
  let start: ChatMessage | undefined
  let isAfterAssistant = false
  let hasResults = false
  for (const message of messages.toReversed()) {
    if (message.role === 'system' || message.role === 'developer') continue
    if (message.role !== 'tool' && isBlank(message)) continue
    if (message.role === 'assistant') {
      if (!hasResults) return start
      start = message
      isAfterAssistant = true
    } else {
      if (isAfterAssistant) hasResults = false
      isAfterAssistant = false
      if (message.role === 'tool') hasResults = true
    }
  }
  return start
}

/** Returns whether nothing of the message would be rendered. */
function isBlank({ content, refusal, tool_calls: calls = [] }: ChatMessage): boolean {
  if (calls.length > 0 || (refusal ?? '').trim() !== '') return false
  if (typeof content === 'string') return content.trim() === ''
  return (content ?? []).every((part) => {
    if (part.type === 'text') return part.text.trim() === ''
    return part.type === 'refusal' && part.refusal.trim() === ''
  })
}
