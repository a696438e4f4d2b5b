import { GatewayError } from './errors.ts'
import type { Price } from './price/tariff.ts'

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
  /** ID of the model to use instead. */
  readonly replacement?: string | undefined
  readonly inputModalities: readonly string[]
  readonly supportedParameters: readonly string[]
  readonly deployments: readonly Deployment[]
}

type Dated = Pick<Model, 'deprecationDate'>

/** Whether the day of the shutdown has come. @param now Unix milliseconds. */
export function isDeprecated({ deprecationDate: date }: Dated, now: number): boolean {
  return date !== undefined && Date.parse(date) <= now
}

/**
 * Headers of answers about or from a model: `Sunset` (RFC 8594, an HTTP date) as soon as the day is known, `Deprecation`
 * (RFC 9745, a structured date) from that day on. Undefined: there is nothing to say.
 */
export function deprecationHeaders(model: Dated, now: number): Readonly<Record<string, string>> | undefined {
  if (model.deprecationDate === undefined) return undefined
  const at = Date.parse(model.deprecationDate)
  const sunset = new Date(at).toUTCString()
  return isDeprecated(model, now) ? { deprecation: `@${at / 1000}`, sunset } : { sunset }
}

/** Of a model that has no price at this moment: 422 where it never had one, 503 where none applies now. */
export function notPriced({ id, pricePeriods }: Model): GatewayError {
  if (pricePeriods === undefined) {
    const message = `The model '${id}' has no price yet. The operator sets it in the configuration file.`
    return new GatewayError('model_not_priced', message, { param: 'model' })
  }
  const message = `No price of the model '${id}' applies now. The operator sets the next one in the configuration file.`
  return new GatewayError('model_not_priced', message, { param: 'model', as: 'provider_credentials' })
}

/** How long in advance the operator is alerted to a price that ends without a successor. */
const PRICE_ALERT_MS = 7 * 86_400_000

export interface PriceEnd {
  readonly model: string
  /** Unix milliseconds at which the model is without a price. */
  readonly endsAt: number
  readonly hasEnded: boolean
}

/** Models whose price has ended or ends within `PRICE_ALERT_MS` of `now` with nothing to follow; aliases are left out. */
export function endingPrices(models: readonly Model[], now: number): readonly PriceEnd[] {
  return models.flatMap(({ id, aliasOf, pricePeriods }) => {
    if (aliasOf !== undefined || pricePeriods === undefined) return []
    const endsAt = unpricedFrom(pricePeriods, now)
    return endsAt - now <= PRICE_ALERT_MS ? [{ model: id, endsAt, hasEnded: endsAt <= now }] : []
  })
}

/** When the first gap begins that is not over yet; `Infinity`: there is none. */
function unpricedFrom(periods: readonly PricePeriod[], now: number): number {
  const [first] = periods
  if (first !== undefined && now < first.startsAt) return now
  for (const [at, { endsAt }] of periods.entries()) {
    const next = periods[at + 1]?.startsAt ?? Number.POSITIVE_INFINITY
    if (next > endsAt && next > now) return endsAt
  }
  return Number.POSITIVE_INFINITY
}

/** `gpt-x ended on 2026-11-21`, `gpt-y ends on 2026-11-30`: the last day of the price, UTC. */
export function priceEndText({ model, endsAt, hasEnded }: PriceEnd): string {
  return `${model} ${hasEnded ? 'ended' : 'ends'} on ${new Date(endsAt - 1).toISOString().slice(0, 10)}`
}
