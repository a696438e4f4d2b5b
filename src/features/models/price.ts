import { createHash } from 'node:crypto'
import { parseMicroUsd } from '../../domain/money.ts'
import type { Price } from '../../domain/price.ts'
import type { ModelEntry } from './entry.ts'

/** Exact prices of one entry. Throws for amounts that micro-dollars cannot say; the message names the model. */
export function toPrice({ id, pricing }: Pick<ModelEntry, 'id' | 'pricing'>): Price | undefined {
  if (pricing === null) return undefined
  const micro = (usd: number): number => {
    const parsed = parseMicroUsd(usd)
    if (parsed === undefined) throw new Error(`The model '${id}' has a price that is not exact: ${usd} USD.`)
    return parsed
  }
  const { cached_input_per_million: cached, cache_write_per_million: written } = pricing
  return {
    inputMicroUsd: micro(pricing.input_per_million),
    outputMicroUsd: micro(pricing.output_per_million),
    ...(cached === undefined ? {} : { cachedInputMicroUsd: micro(cached) }),
    ...(written === undefined ? {} : { cacheWriteMicroUsd: micro(written) }),
  }
}

/** Names the price by its content: the same model at the same price has the same version in every process, for ever. */
export function priceVersion(id: string, price: Price): string {
  const { inputMicroUsd, outputMicroUsd, cachedInputMicroUsd = null, cacheWriteMicroUsd = null } = price
  const content = JSON.stringify([id, inputMicroUsd, outputMicroUsd, cachedInputMicroUsd, cacheWriteMicroUsd])
  return `pv_${createHash('sha256').update(content).digest('hex').slice(0, 20)}`
}
