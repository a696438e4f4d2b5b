/** Reads the data of genai-prices: dollars per million tokens, with tiers, dates, times of day and service tiers. */
import { definedFacts, type FactsReader, type PriceFacts, prefixed, thresholdName } from './facts.ts'

/** A rule that a model's name fits. The Python package writes `or_`, the JavaScript package `or`. */
type Match = Readonly<Record<string, unknown>>
type Rates = Readonly<Record<string, number | { base: number; tiers: readonly { start: number; price: number }[] }>>

interface Conditional {
  readonly constraint?: { readonly start_date?: unknown; readonly start_time?: unknown } | null
  readonly when?: { readonly service_tier?: string }
  readonly prices: Rates
}

export interface GenaiModel {
  readonly id: string
  readonly match: Match
  readonly context_window?: number | null
  readonly prices: Rates | readonly Conditional[]
  readonly price_variants?: readonly Conditional[] | null
}

export interface GenaiProvider {
  readonly id: string
  readonly models: readonly GenaiModel[]
}

const HOSTS: Readonly<Record<string, string>> = {
  xai: 'x-ai',
  moonshot: 'moonshotai',
  bedrock: 'aws',
  vertex: 'google',
}

const CLASSES: Readonly<Record<string, string>> = {
  input_mtok: 'input_per_million',
  output_mtok: 'output_per_million',
  cache_read_mtok: 'cached_input_per_million',
  cache_write_mtok: 'cache_write_per_million',
  cache_write_1h_mtok: 'cache_write_1h_per_million',
  input_audio_mtok: 'audio_input_per_million',
  cache_audio_read_mtok: 'cached_audio_input_per_million',
  output_audio_mtok: 'audio_output_per_million',
  output_image_mtok: 'image_output_per_million',
  output_reasoning_mtok: 'reasoning_output_per_million',
  web_searches_kcount: 'server_tools.web_search',
}

/** @param today ISO date: the price in force on it is read. */
export function genaiPricesReader(providers: readonly GenaiProvider[], today: string): FactsReader {
  const byId = new Map(providers.map((provider) => [provider.id, provider]))
  return ({ provider, names }) => {
    const [plain = '', inference] = provider === 'huggingface' ? (names[0] ?? '').split(':') : []
    const host = inference === undefined ? (HOSTS[provider] ?? provider) : `huggingface_${inference}`
    const models = byId.get(host)?.models ?? []
    for (const name of inference === undefined ? names : [plain]) {
      const model = models.find(({ match }) => fits(match, name.toLowerCase()))
      if (model !== undefined) return genaiFacts(model, today)
    }
    return undefined
  }
}

function genaiFacts(model: GenaiModel, today: string): PriceFacts {
  const variants = (model.price_variants ?? []).flatMap(({ when, prices }) => {
    const tier = when?.service_tier
    return tier === 'flex' || tier === 'priority' ? Object.entries(prefixed(tier, ratesFacts(prices))) : []
  })
  return definedFacts({
    ...pricesFacts(model.prices, today),
    ...Object.fromEntries(variants),
    context_window: model.context_window,
  })
}

/** The peak price, where the time of day decides; else the price with the latest date that has come. */
function pricesFacts(prices: GenaiModel['prices'], today: string): PriceFacts {
  if (!Array.isArray(prices)) return ratesFacts(prices as Rates)
  const conditional = prices as readonly Conditional[]
  const timed = conditional.find(({ constraint }) => constraint?.start_time !== undefined)
  const started = conditional.filter(({ constraint }) => startDate(constraint) <= today)
  return ratesFacts((timed ?? started.at(-1))?.prices ?? {})
}

/** Dates are text in the JavaScript package and constructor arguments in the Python one; absent: always. */
function startDate(constraint: Conditional['constraint']): string {
  const date = constraint?.start_date
  if (date === undefined) return constraint?.start_time === undefined ? '' : '9999-12-31'
  if (typeof date === 'string') return date
  const [year, month, day] = (date as { args: readonly number[] }).args
  return [year, month, day].map((part) => String(part).padStart(2, '0')).join('-')
}

function ratesFacts(rates: Rates): PriceFacts {
  const facts: Record<string, number> = {}
  for (const [unit, rate] of Object.entries(rates)) {
    const name = CLASSES[unit]
    if (name === undefined) continue
    facts[name] = typeof rate === 'number' ? rate : rate.base
    for (const { start, price } of typeof rate === 'number' ? [] : rate.tiers) {
      facts[`${thresholdName(start)}.${name}`] = price
    }
  }
  return facts
}

function fits(match: Match, name: string): boolean {
  const any = (match['or'] ?? match['or_']) as readonly Match[] | undefined
  if (any !== undefined) return any.some((part) => fits(part, name))
  const all = (match['and'] ?? match['and_']) as readonly Match[] | undefined
  if (all !== undefined) return all.every((part) => fits(part, name))
  const text = (key: string): string | undefined => (match[key] as string | undefined)?.toLowerCase()
  const { equals, starts, ends, contains, regex } = {
    equals: text('equals'),
    starts: text('starts_with'),
    ends: text('ends_with'),
    contains: text('contains'),
    regex: match['regex'] as string | undefined,
  }
  if (equals !== undefined) return name === equals
  if (starts !== undefined) return name.startsWith(starts)
  if (ends !== undefined) return name.endsWith(ends)
  if (contains !== undefined) return name.includes(contains)
  return regex !== undefined && new RegExp(regex).test(name)
}
