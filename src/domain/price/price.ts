/**
 * The charge for a request under a model's tariff. Rates are micro-dollars per million tokens, fees nano-dollars, all
 * whole numbers; a sum is rounded up to the next nano-dollar once. Only this file multiplies tokens by prices, for
 * settlements, holds, corrections, audits and the arithmetic that customers see.
 */
import { canonicalJson } from '../../lib/json.ts'
import type { NanoUsd } from '../money.ts'
import {
  type AppliedRates,
  applicableRates,
  type ByokUsage,
  type ChargeableUsage,
  type Price,
  rateOf,
  type TokenKind,
} from './tariff.ts'

/** The tokens of one class at one rate. */
interface TokenLine {
  readonly kind: TokenKind
  readonly tokens: number
  /** Per million tokens. */
  readonly microUsd: number
  /** The threshold that these tokens exceed, of a tier that prices the excess. */
  readonly abovePromptTokens?: number
}
/** Uses of one thing at a fee. */
interface FeeLine {
  readonly kind: 'request' | 'image' | 'server_tool'
  /** The name of a server tool. */
  readonly name?: string
  readonly uses: number
  /** Per use. */
  readonly nanoUsd: number
}
export type ChargeLine = TokenLine | FeeLine

interface PricedUsage {
  readonly nanoUsd: NanoUsd
  /**
   * `base`, or the parts of the price that applied, joined by `+`: `flex`, `discount`, `above_200000`,
   * `cache_write_1h`.
   */
  readonly rule: string
  /** The lines of the used classes; always of `input` and `output`. */
  readonly lines: readonly ChargeLine[]
  /** The sum of the lines, of which `nanoUsd` is a share where the account paid the provider itself. */
  readonly listNanoUsd: NanoUsd
}

const PICO_A_NANO = 1000n

/** The charge, the rule that applied, and the arithmetic line by line. */
export function priceUsage(usage: ChargeableUsage, price: Price): PricedUsage {
  const applied = applicableRates(usage, price)
  const lines = [...inputLines(usage, applied), ...outputLines(usage, applied), ...feeLines(usage, price)]
  const listNanoUsd = sumOf(lines)
  const nanoUsd = usage.byok === undefined ? listNanoUsd : byokFee(listNanoUsd, usage.byok)
  return { nanoUsd, rule: ruleOf(usage, applied), lines, listNanoUsd }
}

const MILLION = 1_000_000n

/** Returns the charge if the account pays the provider itself: a share of the cost, rounded up. */
function byokFee(listNanoUsd: NanoUsd, { feePpm }: ByokUsage): NanoUsd {
  return (listNanoUsd * BigInt(feePpm) + MILLION - 1n) / MILLION
}

/** Returns only the charge; fast for prices with rates only, which most are. */
export function chargeNanoUsd(usage: ChargeableUsage, price: Price): NanoUsd {
  return chargePlain(usage, price) ?? priceUsage(usage, price).nanoUsd
}

/** Returns the charge and the rule; as fast as `chargeNanoUsd`. */
export function chargeByRule(usage: ChargeableUsage, price: Price): Omit<PricedUsage, 'lines'> {
  const plain = chargePlain(usage, price)
  if (plain === undefined) return priceUsage(usage, price)
  return { nanoUsd: plain, rule: BASE_RULE, listNanoUsd: plain }
}

/** The name of the price itself if nothing else applied. */
export const BASE_RULE = 'base'

/**
 * Undefined for prices with conditions, for usage of other classes than fresh, cached, written and generated tokens,
 * and for fees.
 */
function chargePlain(usage: ChargeableUsage, price: Price): NanoUsd | undefined {
  if (hasConditions(price) || hasSeldomClasses(usage)) return undefined
  if (usage.reasoning && price.reasoningOutputMicroUsd !== undefined) return undefined
  const { prompt, completion } = usage
  const cached = Math.min(usage.cached ?? 0, prompt)
  const written = Math.min(usage.cacheWrite ?? 0, prompt - cached)
  const pico =
    (prompt - cached - written) * price.inputMicroUsd +
    cached * (price.cachedInputMicroUsd ?? price.inputMicroUsd) +
    written * (price.cacheWriteMicroUsd ?? price.inputMicroUsd) +
    completion * price.outputMicroUsd
  return Number.isSafeInteger(pico) ? (BigInt(pico) + PICO_A_NANO - 1n) / PICO_A_NANO : undefined
}

function hasConditions(price: Price): boolean {
  const fees = price.perRequestNanoUsd ?? price.perImageNanoUsd ?? price.serverToolNanoUsd
  return (price.tiers ?? fees ?? price.serviceTiers ?? price.discounts) !== undefined
}

function hasSeldomClasses(usage: ChargeableUsage): boolean {
  const input = usage.cacheWrite1h || usage.cacheWrite12h || usage.audioInput || usage.cachedAudio
  return Boolean(input || usage.audioOutput || usage.imageOutput || usage.byok)
}

function sumOf(lines: readonly ChargeLine[]): NanoUsd {
  let pico = 0n
  for (const line of lines) {
    pico +=
      'tokens' in line
        ? BigInt(line.tokens) * BigInt(line.microUsd)
        : BigInt(line.uses) * BigInt(line.nanoUsd) * PICO_A_NANO
  }
  return (pico + PICO_A_NANO - 1n) / PICO_A_NANO
}

type ClassCount = readonly [kind: TokenKind, tokens: number]

/** Prompt tokens by class, in the order in which they are above a threshold: fresh ones first, cached ones last. */
function inputClasses(usage: ChargeableUsage): readonly ClassCount[] {
  const { prompt } = usage
  const cached = Math.min(usage.cached ?? 0, prompt)
  const written = Math.min(usage.cacheWrite ?? 0, prompt - cached)
  const fresh = prompt - cached - written
  const written12h = Math.min(usage.cacheWrite12h ?? 0, written)
  const written1h = Math.min(usage.cacheWrite1h ?? 0, written - written12h)
  const cachedAudio = Math.min(usage.cachedAudio ?? 0, cached)
  const audio = Math.min(Math.max(0, (usage.audioInput ?? 0) - cachedAudio), fresh)
  return [
    ['input', fresh - audio],
    ['audio_input', audio],
    ['cache_write', written - written1h - written12h],
    ['cache_write_1h', written1h],
    ['cache_write_12h', written12h],
    ['cached_input', cached - cachedAudio],
    ['cached_audio_input', cachedAudio],
  ]
}

function inputLines(usage: ChargeableUsage, { rates, excess }: AppliedRates): readonly TokenLine[] {
  const lines: TokenLine[] = []
  const { prompt, calls = 1 } = usage
  const thresholdOf = (at: number) => (excess[at]?.tier.abovePromptTokens ?? 0) * calls
  let end = prompt
  let next = 0
  for (const [kind, tokens] of inputClasses(usage)) {
    if (tokens === 0 && kind === 'input') lines.push({ kind, tokens, microUsd: rateOf(rates, kind) })
    for (let left = tokens; left > 0; ) {
      while (next < excess.length && end <= thresholdOf(next)) next++
      const above = excess[next]
      const count = Math.min(left, end - thresholdOf(next))
      const line = { kind, tokens: count, microUsd: rateOf(above?.rates ?? rates, kind) }
      lines.push(above === undefined ? line : { ...line, abovePromptTokens: above.tier.abovePromptTokens })
      left -= count
      end -= count
    }
  }
  return lines.sort((one, other) => INPUT_ORDER.indexOf(one.kind) - INPUT_ORDER.indexOf(other.kind))
}

/** The order of the lines. */
const INPUT_ORDER: readonly TokenKind[] = [
  'input',
  'cached_input',
  'cache_write',
  'cache_write_1h',
  'cache_write_12h',
  'audio_input',
  'cached_audio_input',
]

function outputLines(usage: ChargeableUsage, { rates, excess }: AppliedRates): readonly TokenLine[] {
  const { completion } = usage
  const audio = Math.min(usage.audioOutput ?? 0, completion)
  const image = Math.min(usage.imageOutput ?? 0, completion - audio)
  const applied = excess[0]?.rates ?? rates
  // Without a rate of its own, reasoning is output like any other.
  const priced = applied.reasoningOutputMicroUsd === undefined ? 0 : (usage.reasoning ?? 0)
  const reasoning = Math.min(priced, completion - audio - image)
  const classes: readonly ClassCount[] = [
    ['output', completion - audio - image - reasoning],
    ['reasoning_output', reasoning],
    ['audio_output', audio],
    ['image_output', image],
  ]
  return classes.flatMap(([kind, tokens]) =>
    tokens > 0 || kind === 'output' ? [{ kind, tokens, microUsd: rateOf(applied, kind) }] : [],
  )
}

function feeLines(usage: ChargeableUsage, { perRequestNanoUsd, perImageNanoUsd, serverToolNanoUsd = {} }: Price) {
  const lines: FeeLine[] = []
  const { calls = 1, images = 0, serverTools = {} } = usage
  if (perRequestNanoUsd !== undefined) lines.push({ kind: 'request', uses: calls, nanoUsd: perRequestNanoUsd })
  if (perImageNanoUsd !== undefined && images > 0) lines.push({ kind: 'image', uses: images, nanoUsd: perImageNanoUsd })
  for (const [name, uses] of Object.entries(serverTools)) {
    const nanoUsd = Object.hasOwn(serverToolNanoUsd, name) ? serverToolNanoUsd[name] : undefined
    if (nanoUsd !== undefined && uses > 0) lines.push({ kind: 'server_tool', name, uses, nanoUsd })
  }
  return lines
}

function ruleOf({ cacheWrite1h = 0, cacheWrite12h = 0, byok }: ChargeableUsage, { names }: AppliedRates): string {
  const lifetimes = [...(cacheWrite1h > 0 ? ['cache_write_1h'] : []), ...(cacheWrite12h > 0 ? ['cache_write_12h'] : [])]
  return [...names, ...lifetimes, ...(byok === undefined ? [] : ['byok'])].join('+') || BASE_RULE
}

/* Prices and usage as the database stores them: common fields in columns, the others as JSON. */

/** The columns of `price_version`. */
interface StoredPrice {
  readonly input_micro_usd: number
  readonly output_micro_usd: number
  readonly cached_input_micro_usd: number | null
  readonly cache_write_micro_usd: number | null
  /** The other fields of `Price`, as canonical JSON; null: it has none. */
  readonly tariff: string | null
}

export function storePrice(price: Price): StoredPrice {
  return {
    input_micro_usd: price.inputMicroUsd,
    output_micro_usd: price.outputMicroUsd,
    cached_input_micro_usd: price.cachedInputMicroUsd ?? null,
    cache_write_micro_usd: price.cacheWriteMicroUsd ?? null,
    tariff: tariffText(price) ?? null,
  }
}

/** The price that `storePrice` was given. */
export function readStoredPrice(stored: StoredPrice): Price {
  // Only `storePrice` writes the column.
  const more = stored.tariff === null ? {} : (JSON.parse(stored.tariff) as Partial<Price>)
  return {
    ...more,
    inputMicroUsd: stored.input_micro_usd,
    outputMicroUsd: stored.output_micro_usd,
    cachedInputMicroUsd: stored.cached_input_micro_usd ?? undefined,
    cacheWriteMicroUsd: stored.cache_write_micro_usd ?? undefined,
  }
}

/** Returns the fields of a price without columns of their own, as canonical JSON; undefined: it has none. */
export function tariffText(price: Price): string | undefined {
  const four = {
    inputMicroUsd: undefined,
    outputMicroUsd: undefined,
    cachedInputMicroUsd: undefined,
    cacheWriteMicroUsd: undefined,
  }
  const text = canonicalJson({ ...price, ...four })
  return text === '{}' ? undefined : text
}

/** The column `usage_detail`: classes of usage that few completions have. */
export type UsageDetail = Omit<ChargeableUsage, 'prompt' | 'completion' | 'cached' | 'cacheWrite' | 'reasoning' | 'at'>

/** Undefined if there is no such usage. */
export function usageDetailOf(usage: ChargeableUsage): UsageDetail | undefined {
  const { serviceTier, calls, serverTools, byok } = usage
  let detail: { -readonly [Name in keyof UsageDetail]: UsageDetail[Name] } | undefined
  for (const name of COUNTS) {
    const tokens = usage[name]
    if (tokens) detail = { ...detail, [name]: tokens }
  }
  if (serviceTier !== undefined) detail = { ...detail, serviceTier }
  if (serverTools !== undefined) detail = { ...detail, serverTools }
  if (calls !== undefined && calls > 1) detail = { ...detail, calls }
  if (byok !== undefined) detail = { ...detail, byok }
  return detail
}

const COUNTS = [
  'cacheWrite1h',
  'cacheWrite12h',
  'audioInput',
  'cachedAudio',
  'audioOutput',
  'imageOutput',
  'images',
] as const satisfies readonly (keyof UsageDetail)[]

/**
 * Returns the share of the cost that a stored completion was charged. Undefined if it used the operator's credential.
 */
export function readStoredByok({ usage_detail: text }: Pick<StoredUsage, 'usage_detail'>): ByokUsage | undefined {
  // Only `usageDetailText` writes the column.
  return text?.includes('"byok"') === true ? (JSON.parse(text) as UsageDetail).byok : undefined
}

/** Returns JSON. Undefined is stored as null. */
export function usageDetailText(detail: UsageDetail | undefined): string | undefined {
  return detail === undefined ? undefined : JSON.stringify(detail)
}

/** The columns of a completion that determine its charge. */
interface StoredUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cached_tokens: number | null
  readonly cache_write_tokens: number | null
  readonly reasoning_tokens: number | null
  readonly usage_detail: string | null
  readonly created_at: number
}

/** Returns the usage that a completion was charged for. Its row was created at admission. */
export function readStoredUsage(row: StoredUsage): ChargeableUsage {
  return {
    // Only `usageDetailText` writes the column.
    ...(row.usage_detail === null ? {} : (JSON.parse(row.usage_detail) as UsageDetail)),
    prompt: row.prompt_tokens,
    completion: row.completion_tokens,
    cached: row.cached_tokens ?? undefined,
    cacheWrite: row.cache_write_tokens ?? undefined,
    reasoning: row.reasoning_tokens ?? undefined,
    at: row.created_at,
  }
}
