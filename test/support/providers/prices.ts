/** Prices for tests of what a price makes possible. */
import type { Price } from '../../../src/domain/price/tariff.ts'

/** Tokens alone: nothing else has a price. */
export const PLAIN_PRICE: Price = { inputMicroUsd: 1_000_000, outputMicroUsd: 2_000_000 }

/** Everything that a price can say has one. */
export const RICH_PRICE: Price = {
  ...PLAIN_PRICE,
  cacheWriteMicroUsd: 1_250_000,
  cacheWrite1hMicroUsd: 2_000_000,
  cacheWrite12hMicroUsd: 3_000_000,
  audioInputMicroUsd: 4_000_000,
  audioOutputMicroUsd: 8_000_000,
  imageOutputMicroUsd: 9_000_000,
  serverToolNanoUsd: { web_search: 10_000_000 },
  serviceTiers: { flex: { inputMicroUsd: 500_000 }, priority: { inputMicroUsd: 2_000_000 } },
}
