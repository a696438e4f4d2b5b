/** Token counts, read by response and stream alike, so that the two cannot disagree. */
import type { Usage } from '../../domain/chat.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import { count, type MutableUsage, put, putSome, serviceTierOf } from '../usage-fields.ts'

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
  const usage: MutableUsage = {}
  put(usage, 'promptTokens', prompt)
  put(usage, 'completionTokens', completion ?? (isEnd ? remainder(value, prompt) : undefined))
  put(usage, 'cachedTokens', count(value.cachedContentTokenCount))
  put(usage, 'reasoningTokens', thoughts)
  if (Object.keys(usage).length === 0) return undefined
  const { promptTokensDetails, toolUsePromptTokensDetails, cacheTokensDetails, candidatesTokensDetails } = value
  const audio = sum(tokensOf(promptTokensDetails, 'AUDIO'), tokensOf(toolUsePromptTokensDetails, 'AUDIO'))
  putSome(usage, 'audioInputTokens', audio)
  putSome(usage, 'cachedAudioTokens', tokensOf(cacheTokensDetails, 'AUDIO'))
  putSome(usage, 'audioOutputTokens', tokensOf(candidatesTokensDetails, 'AUDIO'))
  putSome(usage, 'imageOutputTokens', tokensOf(candidatesTokensDetails, 'IMAGE'))
  const tier = serviceTierOf(value.serviceTier) ?? trafficTier(value.trafficType)
  if (tier !== undefined) usage.serviceTier = tier
  return usage
}

/** Tokens of one modality, in a list such as `[{"modality": "TEXT", "tokenCount": 12}]`; undefined: none. */
function tokensOf(details: unknown, modality: string): number | undefined {
  if (!Array.isArray(details)) return undefined
  let total: number | undefined
  for (const each of details)
    if (isRecord(each) && each.modality === modality) total = sum(total, count(each.tokenCount))
  return total
}

/** Vertex AI names the kind of traffic: `ON_DEMAND`, `ON_DEMAND_FLEX`, `ON_DEMAND_PRIORITY`, `PROVISIONED_THROUGHPUT`. */
function trafficTier(type: unknown): string | undefined {
  return typeof type === 'string' ? serviceTierOf(type.replace(/^ON_DEMAND_/, '')) : undefined
}

function remainder(usage: Json, prompt: number | undefined): number | undefined {
  const total = count(usage.totalTokenCount)
  return total === undefined || prompt === undefined || total < prompt ? undefined : total - prompt
}

function sum(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : one + other
}
