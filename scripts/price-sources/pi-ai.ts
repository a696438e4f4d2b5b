/** Reads the model data of pi-ai, dollars per million tokens; its maintainers collect it from models.dev, OpenRouter and the hosts. */
import { definedFacts, type FactsReader, type PriceFacts, prefixed, thresholdName } from './facts.ts'

const HOSTS: Readonly<Record<string, string>> = {
  moonshot: 'moonshotai',
  bedrock: 'amazon-bedrock',
  vertex: 'google-vertex',
}

interface PiModel {
  readonly id: string
  readonly cost: PiCost & { readonly tiers?: readonly (PiCost & { readonly inputTokensAbove: number })[] }
  readonly contextWindow: number
  readonly maxTokens: number
}

interface PiCost {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

/** @param hosts pi-ai's data files by its name of the host: models by API, then by ID. */
export function piReader(
  hosts: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, PiModel>>>>>>,
): FactsReader {
  return ({ provider, names }) => {
    const host = hosts[HOSTS[provider] ?? provider]
    const models = Object.values(host ?? {}).flatMap((api) => Object.values(api))
    const model = names.map((name) => models.find(({ id, cost }) => id === name && cost !== undefined))
    const found = model.find((each) => each !== undefined)
    return found === undefined ? undefined : piFacts(found)
  }
}

function piFacts({ cost, contextWindow, maxTokens }: PiModel): PriceFacts {
  const tiers = (cost.tiers ?? []).flatMap((tier) =>
    Object.entries(prefixed(thresholdName(tier.inputTokensAbove), piCostFacts(tier))),
  )
  return definedFacts({
    ...piCostFacts(cost),
    ...Object.fromEntries(tiers),
    context_window: contextWindow,
    max_output_tokens: maxTokens,
  })
}

/** Zero is how pi-ai writes that there is no such price. */
function piCostFacts({ input, output, cacheRead, cacheWrite }: PiCost): PriceFacts {
  return definedFacts({
    input_per_million: input,
    output_per_million: output,
    cached_input_per_million: cacheRead || undefined,
    cache_write_per_million: cacheWrite || undefined,
  })
}
