/**
 * A model's tariff: which rates apply to a request, what each class of token costs, and the highest rates a hold
 * needs.
 */
import { isRecord } from '../../lib/json.ts'
import type { NanoUsd } from '../money.ts'

/** Rates by class of token, in micro-dollars per million. An absent class costs what the class in brackets costs. */
export interface TokenRates {
  readonly inputMicroUsd: number
  readonly outputMicroUsd: number
  /** Prompt tokens read from the provider's cache [input]. */
  readonly cachedInputMicroUsd?: number | undefined
  /** Prompt tokens written to the provider's cache for 5 minutes, or its only lifetime [input]. */
  readonly cacheWriteMicroUsd?: number | undefined
  /** Written for an hour [cacheWrite]. */
  readonly cacheWrite1hMicroUsd?: number | undefined
  /** Written for 12 hours [cacheWrite1h]. */
  readonly cacheWrite12hMicroUsd?: number | undefined
  /** [input] */
  readonly audioInputMicroUsd?: number | undefined
  /** [cachedInput] */
  readonly cachedAudioInputMicroUsd?: number | undefined
  /** [output] */
  readonly audioOutputMicroUsd?: number | undefined
  /** [output] */
  readonly imageOutputMicroUsd?: number | undefined
  /** [output] */
  readonly reasoningOutputMicroUsd?: number | undefined
}

/** Rates that replace others; absent ones stay as they are. */
export type RateOverrides = { readonly [Name in keyof TokenRates]?: number | undefined }

/** The rates of requests whose prompt exceeds a threshold. Absent rates stay as below the threshold. */
export interface PriceTier extends RateOverrides {
  /** The threshold for one provider call; the prompt must exceed it. */
  readonly abovePromptTokens: number
  /** `request` prices the whole request. `excess` prices only prompt tokens above the threshold, and the output. */
  readonly appliesTo: 'request' | 'excess'
}

export interface ServiceTierRates extends RateOverrides {
  /** Absent: the price's own tiers apply. Empty: no tiers apply. */
  readonly tiers?: readonly PriceTier[] | undefined
}

/** Rates of a time of day, in minutes since midnight UTC; wraps midnight where `fromMinute` is the larger one. */
export interface DiscountRates extends RateOverrides {
  readonly fromMinute: number
  /** Exclusive. */
  readonly untilMinute: number
}

/** Of several settings of the same rate the last applies: the price, its discount, its service tier, the tier. */
export interface Price extends TokenRates {
  /** Ascending by threshold. The highest one that the prompt exceeds applies. */
  readonly tiers?: readonly PriceTier[] | undefined
  /** Fee of each provider call. */
  readonly perRequestNanoUsd?: number | undefined
  /** Fee of each image in the request. */
  readonly perImageNanoUsd?: number | undefined
  /** Fee of each use of a tool that the provider runs, by its name: `web_search`, … */
  readonly serverToolNanoUsd?: Readonly<Record<string, number>> | undefined
  /** The rates by the name in the answer: `flex`, `priority`, … Any other name has the rates of the price itself. */
  readonly serviceTiers?: Readonly<Record<string, ServiceTierRates>> | undefined
  /** The first discount whose time includes the admission applies. */
  readonly discounts?: readonly DiscountRates[] | undefined
}

/**
 * Chargeable usage; absent means none. `prompt` includes cached, written and audio input, `completion` includes
 * reasoning, audio and image output. A part is limited to its whole: no token is charged twice.
 */
export interface ChargeableUsage {
  readonly prompt: number
  readonly completion: number
  readonly cached?: number | undefined
  /** The tokens of all lifetimes together. */
  readonly cacheWrite?: number | undefined
  /** Part of `cacheWrite`. */
  readonly cacheWrite1h?: number | undefined
  /** Part of `cacheWrite`. */
  readonly cacheWrite12h?: number | undefined
  /** Includes `cachedAudio`. */
  readonly audioInput?: number | undefined
  /** Part of `cached` and of `audioInput`. */
  readonly cachedAudio?: number | undefined
  readonly audioOutput?: number | undefined
  readonly imageOutput?: number | undefined
  readonly reasoning?: number | undefined
  /** The images in the request. */
  readonly images?: number | undefined
  /** The uses by name. */
  readonly serverTools?: Readonly<Record<string, number>> | undefined
  /** The name in the answer. */
  readonly serviceTier?: string | undefined
  /** The number of provider calls in the figures, by default 1: the prompt length of one call selects the tier. */
  readonly calls?: number | undefined
  /** Time of admission, Unix milliseconds, which selects the discount. Absent: none. */
  readonly at?: number | undefined
  /** Set if the account paid the provider itself, with its own credential. Absent if the operator paid. */
  readonly byok?: ByokUsage | undefined
}

/** Usage with a provider credential of the account's own (bring your own key). */
export interface ByokUsage {
  /** The share of the cost that is charged, in millionths: `byok_fee_percent` of the plan at admission. */
  readonly feePpm: number
  /** The cost at the model's price, nano-dollars in digits. Absent if it was not computed, as after a crash. */
  readonly listNanoUsd?: string
}

/** The rates of a request: for all its tokens, and for prompt tokens above thresholds. */
export interface AppliedRates {
  readonly rates: TokenRates
  /** The tiers in descending order of thresholds. */
  readonly excess: readonly { readonly tier: PriceTier; readonly rates: TokenRates }[]
  /** The names of the parts that applied besides the price itself. */
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

/** The tiers of requests in a service tier. */
function tiersOf(price: Price, service: ServiceTierRates | undefined): readonly PriceTier[] {
  return service?.tiers ?? price.tiers ?? []
}

/** @param exceeded The exceeded tiers in ascending order. */
export function withTiers(base: TokenRates, exceeded: readonly PriceTier[]): Omit<AppliedRates, 'names'> {
  const whole = exceeded.findLastIndex(({ appliesTo }) => appliesTo === 'request')
  const rates = override(base, exceeded[whole])
  const above = exceeded.slice(whole + 1).map((tier) => ({ tier, rates: override(rates, tier) }))
  return { rates, excess: above.reverse() }
}

/** Names come from providers: inherited properties of objects are not service tiers. */
export function serviceTierOf({ serviceTiers }: Price, name: string | undefined): ServiceTierRates | undefined {
  if (serviceTiers === undefined || name === undefined) return undefined
  return Object.hasOwn(serviceTiers, name) ? serviceTiers[name] : undefined
}

function discountAt({ discounts }: Price, at: number | undefined): DiscountRates | undefined {
  if (discounts === undefined || at === undefined) return undefined
  const minute = Math.floor(at / 60_000) % 1440
  return discounts.find(({ fromMinute, untilMinute }) =>
    fromMinute <= untilMinute
      ? fromMinute <= minute && minute < untilMinute
      : fromMinute <= minute || minute < untilMinute,
  )
}

/** Returns the rates of `base`, overridden by those of `over`. */
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

const writtenFor1h = ({
  inputMicroUsd,
  cacheWriteMicroUsd = inputMicroUsd,
  cacheWrite1hMicroUsd,
}: TokenRates): number => cacheWrite1hMicroUsd ?? cacheWriteMicroUsd

/** The rate of each class of tokens, absent ones resolved. */
const RATES = {
  input: (rates: TokenRates): number => rates.inputMicroUsd,
  cached_input: (rates: TokenRates): number => rates.cachedInputMicroUsd ?? rates.inputMicroUsd,
  cache_write: (rates: TokenRates): number => rates.cacheWriteMicroUsd ?? rates.inputMicroUsd,
  cache_write_1h: writtenFor1h,
  cache_write_12h: (rates: TokenRates): number => rates.cacheWrite12hMicroUsd ?? writtenFor1h(rates),
  audio_input: (rates: TokenRates): number => rates.audioInputMicroUsd ?? rates.inputMicroUsd,
  cached_audio_input: (rates: TokenRates): number => rates.cachedAudioInputMicroUsd ?? RATES.cached_input(rates),
  output: (rates: TokenRates): number => rates.outputMicroUsd,
  reasoning_output: (rates: TokenRates): number => rates.reasoningOutputMicroUsd ?? rates.outputMicroUsd,
  audio_output: (rates: TokenRates): number => rates.audioOutputMicroUsd ?? rates.outputMicroUsd,
  image_output: (rates: TokenRates): number => rates.imageOutputMicroUsd ?? rates.outputMicroUsd,
}
export type TokenKind = keyof typeof RATES

export function rateOf(rates: TokenRates, kind: TokenKind): number {
  return RATES[kind](rates)
}

/** Facts about a request before it is sent. */
export interface RequestFacts {
  /** The upper bound of one provider call. */
  readonly promptTokens: number
  /** The service tier of the request. Absent or `auto`: the provider chooses any service tier of the price. */
  readonly serviceTier?: string | undefined
  /** The Unix milliseconds of admission. Absent: any time of day. */
  readonly at?: number | undefined
  /** Provider calls, 1 unless given. */
  readonly calls?: number | undefined
  /** The images in the request. */
  readonly images?: number | undefined
  /** Most uses of each tool that the provider runs. */
  readonly serverTools?: Readonly<Record<string, number>> | undefined
  /** Classes of tokens that the request may have: all that are not `false`. */
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

/** Returns upper bounds: no usage within the facts costs more than its tokens at these rates plus the fixed fees. */
export function highestRates(price: Price, facts: RequestFacts) {
  const { may = ANY_CLASS } = facts
  let inputMicroUsd = 0
  let outputMicroUsd = 0
  for (const rates of possibleRates(price, facts)) {
    inputMicroUsd = Math.max(inputMicroUsd, highestInput(rates, may))
    outputMicroUsd = Math.max(outputMicroUsd, highestOutput(rates, may))
  }
  return { inputMicroUsd, outputMicroUsd, fixedNanoUsd: feesOf(price, facts) }
}

type Possible = NonNullable<RequestFacts['may']>
const ANY_CLASS: Possible = {}

function highestInput(rates: TokenRates, may: Possible): number {
  let highest = Math.max(rateOf(rates, 'input'), rateOf(rates, 'cached_input'))
  if (may.cacheWrite !== false) highest = Math.max(highest, rateOf(rates, 'cache_write'))
  if (may.cacheWrite1h !== false) highest = Math.max(highest, rateOf(rates, 'cache_write_1h'))
  if (may.cacheWrite12h !== false) highest = Math.max(highest, rateOf(rates, 'cache_write_12h'))
  if (may.audioInput === false) return highest
  return Math.max(highest, rateOf(rates, 'audio_input'), rateOf(rates, 'cached_audio_input'))
}

function highestOutput(rates: TokenRates, may: Possible): number {
  let highest = rateOf(rates, 'output')
  if (may.reasoning !== false) highest = Math.max(highest, rateOf(rates, 'reasoning_output'))
  if (may.audioOutput !== false) highest = Math.max(highest, rateOf(rates, 'audio_output'))
  if (may.imageOutput !== false) highest = Math.max(highest, rateOf(rates, 'image_output'))
  return highest
}

/** Returns all sets of rates that can apply to a token of the request. */
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

/** A provider may always fall back to its standard service. No request is a batch. */
function possibleServices(price: Price, name: string | undefined): readonly (ServiceTierRates | undefined)[] {
  if (name !== undefined && name !== 'auto') return [undefined, serviceTierOf(price, name)]
  const chosen = Object.entries(price.serviceTiers ?? {}).filter(([each]) => each !== 'batch')
  return [undefined, ...chosen.map(([, service]) => service)]
}

function feesOf(price: Price, { calls = 1, images = 0, serverTools }: RequestFacts): number {
  const { perRequestNanoUsd = 0, perImageNanoUsd = 0, serverToolNanoUsd = {} } = price
  let fees = calls * perRequestNanoUsd + images * perImageNanoUsd
  for (const name in serverTools) {
    if (Object.hasOwn(serverToolNanoUsd, name)) fees += (serverTools[name] ?? 0) * (serverToolNanoUsd[name] ?? 0)
  }
  return fees
}

/* What accounts of a plan pay: the price of the providers, raised by the plan's markup. */

/** The markup of a plan. */
export interface Markup {
  /** The share of the price that is added, in millionths. */
  readonly ppm: number
  /** Added to the fee of each provider call. */
  readonly requestFeeNanoUsd: number
}

/** Raises the rates and fees of all conditions. Rounds each up to its unit: a pico-dollar a token or a nano-dollar. */
export function markUp(price: Price, { ppm, requestFeeNanoUsd }: Markup): Price {
  const raise = (amount: number): number =>
    Number((BigInt(amount) * BigInt(MILLION + ppm) + ROUND_UP) / BigInt(MILLION))
  const raised = raisedIn(price, '', raise) as Price // the same fields with other numbers
  const fee = (raised.perRequestNanoUsd ?? 0) + requestFeeNanoUsd
  return fee === 0 ? raised : { ...raised, perRequestNanoUsd: fee }
}

const MILLION = 1_000_000
const ROUND_UP = BigInt(MILLION - 1)

function raisedIn(value: unknown, name: string, raise: (amount: number) => number): unknown {
  if (typeof value === 'number') return /(?:Micro|Nano)Usd$/.test(name) ? raise(value) : value
  if (Array.isArray(value)) return value.map((each) => raisedIn(each, name, raise))
  if (!isRecord(value)) return value
  const isFees = name === 'serverToolNanoUsd' // by names of tools
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, raisedIn(each, isFees ? name : key, raise)]),
  )
}

/** The amounts of a completion that determine the operator's margin. */
interface SoldUsage {
  readonly costNanoUsd: NanoUsd
  readonly providerCostNanoUsd?: NanoUsd | undefined
}

/** Returns the charge minus the cost of the providers, which is negative if less was charged. */
export function marginOf({ costNanoUsd, providerCostNanoUsd }: SoldUsage): NanoUsd {
  return providerCostNanoUsd === undefined ? 0n : costNanoUsd - providerCostNanoUsd
}
