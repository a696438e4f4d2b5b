/** Amounts as whole nano-dollars (10⁻⁹ USD), so that sums of what the API sends are exact. */
const DECIMALS = 9

/**
 * The nano-dollars of an amount as JSON gives it: a number with at most 9 decimals. What lies between two of them goes to
 * the nearer one, halves away from zero.
 * @throws RangeError for what is no finite number.
 */
export function toNano(usd: number): bigint {
  if (!Number.isFinite(usd)) throw new RangeError('An amount is a finite number.')
  const [mantissa = '0', exponent = '0'] = Math.abs(usd).toString().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  const nano = shifted(whole + fraction, Number(exponent) - fraction.length + DECIMALS)
  return usd < 0 ? -nano : nano
}

/** `digits` times 10 to the power of `places`, rounded to a whole number, halves up. */
function shifted(digits: string, places: number): bigint {
  if (places >= 0) return BigInt(digits) * 10n ** BigInt(places)
  const unit = 10n ** BigInt(-places)
  return (BigInt(digits) + unit / 2n) / unit
}

/** The number that is nearest to the amount. It is exact to the nano-dollar up to eight million dollars. */
export function fromNano(nano: bigint): number {
  return Number(decimalText(nano))
}

/** `-0.000000001`: all nine decimals, without grouping. */
export function decimalText(nano: bigint): string {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(DECIMALS + 1, '0')
  return `${nano < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`
}

/** The exact sum, as a number: 0.1 and 0.2 are 0.3. */
export function sumUsd(values: Iterable<number>): number {
  let sum = 0n
  for (const value of values) sum += toNano(value)
  return fromNano(sum)
}
