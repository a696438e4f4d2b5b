/** What accounts of a plan pay: the price of the providers, raised by the plan's markup. */
import { isRecord } from '../../lib/json.ts'
import type { NanoUsd } from '../money.ts'
import type { Price } from './tariff.ts'

/** Of a plan. */
export interface Markup {
  /** Share of the price that is added, in millionths. */
  readonly ppm: number
  /** Added to the fee of each provider call. */
  readonly requestFeeNanoUsd: number
}

/** Rates and fees of all conditions; each is rounded up to its own unit, a pico-dollar a token or a nano-dollar. */
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

/** The columns of a completion that say what the operator earns. */
interface SoldUsage {
  readonly costNanoUsd: NanoUsd
  readonly providerCostNanoUsd?: NanoUsd | undefined
}

/** Of the charge, what is left when the providers are paid; negative: less was charged. */
export function marginOf({ costNanoUsd, providerCostNanoUsd }: SoldUsage): NanoUsd {
  return providerCostNanoUsd === undefined ? 0n : costNanoUsd - providerCostNanoUsd
}
