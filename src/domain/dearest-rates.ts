/** The most that a request can cost before its answer is known: what a hold multiplies by. */
import { discountAt, override, rateOf, serviceTierOf, tiersOf, withTiers } from './applicable-rates.ts'
import type { Price, ServiceTierRates, TokenKind, TokenRates } from './price.ts'

/** What is known of a request before it is sent. */
export interface RequestFacts {
  /** Upper bound of one provider call. */
  readonly promptTokens: number
  /** As the request names it. Absent or `auto`: any of the price's that the provider may choose. */
  readonly serviceTier?: string | undefined
  /** Of admission, Unix milliseconds. Absent: at any time of day. */
  readonly at?: number | undefined
  /** Provider calls, 1 unless given. */
  readonly calls?: number | undefined
  /** Images in the request. */
  readonly images?: number | undefined
  /** Most uses of each tool that the provider runs. */
  readonly serverTools?: Readonly<Record<string, number>> | undefined
  /** Classes of token that the request may have; one that is not excluded by `false` is possible. */
  readonly may?: {
    readonly cacheWrite?: boolean
    readonly cacheWrite1h?: boolean
    readonly cacheWrite12h?: boolean
    readonly audioInput?: boolean
    readonly audioOutput?: boolean
    readonly imageOutput?: boolean
    readonly reasoning?: boolean
  }
}

export interface DearestRates {
  /** Of any prompt token. */
  readonly inputMicroUsd: number
  /** Of any completion token. */
  readonly outputMicroUsd: number
  /** Fees, whatever the tokens come to. */
  readonly fixedNanoUsd: number
}

/** No usage within the facts costs more than its prompt and completion at these rates and the fees. */
export function dearestRates(price: Price, facts: RequestFacts): DearestRates {
  const input = inputKinds(facts)
  const output = outputKinds(facts)
  let inputMicroUsd = 0
  let outputMicroUsd = 0
  for (const rates of possibleRates(price, facts)) {
    for (const kind of input) inputMicroUsd = Math.max(inputMicroUsd, rateOf(rates, kind))
    for (const kind of output) outputMicroUsd = Math.max(outputMicroUsd, rateOf(rates, kind))
  }
  return { inputMicroUsd, outputMicroUsd, fixedNanoUsd: feesOf(price, facts) }
}

function inputKinds({ may = {} }: RequestFacts): readonly TokenKind[] {
  const kinds: TokenKind[] = ['input', 'cached_input']
  if (may.cacheWrite !== false) kinds.push('cache_write')
  if (may.cacheWrite1h !== false) kinds.push('cache_write_1h')
  if (may.cacheWrite12h !== false) kinds.push('cache_write_12h')
  if (may.audioInput !== false) kinds.push('audio_input', 'cached_audio_input')
  return kinds
}

function outputKinds({ may = {} }: RequestFacts): readonly TokenKind[] {
  const kinds: TokenKind[] = ['output']
  if (may.reasoning !== false) kinds.push('reasoning_output')
  if (may.audioOutput !== false) kinds.push('audio_output')
  if (may.imageOutput !== false) kinds.push('image_output')
  return kinds
}

/** Every set of rates that a token of the request can be under. */
function possibleRates(price: Price, facts: RequestFacts): readonly TokenRates[] {
  const { tiers, serviceTiers, discounts } = price
  if ((tiers ?? serviceTiers ?? discounts) === undefined) return [price]
  const sets: TokenRates[] = []
  for (const base of ratesOfTime(price, facts.at)) {
    for (const service of possibleServices(price, facts.serviceTier)) {
      const rates = override(base, service)
      const reachable = tiersOf(price, service).filter(
        ({ abovePromptTokens }) => facts.promptTokens > abovePromptTokens,
      )
      for (let exceeded = 0; exceeded <= reachable.length; exceeded++) {
        const applied = withTiers(rates, reachable.slice(0, exceeded))
        sets.push(applied.rates, ...applied.excess.map((above) => above.rates))
      }
    }
  }
  return sets
}

function ratesOfTime(price: Price, at: number | undefined): readonly TokenRates[] {
  if (at !== undefined) return [override(price, discountAt(price, at))]
  return [price, ...(price.discounts ?? []).map((discount) => override(price, discount))]
}

/** A provider may always fall back to its standard service. Batches are never asked for by a request. */
function possibleServices(price: Price, name: string | undefined): readonly (ServiceTierRates | undefined)[] {
  if (name !== undefined && name !== 'auto') return [undefined, serviceTierOf(price, name)]
  const chosen = Object.entries(price.serviceTiers ?? {}).filter(([each]) => each !== 'batch')
  return [undefined, ...chosen.map(([, service]) => service)]
}

function feesOf(price: Price, { calls = 1, images = 0, serverTools = {} }: RequestFacts): number {
  const { perRequestNanoUsd = 0, perImageNanoUsd = 0, serverToolNanoUsd = {} } = price
  const tools = Object.entries(serverTools).map(([name, uses]) =>
    Object.hasOwn(serverToolNanoUsd, name) ? uses * (serverToolNanoUsd[name] ?? 0) : 0,
  )
  return tools.reduce((sum, fee) => sum + fee, calls * perRequestNanoUsd + images * perImageNanoUsd)
}
