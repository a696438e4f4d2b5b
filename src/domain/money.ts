/**
 * Money is exact: rates are micro-dollars per million tokens, amounts nano-dollars (10⁻⁹ USD), both integers.
 * Only numbers for JSON are floating point.
 */
import { trimEndOf } from '../lib/text.ts'

/** Nano-dollars. */
export type NanoUsd = bigint

/**
 * Micro-dollars of a decimal number of dollars, exact as written: 0.27 → 270000.
 * @returns undefined for more than 6 decimals, negative or not finite numbers.
 */
export function parseMicroUsd(usd: number): number | undefined {
  const micro = Math.round(usd * 1e6)
  if (!Number.isSafeInteger(micro) || micro < 0) return undefined
  return Math.abs(micro / 1e6 - usd) <= Math.abs(usd) * Number.EPSILON * 2 ? micro : undefined
}

const NANO_DECIMALS = 9
/** Smaller numbers are printed with an exponent. */
const PLAIN_FROM = 1e-6

/**
 * Nano-dollars of a decimal amount of dollars, exact as written: 0.1 → 100000000. Numbers are read as printed, as in JSON.
 * @returns Undefined for more than 9 decimals, ten billion and more, negative amounts, and text that is not a number.
 */
export function parseNanoUsd(usd: number | string): NanoUsd | undefined {
  const isTiny = typeof usd === 'number' && usd < PLAIN_FROM
  const text = isTiny ? usd.toFixed(NANO_DECIMALS) : String(usd)
  const [, whole, decimals = ''] = /^(\d{1,10})(?:\.(\d+))?$/.exec(text) ?? []
  const fraction = trimEndOf(decimals, '0')
  if (whole === undefined || fraction.length > NANO_DECIMALS || (isTiny && Number(text) !== usd)) return undefined
  return BigInt(whole + fraction.padEnd(NANO_DECIMALS, '0'))
}

/** The USD number of JSON answers, at most 9 decimals. */
export function usdNumber(amount: NanoUsd): number {
  return Number(amount) / 1e9
}

const NANO_PER_CENT = 10_000_000n

/** To the cent, halves away from zero. */
export function centsOf(amount: NanoUsd): NanoUsd {
  return rounded(amount, NANO_PER_CENT)
}

function rounded(amount: NanoUsd, unit: bigint): NanoUsd {
  const half = amount < 0n ? -unit / 2n : unit / 2n
  return ((amount + half) / unit) * unit
}

/** To the cent, and below a cent to the two digits that say something: the dashboard shows amounts in the same way. */
export function briefUsd(amount: NanoUsd): NanoUsd {
  const digits = (amount < 0n ? -amount : amount).toString().length
  return digits > 7 ? centsOf(amount) : rounded(amount, 10n ** BigInt(Math.max(digits - 2, 0)))
}

/** Decimal text of an amount, without exponent and trailing zeros: `0.000015`, `-2.5`, `0`. */
export function usdText(amount: NanoUsd): string {
  const sign = amount < 0n ? '-' : ''
  const digits = (amount < 0n ? -amount : amount).toString().padStart(10, '0')
  const fraction = trimEndOf(digits.slice(-9), '0')
  return `${sign}${digits.slice(0, -9)}${fraction === '' ? '' : `.${fraction}`}`
}
