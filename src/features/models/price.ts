/**
 * Converts the decimals of the catalogue and the configuration to exact prices, with their periods, and makes the
 * prices of a plan from them.
 */
import { createHash } from 'node:crypto'
import type {
  CatalogueDiscount,
  CatalogueEntry,
  CatalogueRates,
  CatalogueServiceTier,
  CatalogueTariff,
  CatalogueTier,
} from '../../../catalogue/entry.ts'
import type { Model, ModelBook, PricePeriod } from '../../domain/model.ts'
import { parseMicroUsd, parseNanoUsd } from '../../domain/money.ts'
import { tariffText } from '../../domain/price/price.ts'
import {
  type DiscountRates,
  type Markup,
  markUp,
  type Price,
  type PriceTier,
  type RateOverrides,
  type ServiceTierRates,
  type TokenRates,
} from '../../domain/price/tariff.ts'
import { parseIsoTime } from '../../lib/time.ts'

/** Wire name of each rate, in the order of lists. */
export const RATE_NAMES = {
  inputMicroUsd: 'input_per_million',
  outputMicroUsd: 'output_per_million',
  cachedInputMicroUsd: 'cached_input_per_million',
  cacheWriteMicroUsd: 'cache_write_per_million',
  cacheWrite1hMicroUsd: 'cache_write_1h_per_million',
  cacheWrite12hMicroUsd: 'cache_write_12h_per_million',
  audioInputMicroUsd: 'audio_input_per_million',
  cachedAudioInputMicroUsd: 'cached_audio_input_per_million',
  audioOutputMicroUsd: 'audio_output_per_million',
  imageOutputMicroUsd: 'image_output_per_million',
  reasoningOutputMicroUsd: 'reasoning_output_per_million',
} as const satisfies Record<keyof TokenRates, keyof CatalogueRates>
const RATES = Object.entries(RATE_NAMES) as (readonly [keyof TokenRates, keyof CatalogueRates])[]

interface PricedEntry extends Pick<CatalogueEntry, 'id' | 'pricing'> {
  readonly price_ends?: string | undefined
}

/** Returns the prices of an entry, the earliest first; empty: none. Throws for inexact or contradictory ones. */
export function pricePeriods(entry: PricedEntry): readonly PricePeriod[] {
  const { id, pricing, price_ends: ends } = entry
  if (pricing === null) return []
  try {
    const { successors = [], ...first } = pricing
    return periodsOf(id, [{ ...first, ends: first.ends ?? ends }, ...successors])
  } catch (error) {
    throw new Error(`The model '${id}' has a price ${error instanceof Error ? error.message : String(error)}`)
  }
}

function periodsOf(id: string, tariffs: readonly CatalogueTariff[]): readonly PricePeriod[] {
  const starts: (number | undefined)[] = []
  for (const [at, { starts: given }] of tariffs.entries()) {
    const before = tariffs[at - 1]?.ends
    const start = given === undefined ? before && parseMoment(before, 'end') : parseMoment(given, 'start')
    if (at > 0 && typeof start !== 'number')
      throw new Error('whose successor has neither starts nor a price that ends.')
    if (at > 1 && Number(start) <= Number(starts.at(-1)))
      throw new Error(`whose successors are not in order: ${given}.`)
    starts.push(typeof start === 'number' ? start : undefined)
  }
  return tariffs.map((tariff, at) => {
    const price = toPrice(tariff)
    const end = tariff.ends === undefined ? undefined : parseMoment(tariff.ends, 'end')
    const endsAt = Math.min(end ?? Number.POSITIVE_INFINITY, starts[at + 1] ?? Number.POSITIVE_INFINITY)
    const startsAt = starts[at] ?? Number.NEGATIVE_INFINITY
    if (endsAt <= startsAt) throw new Error(`that ends before it starts: ${tariff.ends}.`)
    return { price, version: priceVersion(id, price), startsAt, endsAt }
  })
}

/** Throws for inexact amounts and contradictory settings. */
export function toPrice(tariff: CatalogueTariff): Price {
  const { tiers = [], service_tiers: services = {}, discounts = [], server_tools: tools = {} } = tariff
  const fees = {
    perRequestNanoUsd: nano(tariff.per_request_usd, 'per_request_usd'),
    perImageNanoUsd: nano(tariff.per_image_usd, 'per_image_usd'),
    // Micro-dollars per 1,000 uses are nano-dollars a use.
    serverToolNanoUsd: unlessEmpty(mapValues(tools, micro)),
  }
  return defined<Price>({
    ...toRates(tariff),
    inputMicroUsd: micro(tariff.input_per_million, 'input_per_million'),
    outputMicroUsd: micro(tariff.output_per_million, 'output_per_million'),
    ...fees,
    tiers: tiers.length === 0 ? undefined : toTiers(tiers),
    serviceTiers: unlessEmpty(mapValues(services, toServiceTier)),
    discounts: discounts.length === 0 ? undefined : discounts.map(toDiscount),
  })
}

function toRates(rates: CatalogueRates): RateOverrides {
  const found = RATES.flatMap(([name, wireName]) => {
    const usd = rates[wireName]
    return usd === undefined ? [] : [[name, micro(usd, wireName)]]
  })
  return Object.fromEntries(found)
}

function toTiers(tiers: readonly CatalogueTier[]): readonly PriceTier[] {
  const ascending = tiers.toSorted((one, other) => one.above_prompt_tokens - other.above_prompt_tokens)
  const thresholds = ascending.map(({ above_prompt_tokens: threshold }) => threshold)
  const twice = thresholds.find((threshold, at) => thresholds.indexOf(threshold) !== at)
  if (twice !== undefined) throw new Error(`with two tiers above ${twice} prompt tokens.`)
  return ascending.map((tier) => ({
    abovePromptTokens: tier.above_prompt_tokens,
    appliesTo: tier.applies_to ?? 'request',
    ...toRates(tier),
  }))
}

function toServiceTier({ tiers, ...rates }: CatalogueServiceTier): ServiceTierRates {
  return { ...toRates(rates), ...(tiers === undefined ? {} : { tiers: toTiers(tiers) }) }
}

function toDiscount({ from, until, ...rates }: CatalogueDiscount): DiscountRates {
  if (from === until) throw new Error(`with a discount that ends when it starts: ${from}.`)
  return { fromMinute: minuteOf(from), untilMinute: minuteOf(until), ...toRates(rates) }
}

function minuteOf(time: string): number {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(time) ?? []
  if (hours === undefined)
    throw new Error(`with a discount at ${JSON.stringify(time)}, which is no time such as 16:30.`)
  return Number(hours) * 60 + Number(minutes)
}

function micro(usd: number, name: string): number {
  const parsed = parseMicroUsd(usd)
  if (parsed === undefined) throw new Error(`that is not exact: ${name} is ${usd}; at most 6 decimals are.`)
  return parsed
}

function nano(usd: number | undefined, name: string): number | undefined {
  if (usd === undefined) return undefined
  const parsed = parseNanoUsd(usd)
  if (parsed === undefined) throw new Error(`that is not exact: ${name} is ${usd}; at most 9 decimals are.`)
  return Number(parsed)
}

export function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  map: (value: From, name: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]))
}

function unlessEmpty<Value extends object>(record: Value): Value | undefined {
  return Object.keys(record).length === 0 ? undefined : record
}

/** Removes undefined fields: prices are compared and stored by their fields. */
function defined<Value extends object>(fields: Value): Value {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Value
}

/** Names a price by its content: the same model and price have the same version in every process, permanently. */
export function priceVersion(id: string, price: Price): string {
  const { inputMicroUsd, outputMicroUsd, cachedInputMicroUsd = null, cacheWriteMicroUsd = null } = price
  const four = [id, inputMicroUsd, outputMicroUsd, cachedInputMicroUsd, cacheWriteMicroUsd]
  const more = tariffText(price)
  const content = JSON.stringify(more === undefined ? four : [...four, more])
  return `pv_${createHash('sha256').update(content).digest('hex').slice(0, 20)}`
}

const DAY_MS = 86_400_000
const DAY = /^\d{4}-\d\d-\d\d$/

/**
 * Reads an ISO date (a whole day, UTC) or an ISO time.
 * @param bound Of a day: its `start`, or its `end`, which is the next one's start.
 * @returns Unix milliseconds. Throws for anything else.
 */
function parseMoment(text: string, bound: 'start' | 'end'): number {
  const at = parseIsoTime(text)
  if (at === undefined) throw new Error(`with ${JSON.stringify(text)}, which is no date.`)
  return DAY.test(text) && bound === 'end' ? at + DAY_MS : at
}

/* The models as accounts of a plan see them: at its prices, which are those of the providers with its markup. */

interface PlanPrices {
  readonly markup_percent?: number
  readonly request_fee_usd?: number
}

/** Of a plan of the configuration; undefined: none. */
export function markupOf({ markup_percent: percent = 0, request_fee_usd: fee = 0 }: PlanPrices): Markup | undefined {
  const ppm = Math.round(percent * PPM_PER_PERCENT)
  const requestFeeNanoUsd = Math.round(fee * NANO_PER_USD)
  return ppm === 0 && requestFeeNanoUsd === 0 ? undefined : { ppm, requestFeeNanoUsd }
}

const PPM_PER_PERCENT = 10_000
const NANO_PER_USD = 1e9

/** @param markup Undefined: the plan has none. */
export function planBook(book: ModelBook, markup: Markup | undefined): ModelBook {
  if (markup === undefined) return book
  const marked = new WeakMap<Model, Model>() // the book has few models, and the same ones for ever
  const markedUp = (model: Model): Model => {
    const known = marked.get(model) ?? withMarkup(model, markup)
    marked.set(model, known)
    return known
  }
  return {
    find(id) {
      const model = book.find(id)
      return model && markedUp(model)
    },
    nearest: book.nearest,
    get all() {
      return book.all.map(markedUp)
    },
  }
}

/** Versions name the model itself, whatever alias asked for it, and the version that is raised. */
export function withMarkup<One extends Model>(model: One, markup: Markup): One {
  const id = model.aliasOf ?? model.id
  const sold = new Map<Price, Pick<PricePeriod, 'price' | 'version' | 'base'>>()
  const sell = (price: Price, version: string) => {
    const known = sold.get(price)
    if (known !== undefined) return known
    const raised = markUp(price, markup)
    const made = { price: raised, version: priceVersion(`${id} ${version}`, raised), base: { price, version } }
    sold.set(price, made)
    return made
  }
  const { price, priceVersion: version, pricePeriods } = model
  const periods = pricePeriods?.map((period) => ({ ...period, ...sell(period.price, period.version) }))
  const ofPeriods = periods === undefined ? model : { ...model, pricePeriods: periods }
  if (price === undefined || version === undefined) return ofPeriods
  const now = sell(price, version)
  return { ...ofPeriods, price: now.price, priceVersion: now.version, basePrice: now.base }
}
