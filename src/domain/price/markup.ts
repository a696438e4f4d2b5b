/** What accounts of a plan pay: the price of the providers, raised by the plan's markup. */
import { isRecord } from '../../lib/json.ts'
import type { NanoUsd } from '../money.ts'
import type { Price } from './tariff.ts'

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
