/** Reads models.dev, dollars per million tokens: `api.json`. */
import { definedFacts, type FactsReader, type PriceFacts, prefixed, thresholdName } from './facts.ts'

interface Cost {
  readonly input?: number
  readonly output?: number
  readonly reasoning?: number
  readonly cache_read?: number
  readonly cache_write?: number
  readonly input_audio?: number
  readonly output_audio?: number
  /** Older files. */
  readonly context_over_200k?: Cost
  readonly tiers?: readonly (Cost & { readonly tier: { readonly type?: string; readonly size: number } })[]
}

export interface ModelsDevModel {
  readonly cost?: Cost
  readonly limit?: { readonly context?: number; readonly output?: number }
}

const HOSTS: Readonly<Record<string, string>> = {
  moonshot: 'moonshotai',
  bedrock: 'amazon-bedrock',
  vertex: 'google-vertex',
  together: 'togetherai',
  fireworks: 'fireworks-ai',
}

/** @param api models.dev's `api.json`: providers by ID, each with its models by ID. */
export function modelsDevReader(
  api: Readonly<Record<string, { readonly models: Readonly<Record<string, ModelsDevModel>> }>>,
): FactsReader {
  return ({ provider, names }) => {
    const models = api[HOSTS[provider] ?? provider]?.models ?? {}
    const model = names.map((name) => models[name]).find((found) => found !== undefined)
    return model === undefined ? undefined : modelsDevFacts(model)
  }
}

function modelsDevFacts({ cost = {}, limit = {} }: ModelsDevModel): PriceFacts {
  const over200k = cost.context_over_200k
  const old = over200k === undefined ? {} : prefixed('above_200k', costFacts(over200k))
  const tiers = (cost.tiers ?? []).filter(({ tier }) => (tier.type ?? 'context') === 'context')
  const tiered = tiers.flatMap((tier) => Object.entries(prefixed(thresholdName(tier.tier.size), costFacts(tier))))
  return definedFacts({
    ...costFacts(cost),
    ...(tiers.length > 0 ? Object.fromEntries(tiered) : old),
    context_window: limit.context,
    max_output_tokens: limit.output,
  })
}

/** Zero is how hosts without cache prices are written. */
function costFacts(cost: Cost): PriceFacts {
  return definedFacts({
    input_per_million: cost.input,
    output_per_million: cost.output,
    cached_input_per_million: cost.cache_read || undefined,
    cache_write_per_million: cost.cache_write || undefined,
    audio_input_per_million: cost.input_audio,
    audio_output_per_million: cost.output_audio,
    reasoning_output_per_million: cost.reasoning,
  })
}
