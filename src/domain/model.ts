import type { Price } from './price.ts'

export const CAPABILITIES = ['streaming', 'function_calling', 'vision', 'json_mode'] as const
export type Capability = (typeof CAPABILITIES)[number]
export type Capabilities = Readonly<Record<Capability, boolean>>

/** Where a model can be had. Tried by priority (lowest first), spread by weight within one. */
export interface Deployment {
  /** Name of a configured provider. */
  readonly provider: string
  /** The provider's own name of the model. */
  readonly model: string
  readonly priority: number
  readonly weight: number
}

/** A price of a model and when it applies, in Unix milliseconds. */
export interface PricePeriod {
  readonly price: Price
  readonly version: string
  /** `-Infinity`: always did. */
  readonly startsAt: number
  /** Not included; `Infinity`: until further notice. */
  readonly endsAt: number
}

/** A model of the price list, as it can be called and as it is listed. */
export interface Model {
  readonly id: string
  readonly name: string
  /** Provider name shown to clients. */
  readonly ownedBy: string
  /** Unix seconds. */
  readonly created: number
  readonly capabilities: Capabilities
  readonly contextWindow: number
  /** Undefined: not known. */
  readonly maxOutputTokens: number | undefined
  /** Of the moment at which the model was looked up. Undefined: not known, and then the model may not be called. */
  readonly price: Price | undefined
  /** Names exactly this price, for ever; undefined without a price. */
  readonly priceVersion: string | undefined
  /** All its prices, the earliest first, where it is not one without an end. */
  readonly pricePeriods?: readonly PricePeriod[] | undefined
  /** Where the price was read, and on which day, as an ISO date; absent: it is the operator's own, or there is none. */
  readonly priceSource?: { readonly url: string; readonly read: string } | undefined
  /** Set on an alias: the ID it stands for. */
  readonly aliasOf: string | undefined
  /** ISO date. */
  readonly deprecationDate: string | undefined
  readonly inputModalities: readonly string[]
  readonly supportedParameters: readonly string[]
  readonly deployments: readonly Deployment[]
}
