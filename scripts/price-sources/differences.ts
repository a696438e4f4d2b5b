/** Compares each entry of the catalogue with what the collections say of its deployments. */
import type { CatalogueEntry } from '../../catalogue/entry.ts'
import { deploymentKey, type PriceFacts, type PriceSource, thresholdName } from './facts.ts'

export interface PriceDifference {
  /** `settled`: the entry says why its figure stands. */
  readonly kind: 'differs' | 'settled' | 'unverified'
  readonly message: string
}

const WANTED_SOURCES = 2

/** Limits are written rounded, as binary thousands, or without the answer; what is this near is the same figure. */
const LIMIT_TOLERANCE = 0.05

/** What a class costs where a price does not name it. */
const FALLBACKS: Readonly<Record<string, string>> = {
  cached_input_per_million: 'input_per_million',
  cache_write_per_million: 'input_per_million',
  cache_write_1h_per_million: 'cache_write_per_million',
  cache_write_12h_per_million: 'cache_write_1h_per_million',
  audio_input_per_million: 'input_per_million',
  cached_audio_input_per_million: 'cached_input_per_million',
  audio_output_per_million: 'output_per_million',
  image_output_per_million: 'output_per_million',
  reasoning_output_per_million: 'output_per_million',
}

/** Fields of a price that are no amounts. */
const RULES = new Set([
  'tiers',
  'service_tiers',
  'server_tools',
  'discounts',
  'starts',
  'ends',
  'successor',
  'successors',
])

export function priceDifferences(entry: CatalogueEntry, sources: readonly PriceSource[]): PriceDifference[] {
  const ours = factsOfEntry(entry)
  const known = sources.flatMap((source) => {
    const found = factsOfSource(entry, source)
    return found === undefined ? [] : [{ source, ...found }]
  })
  const differences = known.flatMap(({ source, facts, isWhole }) =>
    Object.entries(facts).flatMap(([name, theirs]) => {
      if (!isCompared(entry, name) || isSame(ours, name, theirs)) return []
      if (!isWhole && isPossible(ours, name, theirs)) return []
      const figure = ours[name] === undefined ? 'is not set' : `is ${ours[name]}`
      const message = `${name} ${figure}, read ${entry.source.read}; ${source.name} ${source.version} of ${source.date} says ${theirs}`
      return [finding('differs', message, settled(entry, name))]
    }),
  )
  return [
    ...differences,
    ...unverified(
      entry,
      known.map(({ source }) => source.name),
    ),
  ]
}

function unverified(entry: CatalogueEntry, names: readonly string[]): PriceDifference[] {
  if (names.length >= WANTED_SOURCES) return []
  const message = `${names.length === 0 ? 'no collection' : `only ${names[0]}`} knows it`
  return [finding('unverified', message, settled(entry, 'sources'))]
}

function finding(kind: PriceDifference['kind'], message: string, reason: string | undefined): PriceDifference {
  return reason === undefined ? { kind, message } : { kind: 'settled', message: `${message}: ${reason}` }
}

/** Why a figure stands; `*` at the end of a name stands for the rest of it. */
function settled({ settled: reasons = {} }: CatalogueEntry, name: string): string | undefined {
  const found = Object.entries(reasons).find(([pattern]) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  )
  return found?.[1]
}

/** Service tiers are priced for OpenAI, the one host whose tier a caller can choose. */
function isCompared({ deployments, pricing }: CatalogueEntry, name: string): boolean {
  if (pricing === null && name !== 'deprecation_date' && !LIMITS.has(name)) return false
  return !/^(flex|priority)\./.test(name) || deployments[0]?.provider === 'openai'
}

const LIMITS = new Set(['context_window', 'max_input_tokens', 'max_output_tokens'])

function isSame(ours: PriceFacts, name: string, theirs: number | string): boolean {
  if (name === 'max_input_tokens') return isInputLimit(ours, Number(theirs))
  const figure = figureOf(ours, name)
  if (!LIMITS.has(name)) return figure === theirs
  return Math.abs(Number(figure) - Number(theirs)) <= LIMIT_TOLERANCE * Number(theirs)
}

/** Deployments that the source does not know may cost more and hold less than those that it knows. */
function isPossible(ours: PriceFacts, name: string, theirs: number | string): boolean {
  const figure = figureOf(ours, name)
  if (typeof figure !== 'number' || typeof theirs !== 'number') return false
  return LIMITS.has(name) ? figure <= theirs : figure >= theirs
}

/** Some give the window as the longest prompt, others take the longest answer off it. */
function isInputLimit(ours: PriceFacts, limit: number): boolean {
  const window = Number(ours['context_window'])
  const near = (tokens: number): boolean => Math.abs(tokens - limit) <= LIMIT_TOLERANCE * limit
  return near(window) || near(window - Number(ours['max_output_tokens']))
}

/** Our figure of a name, or that of the class which it costs instead; a tier's fallback is in the same tier. */
function figureOf(ours: PriceFacts, name: string): number | string | undefined {
  const at = name.lastIndexOf('.') + 1
  const fallback = FALLBACKS[name.slice(at)]
  return ours[name] ?? (fallback === undefined ? undefined : figureOf(ours, name.slice(0, at) + fallback))
}

/** The catalogue's own facts. */
function factsOfEntry(entry: CatalogueEntry): PriceFacts {
  return {
    ...pricingFacts((entry.pricing ?? {}) as Rates),
    context_window: entry.context_window,
    ...(entry.max_output_tokens === null ? {} : { max_output_tokens: entry.max_output_tokens }),
    ...(entry.deprecation_date === null ? {} : { deprecation_date: entry.deprecation_date }),
  }
}

type Rates = Readonly<Record<string, unknown>>

function pricingFacts(rates: Rates, prefix = ''): Record<string, number> {
  const facts: Record<string, number> = {}
  for (const [name, value] of Object.entries(rates)) {
    if (!RULES.has(name) && typeof value === 'number') facts[prefix + name] = value
  }
  for (const [tool, fee] of Object.entries((rates['server_tools'] ?? {}) as Record<string, number>)) {
    facts[`${prefix}server_tools.${tool}`] = fee
  }
  for (const tier of (rates['tiers'] ?? []) as readonly Rates[]) {
    const { above_prompt_tokens: above, ...amounts } = tier
    Object.assign(facts, pricingFacts(amounts, `${prefix}${thresholdName(Number(above))}.`))
  }
  for (const [service, amounts] of Object.entries((rates['service_tiers'] ?? {}) as Record<string, Rates>)) {
    Object.assign(facts, pricingFacts(amounts, `${prefix}${service}.`))
  }
  return facts
}

/**
 * What a source says of an entry: the highest price and the smallest limit of its deployments, which is what an entry
 * promises, and the shutdown at the first of them. `isWhole`: the source knows every deployment.
 */
function factsOfSource(entry: CatalogueEntry, { models }: PriceSource): KnownFacts | undefined {
  const [first, ...others] = entry.deployments.map((deployment) => models[deploymentKey(deployment)])
  const later = others.map((facts) => withoutDate(facts))
  const known = [first, ...later].filter((facts) => facts !== undefined)
  if (known.length === 0) return undefined
  const names = new Set(known.flatMap((facts) => Object.keys(facts)))
  const facts = [...names].map((name) => [name, combined(name, known)] as const)
  return { facts: Object.fromEntries(facts), isWhole: known.length === entry.deployments.length }
}

interface KnownFacts {
  readonly facts: PriceFacts
  readonly isWhole: boolean
}

function withoutDate(facts: PriceFacts | undefined): PriceFacts | undefined {
  if (facts === undefined) return undefined
  const { deprecation_date: _, ...rest } = facts
  return rest
}

/** A deployment without a price for the class asks what the class costs instead. */
function combined(name: string, known: readonly PriceFacts[]): number | string {
  const values = known.map((facts) => figureOf(facts, name)).filter((value) => value !== undefined)
  const numbers = values.filter((value) => typeof value === 'number')
  if (numbers.length === 0) return values[0] ?? ''
  return LIMITS.has(name) ? Math.min(...numbers) : Math.max(...numbers)
}
