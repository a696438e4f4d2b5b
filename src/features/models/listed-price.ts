/** Prices on the wire: under the names of the configuration file, as JSON numbers. */
import { type Static, type TProperties, Type } from 'typebox'
import type { Model, PricePeriod } from '../../domain/model.ts'
import { usdNumber } from '../../domain/money.ts'
import type { DiscountRates, Price, PriceTier, RateOverrides, TokenRates } from '../../domain/price.ts'
import { RATE_NAMES } from './price.ts'

const rate = (description: string) => Type.Optional(Type.Number({ description: `USD per million ${description}` }))

const SELDOM_RATES = {
  cached_input_per_million: rate('prompt tokens read from the cache. Absent: as input.'),
  cache_write_per_million: rate('prompt tokens written to the cache. Absent: as input.'),
  cache_write_1h_per_million: rate('prompt tokens written to the cache for an hour. Absent: as cache_write.'),
  cache_write_12h_per_million: rate('prompt tokens written to the cache for 12 hours. Absent: as cache_write_1h.'),
  audio_input_per_million: rate('prompt tokens of audio. Absent: as input.'),
  cached_audio_input_per_million: rate('prompt tokens of audio read from the cache. Absent: as cached_input.'),
  audio_output_per_million: rate('completion tokens of audio. Absent: as output.'),
  image_output_per_million: rate('completion tokens of images. Absent: as output.'),
  reasoning_output_per_million: rate('completion tokens of reasoning. Absent: as output.'),
}
const INPUT = Type.Number({ description: 'USD per million prompt tokens.' })
const OUTPUT = Type.Number({ description: 'USD per million completion tokens.' })
const RATES = { input_per_million: Type.Optional(INPUT), output_per_million: Type.Optional(OUTPUT), ...SELDOM_RATES }

const byName = <Properties extends TProperties>(properties: Properties, description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Object(properties), { description }))

const TIERS = Type.Array(
  Type.Object({
    above_prompt_tokens: Type.Integer({ description: 'What the prompt has to exceed, cached tokens included.' }),
    applies_to: Type.Enum(['request', 'excess'], {
      description:
        'request: the tier prices the whole request. excess: the prompt above the threshold, and the output.',
    }),
    ...RATES,
  }),
  { description: 'Rates of long prompts: the highest tier whose threshold the prompt exceeds applies.' },
)

const TARIFF = {
  input_per_million: INPUT,
  output_per_million: OUTPUT,
  ...SELDOM_RATES,
  tiers: Type.Optional(TIERS),
  service_tiers: byName(
    { ...RATES, tiers: Type.Optional(TIERS) },
    'Rates by the service tier that the answer names; what is absent is as in the price.',
  ),
  discounts: Type.Optional(
    Type.Array(
      Type.Object({
        from: Type.String({ description: 'Time of day, UTC.' }),
        until: Type.String({ description: 'Time of day, UTC, not included; before `from`: of the next day.' }),
        ...RATES,
      }),
      { description: 'Rates by the time of day at which a request is admitted.' },
    ),
  ),
  per_request_usd: Type.Optional(Type.Number({ description: 'USD for each call of a provider.' })),
  per_image_usd: Type.Optional(Type.Number({ description: 'USD for each image in the request.' })),
  server_tools: Type.Optional(
    Type.Record(Type.String(), Type.Number(), { description: 'USD per 1,000 uses of a tool that the provider runs.' }),
  ),
  starts: Type.Optional(Type.String({ description: 'ISO 8601 UTC: when the price starts.' })),
  ends: Type.Optional(Type.String({ description: 'ISO 8601 UTC: when the price ends, not included.' })),
}

export const PricingView = Type.Object(
  {
    ...TARIFF,
    successors: Type.Optional(
      Type.Array(Type.Object(TARIFF), { description: 'The prices that are announced to follow, in order.' }),
    ),
  },
  {
    description:
      'Null: not known, or none applies now, and then the model cannot be called. The rules are those of docs/prices.md.',
  },
)

/** The price of this moment and those to come. */
export function listPricing({ price, priceVersion, pricePeriods = [] }: Model): Static<typeof PricingView> | null {
  if (price === undefined) return null
  const at = pricePeriods.findIndex(({ version, price: each }) => version === priceVersion && each === price)
  const successors = at < 0 ? [] : pricePeriods.slice(at + 1).map(listPeriod)
  const period = pricePeriods[at]
  return {
    ...(period === undefined ? listTariff(price) : listPeriod(period)),
    ...(successors.length === 0 ? {} : { successors }),
  }
}

function listPeriod({ price, startsAt, endsAt }: PricePeriod) {
  return {
    ...listTariff(price),
    ...(Number.isFinite(startsAt) ? { starts: new Date(startsAt).toISOString() } : {}),
    ...(Number.isFinite(endsAt) ? { ends: new Date(endsAt).toISOString() } : {}),
  }
}

function listTariff(price: Price) {
  const { tiers, serviceTiers, discounts, serverToolNanoUsd: tools, perRequestNanoUsd, perImageNanoUsd } = price
  return {
    ...listRates(price),
    input_per_million: price.inputMicroUsd / 1e6,
    output_per_million: price.outputMicroUsd / 1e6,
    ...(tiers === undefined ? {} : { tiers: tiers.map(listTier) }),
    ...(serviceTiers === undefined ? {} : { service_tiers: mapValues(serviceTiers, listServiceTier) }),
    ...(discounts === undefined ? {} : { discounts: discounts.map(listDiscount) }),
    ...(perRequestNanoUsd === undefined ? {} : { per_request_usd: usdNumber(BigInt(perRequestNanoUsd)) }),
    ...(perImageNanoUsd === undefined ? {} : { per_image_usd: usdNumber(BigInt(perImageNanoUsd)) }),
    // Nano-dollars a use are micro-dollars per 1,000 uses.
    ...(tools === undefined ? {} : { server_tools: mapValues(tools, (nanoUsd) => nanoUsd / 1e6) }),
  }
}

function listTier({ abovePromptTokens, appliesTo, ...rates }: PriceTier) {
  return { above_prompt_tokens: abovePromptTokens, applies_to: appliesTo, ...listRates(rates) }
}

function listServiceTier({ tiers, ...rates }: RateOverrides & { readonly tiers?: readonly PriceTier[] | undefined }) {
  return { ...listRates(rates), ...(tiers === undefined ? {} : { tiers: tiers.map(listTier) }) }
}

function listDiscount({ fromMinute, untilMinute, ...rates }: DiscountRates) {
  return { from: timeOf(fromMinute), until: timeOf(untilMinute), ...listRates(rates) }
}

function listRates(rates: RateOverrides): { [Name in (typeof RATE_NAMES)[keyof TokenRates]]?: number } {
  const names = Object.entries(RATE_NAMES) as (readonly [keyof TokenRates, string])[]
  const entries = names.flatMap(([name, wireName]) => {
    const microUsd = rates[name]
    return microUsd === undefined ? [] : [[wireName, microUsd / 1e6]]
  })
  return Object.fromEntries(entries)
}

function timeOf(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':')
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))
}
