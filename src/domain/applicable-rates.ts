/** Which rates of a price apply to a request, and what each class of token costs under them. */
import type {
  ChargeableUsage,
  DiscountRates,
  Price,
  PriceTier,
  RateOverrides,
  ServiceTierRates,
  TokenKind,
  TokenRates,
} from './price.ts'

/** The rates of a request: those of all its tokens, and those of prompt tokens above thresholds. */
export interface AppliedRates {
  readonly rates: TokenRates
  /** Descending by threshold. */
  readonly excess: readonly { readonly tier: PriceTier; readonly rates: TokenRates }[]
  /** Names of what applied besides the price itself. */
  readonly names: readonly string[]
}

export function applicableRates(usage: ChargeableUsage, price: Price): AppliedRates {
  const { prompt, serviceTier, at, calls = 1 } = usage
  const service = serviceTierOf(price, serviceTier)
  const discount = discountAt(price, at)
  const exceeded = tiersOf(price, service).filter((tier) => prompt > tier.abovePromptTokens * calls)
  const highest = exceeded.at(-1)
  const names = [
    ...(service === undefined ? [] : [String(serviceTier)]),
    ...(discount === undefined ? [] : ['discount']),
    ...(highest === undefined ? [] : [`above_${highest.abovePromptTokens}`]),
  ]
  return { ...withTiers(override(override(price, discount), service), exceeded), names }
}

/** The tiers that a service tier's requests are under. */
export function tiersOf(price: Price, service: ServiceTierRates | undefined): readonly PriceTier[] {
  return service?.tiers ?? price.tiers ?? []
}

/** @param exceeded Ascending. */
export function withTiers(base: TokenRates, exceeded: readonly PriceTier[]): Omit<AppliedRates, 'names'> {
  const whole = exceeded.findLastIndex(({ appliesTo }) => appliesTo === 'request')
  const rates = override(base, exceeded[whole])
  const above = exceeded.slice(whole + 1).map((tier) => ({ tier, rates: override(rates, tier) }))
  return { rates, excess: above.reverse() }
}

/** Names are the provider's: one that every object has is none of the price's. */
export function serviceTierOf({ serviceTiers }: Price, name: string | undefined): ServiceTierRates | undefined {
  if (serviceTiers === undefined || name === undefined) return undefined
  return Object.hasOwn(serviceTiers, name) ? serviceTiers[name] : undefined
}

export function discountAt({ discounts }: Price, at: number | undefined): DiscountRates | undefined {
  if (discounts === undefined || at === undefined) return undefined
  const minute = Math.floor(at / 60_000) % 1440
  return discounts.find(({ fromMinute, untilMinute }) =>
    fromMinute <= untilMinute
      ? fromMinute <= minute && minute < untilMinute
      : fromMinute <= minute || minute < untilMinute,
  )
}

/** The rates of `base` with those that `over` sets. */
export function override(base: TokenRates, over: RateOverrides | undefined): TokenRates {
  if (over === undefined) return base
  return {
    inputMicroUsd: over.inputMicroUsd ?? base.inputMicroUsd,
    outputMicroUsd: over.outputMicroUsd ?? base.outputMicroUsd,
    cachedInputMicroUsd: over.cachedInputMicroUsd ?? base.cachedInputMicroUsd,
    cacheWriteMicroUsd: over.cacheWriteMicroUsd ?? base.cacheWriteMicroUsd,
    cacheWrite1hMicroUsd: over.cacheWrite1hMicroUsd ?? base.cacheWrite1hMicroUsd,
    cacheWrite12hMicroUsd: over.cacheWrite12hMicroUsd ?? base.cacheWrite12hMicroUsd,
    audioInputMicroUsd: over.audioInputMicroUsd ?? base.audioInputMicroUsd,
    cachedAudioInputMicroUsd: over.cachedAudioInputMicroUsd ?? base.cachedAudioInputMicroUsd,
    audioOutputMicroUsd: over.audioOutputMicroUsd ?? base.audioOutputMicroUsd,
    imageOutputMicroUsd: over.imageOutputMicroUsd ?? base.imageOutputMicroUsd,
    reasoningOutputMicroUsd: over.reasoningOutputMicroUsd ?? base.reasoningOutputMicroUsd,
  }
}

/** Rates of all classes, absent ones resolved. */
export function rateOf(rates: TokenRates, kind: TokenKind): number {
  const { inputMicroUsd: input, outputMicroUsd: output, cachedInputMicroUsd: cached = input } = rates
  const { cacheWriteMicroUsd: written = input, cacheWrite1hMicroUsd: written1h = written } = rates
  switch (kind) {
    case 'input':
      return input
    case 'cached_input':
      return cached
    case 'cache_write':
      return written
    case 'cache_write_1h':
      return written1h
    case 'cache_write_12h':
      return rates.cacheWrite12hMicroUsd ?? written1h
    case 'audio_input':
      return rates.audioInputMicroUsd ?? input
    case 'cached_audio_input':
      return rates.cachedAudioInputMicroUsd ?? cached
    case 'output':
      return output
    case 'reasoning_output':
      return rates.reasoningOutputMicroUsd ?? output
    case 'audio_output':
      return rates.audioOutputMicroUsd ?? output
    case 'image_output':
      return rates.imageOutputMicroUsd ?? output
  }
}
