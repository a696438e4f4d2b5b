/** Reads the data of model-prices, dollars per million tokens: models.dev's history of prices, corrected by vendors' pages. */
import { definedFacts, type FactsReader, type PriceFacts, prefixed, thresholdName } from './facts.ts'

interface Rates {
  readonly input?: number
  readonly output?: number
  readonly cache_read?: number
  readonly cache_write?: number
  readonly tiers?: readonly (Rates & { readonly above: number })[]
}

interface Period {
  /** A moment; null: from the beginning. */
  readonly start: string | null
  /** Null: no price was known. */
  readonly rates: Rates | null
}

/** The prices of a model by service; `standard` is the ordinary one. */
export type ModelPrices = Readonly<Record<string, readonly Period[]>>

/** Hours of a host in which its prices are a multiple of those that are listed. */
interface Schedule {
  readonly provider: string
  readonly peak_multiplier?: number
  readonly valid_from: string
  readonly valid_until?: string
}

export interface ModelPricesData {
  /** By host and model. */
  readonly prices: Readonly<Record<string, Readonly<Record<string, ModelPrices>>>>
  readonly schedules: { readonly schedule: readonly Schedule[] }
}

const HOSTS: Readonly<Record<string, string>> = { moonshot: 'moonshotai', bedrock: 'amazon-bedrock' }

/** @param today ISO date: the last price that has begun on it is read, at its peak where the hour decides. */
export function modelPricesReader({ prices, schedules }: ModelPricesData, today: string): FactsReader {
  return ({ provider, names }) => {
    const host = HOSTS[provider] ?? provider
    const models = prices[host] ?? {}
    const periods = names.map((name) => models[name]?.['standard']).find((found) => found !== undefined)
    const begun = periods?.filter(({ start, rates }) => rates !== null && (start ?? '').slice(0, 10) <= today)
    const rates = begun?.at(-1)?.rates
    if (rates === undefined || rates === null) return undefined
    const peak = schedules.schedule.find((each) => each.provider === host && isInForce(each, today))
    return factsOf(rates, peak?.peak_multiplier ?? 1)
  }
}

function isInForce({ valid_from: from, valid_until: until }: Schedule, today: string): boolean {
  return from.slice(0, 10) <= today && (until === undefined || until.slice(0, 10) > today)
}

function factsOf({ tiers = [], ...rates }: Rates, factor: number): PriceFacts {
  const tiered = tiers.flatMap(({ above, ...tier }) =>
    Object.entries(prefixed(thresholdName(above), ratesFacts(tier, factor))),
  )
  return definedFacts({ ...ratesFacts(rates, factor), ...Object.fromEntries(tiered) })
}

/** Zero is how hosts without cache prices are written. */
function ratesFacts(rates: Rates, factor: number): PriceFacts {
  const times = (usd: number | undefined): number | undefined => (usd === undefined ? undefined : usd * factor)
  return definedFacts({
    input_per_million: times(rates.input),
    output_per_million: times(rates.output),
    cached_input_per_million: times(rates.cache_read) || undefined,
    cache_write_per_million: times(rates.cache_write) || undefined,
  })
}
