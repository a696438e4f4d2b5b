/** Prices that end: what a model without one answers, and which ends the operator is to be told of. */
import { GatewayError } from './errors.ts'
import type { Model, PricePeriod } from './model.ts'

/** Of a model that has no price at this moment: 422 where it never had one, 503 where none applies now. */
export function notPriced({ id, pricePeriods }: Model): GatewayError {
  if (pricePeriods === undefined) {
    const message = `The model '${id}' has no price yet. The operator sets it in the configuration file.`
    return new GatewayError('model_not_priced', message, { param: 'model' })
  }
  const message = `No price of the model '${id}' applies now. The operator sets the next one in the configuration file.`
  return new GatewayError('model_not_priced', message, { param: 'model', as: 'provider_credentials' })
}

/** How long before it the operator is told of a price that ends without a successor. */
export const PRICE_ALERT_MS = 7 * 86_400_000

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
