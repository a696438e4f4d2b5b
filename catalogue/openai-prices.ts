/**
 * OpenAI's tariff in its own terms: rates of a model, and how service tiers, long prompts and kept caches change them.
 * `npm run catalogue:check` compares each figure that comes out of it with two price collections.
 */
import { type CataloguePricing, type CatalogueServiceTier, type Rates, rates } from './entry.ts'

interface PlainRates extends Rates {
  readonly cached: number
}

interface WritingRates extends PlainRates {
  /** Whether cache writes are charged, which they are since GPT-5.6: one and a quarter of input for 30 minutes, two and a half for 12 hours. */
  readonly writes?: boolean
}

/** A factor on the standard rates, or the rates where the page rounds them or raises them unevenly. */
type Service = number | PlainRates

/** Prompts above it cost twice the input and cache rates and one and a half times the output, for the whole request. */
const LONG_PROMPT_TOKENS = 272_000

/** A thousand calls of the web search tool, for every model: https://developers.openai.com/api/docs/pricing. */
const WEB_SEARCH = { web_search: 10 } as const

/** A model whose rates do not depend on the length of the prompt. */
export function prices(own: PlainRates, services: Readonly<Record<string, Service>>): CataloguePricing {
  const tiers = Object.entries(services).map(([name, service]) => [name, ratesOf(scaled(own, service))])
  return { ...ratesOf(own), server_tools: WEB_SEARCH, service_tiers: withFast(Object.fromEntries(tiers)) }
}

/**
 * A model whose long prompts cost more.
 * @param services Flex is half and priority twice the standard rates unless given.
 */
export function longPromptPrices(
  rates: WritingRates,
  services: { readonly flex?: Service; readonly priority?: Service } = {},
): CataloguePricing {
  const { flex = 0.5, priority = 2 } = services
  const withTiers = (service: Service) => {
    const own = { ...scaled(rates, service), writes: rates.writes ?? false }
    const long = { ...scaled(rates, typeof service === 'number' ? service : 0.5), writes: own.writes }
    return { ...ratesOf(own), tiers: [longTier(long)] }
  }
  return {
    ...withTiers(1),
    server_tools: WEB_SEARCH,
    service_tiers: withFast({
      flex: withTiers(flex),
      // Long prompts of models before GPT-5.6 are not served at priority.
      priority: rates.writes === true ? withTiers(priority) : { ...ratesOf(scaled(rates, priority)), tiers: [] },
    }),
  }
}

/** The provider calls priority `fast` since GPT-6, and answers with either name. */
function withFast(services: Readonly<Record<string, CatalogueServiceTier>>) {
  const { priority } = services
  return priority === undefined ? services : { ...services, fast: priority }
}

function longTier(rates: WritingRates) {
  const { input, output, cached, writes } = rates
  const long = { input: input * 2, output: output * 1.5, cached: cached * 2, writes: writes ?? false }
  return { above_prompt_tokens: LONG_PROMPT_TOKENS, ...ratesOf(long) }
}

function scaled({ input, output, cached }: PlainRates, service: Service): PlainRates {
  if (typeof service !== 'number') return service
  return { input: input * service, output: output * service, cached: cached * service }
}

function ratesOf({ input, output, cached, writes }: WritingRates) {
  const standard = { input: microDollars(input), output: microDollars(output), cached: microDollars(cached) }
  if (writes !== true) return rates(standard)
  return rates({ ...standard, cacheWrite: microDollars(input * 1.25), cacheWrite12h: microDollars(input * 2.5) })
}

/** Products of decimals, without what binary fractions add. */
function microDollars(usd: number): number {
  return Math.round(usd * 1e6) / 1e6
}
