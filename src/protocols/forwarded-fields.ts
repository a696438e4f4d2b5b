/**
 * Which body fields beyond our own reach a provider: an allow-list for each host that is known by name, everything on
 * hosts of the operator's own, and in both cases nothing that costs what the model's price does not say.
 */
import type { ChatRequest } from '../domain/chat.ts'
import type { Price } from '../domain/price.ts'
import { costFieldOf, judgeCost, refuseNestedCost, refuseUnknownCost } from './cost-fields.ts'

/** The documented extension fields of one host. */
export interface ForwardedFields {
  readonly fields: readonly string[]
  /** The page they come from, and the day it was read; the provider's own unless said. */
  readonly source?: { readonly url: string; readonly read: string }
}

/** What decides, beside the fields themselves. */
export interface ForwardTarget {
  readonly price?: Price | undefined
  readonly forwardUnknown?: boolean | undefined
}

export interface Forwarding {
  /** Those the host, or its codec, knows. */
  readonly known: ReadonlySet<string>
  readonly target: ForwardTarget
  /** Names of parameters that were dropped or bent. */
  readonly warnings: Set<string>
}

export type Fields = Readonly<Record<string, unknown>>

const NO_FIELDS: Fields = Object.freeze(Object.create(null))

/**
 * The extension fields of a request that are to be sent; the others are named in `warnings`. Null means absent.
 * @throws GatewayError `unsupported_parameter` for fields that cost and have no price.
 */
export function forwardedFields(
  { extra }: Pick<ChatRequest, 'extra'>,
  { known, target, warnings }: Forwarding,
): Fields {
  let sent: Record<string, unknown> | undefined
  for (const name in extra) {
    const value = extra[name]
    if (value === null || value === undefined) continue
    const cost = costFieldOf(name)
    if (cost !== undefined) {
      if (judgeCost(name, value, cost, target.price) === 'drop') {
        warnings.add(name)
        continue
      }
      if (!known.has(name) && target.forwardUnknown !== true) refuseUnknownCost(name)
    } else if (!known.has(name)) {
      refuseNestedCost(name, value)
      if (target.forwardUnknown !== true) {
        warnings.add(name)
        continue
      }
    }
    sent ??= Object.create(null) as Record<string, unknown>
    sent[name] = value
  }
  return sent ?? NO_FIELDS
}

/** The body with fields that nobody here knows. Where both have one, ours stands and the other is named in `warnings`. */
export function withOthers(body: object, others: Fields, warnings: Set<string>): object {
  for (const name in others) if (name in body) warnings.add(name)
  return { ...others, ...body }
}

/**
 * A field of ours that costs: undefined where it asks for nothing, and is then named in `warnings`.
 * @throws GatewayError `unsupported_parameter` where its value costs what the price does not say.
 */
export function pricedField<Value>(
  name: 'service_tier' | 'modalities',
  value: Value | undefined,
  { target, warnings }: Pick<Forwarding, 'target' | 'warnings'>,
): Value | undefined {
  const cost = value === undefined ? undefined : costFieldOf(name)
  if (cost === undefined) return value
  if (judgeCost(name, value, cost, target.price) === 'send') return value
  warnings.add(name)
  return undefined
}
