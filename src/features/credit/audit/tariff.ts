/**
 * The auditor's own arithmetic: the cost of usage under a stored tariff. Written from docs/prices.md alone, by another
 * method than `domain/price/price.ts`, which it checks: it lays every token of a prompt on a line and prices each segment
 * by its rate. It must not import code that charges.
 */

/** As `price_version` stores it: micro-dollars per million tokens, which is pico-dollars a token; fees in nano-dollars. */
export interface Rates {
  readonly inputMicroUsd?: number
  readonly outputMicroUsd?: number
  readonly cachedInputMicroUsd?: number
  readonly cacheWriteMicroUsd?: number
  readonly cacheWrite1hMicroUsd?: number
  readonly cacheWrite12hMicroUsd?: number
  readonly audioInputMicroUsd?: number
  readonly cachedAudioInputMicroUsd?: number
  readonly audioOutputMicroUsd?: number
  readonly imageOutputMicroUsd?: number
  readonly reasoningOutputMicroUsd?: number
}

interface Tier extends Rates {
  readonly abovePromptTokens: number
  readonly appliesTo: 'request' | 'excess'
}

export interface Tariff extends Rates {
  readonly tiers?: readonly Tier[]
  readonly perRequestNanoUsd?: number
  readonly perImageNanoUsd?: number
  readonly serverToolNanoUsd?: Readonly<Record<string, number>>
  readonly serviceTiers?: Readonly<Record<string, Rates & { readonly tiers?: readonly Tier[] }>>
  readonly discounts?: readonly (Rates & { readonly fromMinute: number; readonly untilMinute: number })[]
}

export interface AuditedUsage {
  readonly prompt: number
  readonly completion: number
  readonly cached: number
  readonly cacheWrite: number
  readonly reasoning: number
  readonly cacheWrite1h?: number
  readonly cacheWrite12h?: number
  readonly audioInput?: number
  readonly cachedAudio?: number
  readonly audioOutput?: number
  readonly imageOutput?: number
  readonly images?: number
  readonly serverTools?: Readonly<Record<string, number>>
  readonly serviceTier?: string
  readonly calls?: number
  /** The fee of a call with the account's own credential: a share of the cost, in millionths. */
  readonly byok?: { readonly feePpm: number }
  /** Whether any of the optional classes above is present. */
  readonly hasDetail?: boolean
  /** The time of admission, Unix milliseconds. */
  readonly at: number
}

type Rate = keyof Rates

/** The rates that replace an absent one, in order. */
const FALLBACKS: Readonly<Record<Rate, Rate | undefined>> = {
  inputMicroUsd: undefined,
  outputMicroUsd: undefined,
  cachedInputMicroUsd: 'inputMicroUsd',
  cacheWriteMicroUsd: 'inputMicroUsd',
  cacheWrite1hMicroUsd: 'cacheWriteMicroUsd',
  cacheWrite12hMicroUsd: 'cacheWrite1hMicroUsd',
  audioInputMicroUsd: 'inputMicroUsd',
  cachedAudioInputMicroUsd: 'cachedInputMicroUsd',
  audioOutputMicroUsd: 'outputMicroUsd',
  imageOutputMicroUsd: 'outputMicroUsd',
  reasoningOutputMicroUsd: 'outputMicroUsd',
}

/** The layers of a price, the strongest first. */
type Layers = readonly Rates[]

const PICO_A_NANO = 1000n

/** Nano-dollars, rounded up once. */
export function costOf(usage: AuditedUsage, tariff: Tariff): bigint {
  return ofByok(usage, plainCost(usage, tariff) ?? layeredCost(usage, tariff))
}

/** Returns the fee of a call with the account's own credential, rounded up to a nano-dollar. */
function ofByok({ byok }: AuditedUsage, nanoUsd: bigint): bigint {
  if (byok === undefined) return nanoUsd
  const [whole, rest] = [(nanoUsd * BigInt(byok.feePpm)) / 1_000_000n, (nanoUsd * BigInt(byok.feePpm)) % 1_000_000n]
  return rest === 0n ? whole : whole + 1n
}

const CONDITIONS = ['tiers', 'serviceTiers', 'discounts', 'perRequestNanoUsd', 'perImageNanoUsd', 'serverToolNanoUsd']

/** Returns the rates of a flat tariff as numbers if those are exact; undefined for any other tariff. */
function plainCost(usage: AuditedUsage, tariff: Tariff): bigint | undefined {
  const { inputMicroUsd: input, outputMicroUsd: output } = tariff
  if (input === undefined || output === undefined || usage.hasDetail === true) return undefined
  for (const name of CONDITIONS) if (name in tariff) return undefined
  if (usage.reasoning > 0 && tariff.reasoningOutputMicroUsd !== undefined) return undefined
  const { prompt, completion } = usage
  const cached = Math.min(usage.cached, prompt)
  const written = Math.min(usage.cacheWrite, prompt - cached)
  const { cachedInputMicroUsd = input, cacheWriteMicroUsd = input } = tariff
  const pico =
    completion * output +
    cached * cachedInputMicroUsd +
    written * cacheWriteMicroUsd +
    (prompt - cached - written) * input
  return Number.isSafeInteger(pico) ? BigInt(Math.ceil(pico / 1000)) : undefined
}

function layeredCost(usage: AuditedUsage, tariff: Tariff): bigint {
  const service = own(tariff.serviceTiers, usage.serviceTier)
  const discount = tariff.discounts?.find((each) => isWithin(usage.at, each))
  const base: Layers = [service, discount, tariff].filter((layer) => layer !== undefined)
  const calls = usage.calls ?? 1
  const reached = (service?.tiers ?? tariff.tiers ?? []).filter((tier) => usage.prompt > tier.abovePromptTokens * calls)
  const whole = reached.findLastIndex(({ appliesTo }) => appliesTo === 'request')
  const layers = whole < 0 ? base : [reached[whole] as Tier, ...base]
  const excess = reached.slice(whole + 1).map((tier) => ({ from: tier.abovePromptTokens * calls, tier }))
  const pico =
    promptCost(usage, layers, excess) +
    outputCost(usage, excess.length === 0 ? layers : [(excess.at(-1) as Excess).tier, ...layers]) +
    feesOf(usage, tariff, calls) * PICO_A_NANO
  return (pico + PICO_A_NANO - 1n) / PICO_A_NANO
}

/** Returns the highest possible price of a prompt token and of an output token. */
export function highestCost(usage: AuditedUsage, tariff: Tariff): bigint {
  const { prompt, completion } = usage
  const layers = [tariff, ...(tariff.tiers ?? []), ...(tariff.discounts ?? [])] as Rates[]
  for (const service of Object.values(tariff.serviceTiers ?? {})) layers.push(service, ...(service.tiers ?? []))
  const highest = (of: (name: string) => boolean): bigint =>
    BigInt(Math.max(0, ...layers.flatMap((layer) => valuesOf(layer, of))))
  const output = highest((name) => name.includes('utput'))
  const input = highest((name) => !name.includes('utput'))
  const pico = BigInt(prompt) * input + BigInt(completion) * output
  // A hold rounds each rate of a fee up to a pico-dollar a token.
  const rounding = usage.byok === undefined ? 0n : (BigInt(prompt + completion) + PICO_A_NANO) / PICO_A_NANO
  return ofByok(usage, (pico + PICO_A_NANO - 1n) / PICO_A_NANO) + rounding + fixedFees(usage, tariff)
}

/** Returns the fees that do not depend on tokens, in nano-dollars. */
export function fixedFees(usage: AuditedUsage, tariff: Tariff): bigint {
  return ofByok(usage, feesOf(usage, tariff, usage.calls ?? 1))
}

function valuesOf(layer: Rates, of: (name: string) => boolean): number[] {
  const names = Object.keys(FALLBACKS) as Rate[]
  return names.filter(of).flatMap((name) => layer[name] ?? [])
}

interface Excess {
  readonly from: number
  readonly tier: Tier
}

function own<Value>(values: Readonly<Record<string, Value>> | undefined, name: string | undefined): Value | undefined {
  return values !== undefined && name !== undefined && Object.hasOwn(values, name) ? values[name] : undefined
}

function isWithin(at: number, { fromMinute, untilMinute }: { fromMinute: number; untilMinute: number }): boolean {
  const minute = Math.floor(at / 60_000) % 1440
  const wraps = fromMinute > untilMinute
  return wraps ? minute >= fromMinute || minute < untilMinute : minute >= fromMinute && minute < untilMinute
}

function rateIn(layers: Layers, rate: Rate): bigint {
  for (let name: Rate | undefined = rate; name !== undefined; name = FALLBACKS[name]) {
    for (const layer of layers) {
      const value = layer[name]
      if (value !== undefined && value !== null) return BigInt(value)
    }
  }
  return 0n
}

/** Cached tokens are the first of a prompt, then what was written, then audio, and fresh text is last. */
function promptClasses(usage: AuditedUsage): readonly (readonly [Rate, number])[] {
  const { prompt } = usage
  const cached = Math.min(usage.cached, prompt)
  const written = Math.min(usage.cacheWrite, prompt - cached)
  const written12h = Math.min(usage.cacheWrite12h ?? 0, written)
  const written1h = Math.min(usage.cacheWrite1h ?? 0, written - written12h)
  const cachedAudio = Math.min(usage.cachedAudio ?? 0, cached)
  const fresh = prompt - cached - written
  const audio = Math.min(Math.max(0, (usage.audioInput ?? 0) - cachedAudio), fresh)
  return [
    ['cachedAudioInputMicroUsd', cachedAudio],
    ['cachedInputMicroUsd', cached - cachedAudio],
    ['cacheWrite12hMicroUsd', written12h],
    ['cacheWrite1hMicroUsd', written1h],
    ['cacheWriteMicroUsd', written - written1h - written12h],
    ['audioInputMicroUsd', audio],
    ['inputMicroUsd', fresh - audio],
  ]
}

/** @param excess Ascending. */
function promptCost(usage: AuditedUsage, layers: Layers, excess: readonly Excess[]): bigint {
  let pico = 0n
  let start = 0
  for (const [rate, tokens] of promptClasses(usage)) {
    const end = start + tokens
    const cuts = [start, ...excess.map(({ from }) => from).filter((from) => from > start && from < end), end]
    for (let at = 0; at + 1 < cuts.length; at++) {
      const [from = 0, until = 0] = [cuts[at], cuts[at + 1]]
      const tier = excess.findLast((each) => each.from <= from)?.tier
      pico += BigInt(until - from) * rateIn(tier === undefined ? layers : [tier, ...layers], rate)
    }
    start = end
  }
  return pico
}

function outputCost(usage: AuditedUsage, layers: Layers): bigint {
  const { completion, audioOutput = 0, imageOutput = 0, reasoning } = usage
  const audio = Math.min(audioOutput, completion)
  const image = Math.min(imageOutput, completion - audio)
  const thought = Math.min(reasoning, completion - audio - image)
  return (
    BigInt(audio) * rateIn(layers, 'audioOutputMicroUsd') +
    BigInt(image) * rateIn(layers, 'imageOutputMicroUsd') +
    BigInt(thought) * rateIn(layers, 'reasoningOutputMicroUsd') +
    BigInt(completion - audio - image - thought) * rateIn(layers, 'outputMicroUsd')
  )
}

function feesOf({ images = 0, serverTools = {} }: AuditedUsage, tariff: Tariff, calls: number): bigint {
  const { perRequestNanoUsd = 0, perImageNanoUsd = 0, serverToolNanoUsd } = tariff
  let nano = BigInt(calls) * BigInt(perRequestNanoUsd) + BigInt(images) * BigInt(perImageNanoUsd)
  for (const [name, uses] of Object.entries(serverTools))
    nano += BigInt(uses) * BigInt(own(serverToolNanoUsd, name) ?? 0)
  return nano
}
