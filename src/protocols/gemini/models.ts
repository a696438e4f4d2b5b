/**
 * What the families of models differ in, as far as a request must know. The first row whose pattern fits counts; the
 * last fits all, and is what new models have been like.
 *
 * Sources, read 2026-11-20: https://ai.google.dev/gemini-api/docs/thinking (levels and budgets of each model),
 * https://ai.google.dev/gemini-api/docs/openai (efforts in their terms),
 * https://ai.google.dev/gemini-api/docs/thought-signatures (from which models on they are demanded).
 */
import type { ReasoningEffort } from '../../domain/chat.ts'

type Level = 'minimal' | 'low' | 'medium' | 'high'

/** How an effort is said: a level, or a budget in tokens. */
export type Thinking = { readonly thinkingLevel: Level } | { readonly thinkingBudget: number }

interface Family {
  readonly pattern: RegExp
  /** Undefined: these models do not think. */
  readonly thinking: Readonly<Record<ReasoningEffort, Thinking>> | undefined
  /** Efforts that are said as they are meant; the others are bent to the nearest. */
  readonly exactEfforts: readonly ReasoningEffort[]
  /** Whether a function call without its thought signature is refused. */
  readonly demandsSignatures: boolean
  /** Whether structured output and functions go together. */
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
export function familyOf(model: string): Family {
  const name = model.slice(model.lastIndexOf('/') + 1)
  const family = FAMILIES.find(({ pattern }) => pattern.test(name))
  if (family === undefined) throw new Error('the last family of models fits all')
  return family
}
