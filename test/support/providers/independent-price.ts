/** Prices usage with the calculator of genai-prices, for tests: somebody else's arithmetic over the same tariff. */
import { calcPrice, type ModelPrice, type Provider, TieredPrices } from '@pydantic/genai-prices'
import type { CatalogueRates, CatalogueTariff } from '../../../catalogue/entry.ts'
import type { BilledUnits } from './raw-usage.ts'

/** Our class → the collection's; the second are combinations of classes that its calculator wants priced too. */
const CLASSES: readonly (readonly [keyof CatalogueRates, readonly string[]])[] = [
  ['input_per_million', ['input_mtok']],
  ['output_per_million', ['output_mtok']],
  ['cached_input_per_million', ['cache_read_mtok']],
  ['cache_write_per_million', ['cache_write_mtok', 'cache_audio_write_mtok']],
  ['cache_write_1h_per_million', ['cache_write_1h_mtok', 'cache_audio_write_1h_mtok']],
  ['audio_input_per_million', ['input_audio_mtok']],
  ['cached_audio_input_per_million', ['cache_audio_read_mtok']],
  ['reasoning_output_per_million', ['output_reasoning_mtok']],
  ['audio_output_per_million', ['output_audio_mtok']],
  ['image_output_per_million', ['output_image_mtok']],
]
/** Only where audio has a price: elsewhere the combinations have no meaning. */
const AUDIO = /_audio_/

/**
 * Nano-dollars, rounded up once. The tariff is that of one moment and one service tier: no discounts, no services; and
 * not both reasoning and media output, whose combinations the calculator would ask for.
 */
export function independentNanoUsd(units: BilledUnits, tariff: CatalogueTariff): bigint {
  const prices = modelPrice(tariff)
  const provider: Provider = {
    id: 'tariff',
    name: 'Tariff',
    api_pattern: '.',
    models: [{ id: 'model', match: { equals: 'model' }, prices }],
  }
  const priced = Object.fromEntries(Object.entries(units).filter(([unit]) => isPriced(unit, prices)))
  const usd = calcPrice(priced, 'model', { provider })?.total_price
  if (usd === undefined) throw new Error('The calculator gives no price.')
  // Rates have six decimals a million: the sum is a whole number of pico-dollars, and the rest is binary fractions.
  const picoUsd = BigInt(Math.round(usd * 1e12))
  return (picoUsd + 999n) / 1000n + BigInt(Math.round((tariff.per_request_usd ?? 0) * 1e9))
}

function modelPrice(tariff: CatalogueTariff): ModelPrice {
  const hasAudio = tariff.audio_input_per_million !== undefined
  const prices: Record<string, number | TieredPrices> = {}
  for (const [name, units] of CLASSES) {
    const base = tariff[name]
    if (base === undefined) continue
    const tiers = (tariff.tiers ?? []).map((tier) => ({ start: tier.above_prompt_tokens, price: tier[name] ?? base }))
    for (const unit of units) {
      if (AUDIO.test(unit) && !hasAudio) continue
      prices[unit] = tiers.length === 0 ? base : new TieredPrices({ base, tiers })
    }
  }
  const searches = tariff.server_tools?.['web_search']
  return searches === undefined ? prices : { ...prices, web_searches_kcount: searches }
}

/** The calculator refuses units that the price does not name; they cost what the class around them costs. */
function isPriced(unit: string, prices: ModelPrice): boolean {
  const key = unit === 'web_searches' ? 'web_searches_kcount' : unit.replace(/_tokens$/, '_mtok')
  return prices[key] !== undefined
}
