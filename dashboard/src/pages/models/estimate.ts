/** What so many tokens a day would cost: in whole numbers, rounded once, up to the nano-dollar, as completions are charged. */
import { fromNano, toNano } from '../../lib/money.ts'

export interface Consumption {
  /** Tokens a day. */
  readonly input: number
  readonly output: number
  /** Per cent of the input that is read from the provider's cache, 0 to 100. */
  readonly cached: number
}

export interface Prices {
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
