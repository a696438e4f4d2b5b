/** `$0.0000125`, `$12.50`: at least 2 decimals, at most 9, never an exponent. */
export function dollars(usd: number): string {
  const text = Math.abs(usd)
    .toFixed(9)
    .replace(/0{1,7}$/, '')
  return `${usd < 0 ? '-' : ''}$${text}`
}
