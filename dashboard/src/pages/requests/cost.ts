/** The arithmetic of a cost, in whole pico-dollars (10⁻¹² USD): tokens times micro-dollars per million are just that. */
import { formatCount, formatExactUsd } from '../../lib/format.ts'
import { fromNano, toNano } from '../../lib/money.ts'
import type { Pricing } from './queries.ts'

export interface Arithmetic {
  /** `78 × $1.25/M + 10 × $10/M = $0.0001975` */
  readonly formula: string
  /** Whether the charge is more than the exact sum, by less than a nano-dollar. */
  readonly isRounded: boolean
}

const PICO_PER_NANO = 1000n
const MICRO_PER_NANO = 1000n
const PICO_DIGITS = 12

export function arithmeticOf({ lines }: Pick<Pricing, 'lines'>, costUsd: number): Arithmetic {
  const exact = lines.reduce((sum, line) => sum + picoOf(line), 0n)
  const isRounded = toNano(costUsd) * PICO_PER_NANO !== exact
  const products = lines.map((line) =>
    line.uses === undefined
      ? `${formatCount(line.tokens)} × ${rateText(line.usd_per_million)}`
      : `${formatCount(line.uses)} × ${formatExactUsd(line.usd_per_use ?? 0)}`,
  )
  const sum = `${products.join(' + ')} = ${picoText(exact)}`
  return {
    formula: isRounded ? `${sum}, rounded up to ${formatExactUsd(costUsd)}` : sum,
    isRounded,
  }
}

type Line = Pick<Pricing['lines'][number], 'tokens' | 'usd_per_million' | 'uses' | 'usd_per_use'>

export function picoOf({ tokens, usd_per_million: usd, uses = 0, usd_per_use: fee = 0 }: Line): bigint {
  return BigInt(tokens) * (toNano(usd) / MICRO_PER_NANO) + BigInt(uses) * toNano(fee) * PICO_PER_NANO
}

/** `$10/M`, `$0.125/M` */
export function rateText(usdPerMillion: number): string {
  return `${formatExactUsd(usdPerMillion).replace(/\.00$/, '')}/M`
}

/** With every digit, and cents at least: `$0.00`, `$1.25`, `$0.000197500004`. */
export function picoText(pico: bigint): string {
  const rest = pico % PICO_PER_NANO
  if (rest === 0n) return formatExactUsd(fromNano(pico / PICO_PER_NANO))
  const digits = pico.toString().padStart(PICO_DIGITS + 1, '0')
  const dollars = formatCount(Number(digits.slice(0, -PICO_DIGITS)))
  return `$${dollars}.${digits.slice(-PICO_DIGITS).replace(/0+$/, '')}`
}
