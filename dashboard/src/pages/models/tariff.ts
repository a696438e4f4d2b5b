/** What a price has beyond its four usual rates, in words. */
import type { ListedModel } from '../../api/models.ts'
import { formatCount, formatExactUsd, formatPrice } from '../../lib/format.ts'
import { fromNano, toNano } from '../../lib/money.ts'
import { formatDate } from '../../lib/time.ts'

type Pricing = NonNullable<ListedModel['pricing']>
type Tier = NonNullable<Pricing['tiers']>[number]
type Rates = Partial<Record<keyof typeof RATE_NAMES, number>>

export interface TariffRow {
  readonly label: string
  readonly value: string
}

const RATE_NAMES = {
  input_per_million: 'input',
  output_per_million: 'output',
  cached_input_per_million: 'cached input',
  cache_write_per_million: 'cache write',
  cache_write_1h_per_million: 'cache write for 1 hour',
  cache_write_12h_per_million: 'cache write for 12 hours',
  audio_input_per_million: 'audio input',
  cached_audio_input_per_million: 'cached audio input',
  audio_output_per_million: 'audio output',
  image_output_per_million: 'image output',
  reasoning_output_per_million: 'reasoning output',
} as const
type RateName = keyof typeof RATE_NAMES
const USUAL: readonly RateName[] = [
  'input_per_million',
  'output_per_million',
  'cached_input_per_million',
  'cache_write_per_million',
]

type Successor = NonNullable<Pricing['successors']>[number]

export function tariffRows(pricing: Pricing): readonly TariffRow[] {
  const { starts, ends, successors = [] } = pricing
  return [
    ...seldomRates(pricing),
    ...ruleRows(pricing),
    ...(starts === undefined ? [] : [{ label: 'Since', value: formatDate(starts, 'utc') }]),
    ...(ends === undefined ? [] : [{ label: 'Ends', value: formatDate(ends, 'utc') }]),
    ...successors.flatMap(successorRows),
  ]
}

/** What a price has beside its rates: tiers, discounts and fees. */
function ruleRows(pricing: Successor): readonly TariffRow[] {
  const { tiers = [], service_tiers: services = {}, discounts = [], server_tools: tools = {} } = pricing
  const { per_request_usd: request, per_image_usd: image } = pricing
  return [
    ...tiers.map(tierRow),
    ...Object.entries(services).flatMap(([name, { tiers: own = [], ...rates }]) => [
      { label: `Service tier “${name}”`, value: ratesText(rates) },
      ...own.map(tierRow).map(({ label, value }) => ({ label: `“${name}”, ${uncapitalised(label)}`, value })),
    ]),
    ...discounts.map(({ from, until, ...rates }) => ({ label: `${from} to ${until} UTC`, value: ratesText(rates) })),
    ...(request === undefined ? [] : [{ label: 'Each request', value: formatExactUsd(request) }]),
    ...(image === undefined ? [] : [{ label: 'Each image', value: formatExactUsd(image) }]),
    ...Object.entries(tools).map(([name, usd]) => ({ label: `1,000 uses of ${name}`, value: formatExactUsd(usd) })),
  ]
}

/** A price to come, whole: its rates, and in a row each what else it has. */
function successorRows(next: Successor): readonly TariffRow[] {
  const label = next.starts === undefined ? 'Then' : `From ${formatDate(next.starts, 'utc')}`
  const until = next.ends === undefined ? [] : [{ label: 'Ends', value: formatDate(next.ends, 'utc') }]
  return [
    { label, value: ratesText(next) },
    ...[...ruleRows(next), ...until].map((row) => ({ ...row, label: `${label}, ${uncapitalised(row.label)}` })),
  ]
}

function seldomRates(pricing: Pricing): readonly TariffRow[] {
  return ratesOf(pricing)
    .filter(([name]) => !USUAL.includes(name))
    .map(([name, usd]) => ({ label: capitalised(RATE_NAMES[name]), value: formatPrice(usd) }))
}

function tierRow({ above_prompt_tokens: threshold, applies_to: what, ...rates }: Tier): TariffRow {
  const scope = what === 'excess' ? 'Tokens above' : 'Prompts above'
  return { label: `${scope} ${formatCount(threshold)} tokens`, value: ratesText(rates) }
}

function ratesText(rates: Rates): string {
  return (
    ratesOf(rates)
      .map(([name, usd]) => `${RATE_NAMES[name]} ${formatPrice(usd)}`)
      .join(', ') || 'the same rates'
  )
}

function ratesOf(rates: Rates): readonly (readonly [RateName, number])[] {
  return (Object.keys(RATE_NAMES) as RateName[]).flatMap((name) => {
    const usd = rates[name]
    return usd === undefined ? [] : [[name, usd] as const]
  })
}

function uncapitalised(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

interface Consumption {
  /** Tokens a day. */
  readonly input: number
  readonly output: number
  /** Per cent of the input that is read from the provider's cache, 0 to 100. */
  readonly cached: number
}

interface Prices {
  readonly input_per_million: number
  readonly output_per_million: number
  readonly cached_input_per_million?: number
}

export interface Estimate {
  readonly dayUsd: number
  /** 30 days. */
  readonly monthUsd: number
}

export const DAYS_PER_MONTH = 30

export function estimate({ input, output, cached }: Consumption, prices: Prices): Estimate {
  const cachedTokens = Math.floor((input * cached) / 100)
  const { input_per_million: inputPrice, cached_input_per_million: cachedPrice = inputPrice } = prices
  // nano-dollars per million tokens, times tokens: millionths of a nano-dollar
  const millionths =
    BigInt(input - cachedTokens) * toNano(inputPrice) +
    BigInt(cachedTokens) * toNano(cachedPrice) +
    BigInt(output) * toNano(prices.output_per_million)
  return { dayUsd: usd(millionths), monthUsd: usd(millionths * BigInt(DAYS_PER_MONTH)) }
}

function usd(millionths: bigint): number {
  return fromNano((millionths + 999_999n) / 1_000_000n)
}
