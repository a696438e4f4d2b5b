/** Token counts, read by response and stream alike, so that the two cannot disagree. */
import type { TokenField, Usage } from '../../domain/chat.ts'
import { isRecord, type Json } from '../../lib/json.ts'

/**
 * A snapshot of the whole answer so far: the wire counts cumulatively. Thoughts are counted beside the candidates and a
 * server-side tool's input beside the prompt; both are within for us. Counts that are absent are left out, never zero,
 * but for one: at the end of an answer a missing count of candidates is what the total leaves for it.
 * @returns undefined when nothing was counted.
 */
export function parseUsage(value: unknown, isEnd: boolean): Usage | undefined {
  if (!isRecord(value)) return undefined
  const thoughts = count(value.thoughtsTokenCount)
  const prompt = sum(count(value.promptTokenCount), count(value.toolUsePromptTokenCount))
  const completion = sum(count(value.candidatesTokenCount), thoughts)
  const usage: { -readonly [Key in keyof Usage]: Usage[Key] } = {}
  put(usage, 'promptTokens', prompt)
  put(usage, 'completionTokens', completion ?? (isEnd ? remainder(value, prompt) : undefined))
  put(usage, 'cachedTokens', count(value.cachedContentTokenCount))
  put(usage, 'reasoningTokens', thoughts)
  return Object.keys(usage).length === 0 ? undefined : usage
}

function remainder(usage: Json, prompt: number | undefined): number | undefined {
  const total = count(usage.totalTokenCount)
  return total === undefined || prompt === undefined || total < prompt ? undefined : total - prompt
}

function sum(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : one + other
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

function put(usage: { -readonly [Key in keyof Usage]: Usage[Key] }, key: TokenField, value: number | undefined): void {
  if (value !== undefined) usage[key] = value
}
