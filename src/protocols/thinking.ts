/**
 * The extension field `thinking` as Anthropic's API has it, and after it many hosts:
 * `{type: "enabled", budget_tokens}`, `{type: "adaptive"}`, `{type: "disabled"}`.
 */
import type { ReasoningEffort } from '../domain/chat.ts'
import { isRecord } from '../lib/json.ts'

export interface AskedThinking {
  readonly type: 'enabled' | 'adaptive' | 'disabled'
  /** In tokens. */
  readonly budget: number | undefined
  /** Whether the thinking's text is shown: `summarized` or `omitted`. */
  readonly display: string | undefined
}

/** @returns undefined for anything that is no such object. */
export function readThinking(value: unknown): AskedThinking | undefined {
  if (!isRecord(value)) return undefined
  const { type, budget_tokens: tokens, display } = value
  if (type !== 'enabled' && type !== 'adaptive' && type !== 'disabled') return undefined
  const budget = typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens > 0 ? tokens : undefined
  return { type, budget, display: typeof display === 'string' ? display : undefined }
}

/** The nearest word for a budget, where thinking has no budget in tokens. */
export function effortOf({ type, budget }: AskedThinking): ReasoningEffort | undefined {
  if (type === 'disabled') return 'none'
  if (budget === undefined) return undefined
  if (budget <= 2048) return 'low'
  if (budget <= 10_000) return 'medium'
  return budget <= 20_000 ? 'high' : 'xhigh'
}
