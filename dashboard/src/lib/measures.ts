/** The three things that usage is measured in. Dollars are counted in whole nano-dollars, so that every sum is exact. */
import { formatCompact, formatCount, formatExactUsd, formatUsd } from './format.ts'
import { fromNano, toNano } from './money.ts'

export const METRICS = ['spend', 'requests', 'tokens'] as const
export type Metric = (typeof METRICS)[number]

export interface Counts {
  readonly requests: number
  readonly tokens: number
  readonly cost_usd: number
}

export const METRIC_NAMES: Readonly<Record<Metric, string>> = { spend: 'Spend', requests: 'Requests', tokens: 'Tokens' }

/** Nano-dollars, requests or tokens. */
export function amountOf(counts: Counts, metric: Metric): bigint {
  return metric === 'spend' ? toNano(counts.cost_usd) : BigInt(counts[metric])
}

/** Exact up to nine million dollars: until then, nano-dollars are integers that a number can be. */
export function formatAmount(metric: Metric, amount: number): string {
  return metric === 'spend' ? formatExactUsd(fromNano(BigInt(Math.round(amount)))) : formatCount(amount)
}

const NANO_PER_USD = 1e9

/** To the cent, for legends. */
export function formatBrief(metric: Metric, amount: number): string {
  return metric === 'spend' ? formatUsd(fromNano(BigInt(Math.round(amount)))) : formatCount(amount)
}

/** For axes, where there is no room. */
export function formatTick(metric: Metric, amount: number): string {
  if (metric !== 'spend') return formatCompact(amount)
  const usd = amount / NANO_PER_USD
  if (usd >= 1000) return `$${formatCompact(usd)}`
  return formatExactUsd(usd).replace(/\.00$/, '')
}

/**
 * How much more than before, as a ratio; in words where there is none.
 * @returns Undefined when both are nothing.
 */
export function changeOf(now: bigint, before: bigint): number | 'new' | undefined {
  if (before === 0n) return now === 0n ? undefined : 'new'
  return Number(now - before) / Number(before)
}

/** Undefined where there is nothing to have a share of. */
export function shareOf(part: bigint, whole: bigint): number | undefined {
  return whole === 0n ? undefined : Number(part) / Number(whole)
}
