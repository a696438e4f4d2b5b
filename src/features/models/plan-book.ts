/** The models as accounts of a plan see them: at its prices, which are those of the providers with its markup. */
import type { Model, ModelBook, PricePeriod } from '../../domain/model.ts'
import { type Markup, markUp, type Price } from '../../domain/price/tariff.ts'
import { priceVersion } from './price.ts'

interface PlanPrices {
  readonly markup_percent?: number
  readonly request_fee_usd?: number
}

/** Of a plan of the configuration; undefined: none. */
export function markupOf({ markup_percent: percent = 0, request_fee_usd: fee = 0 }: PlanPrices): Markup | undefined {
  const ppm = Math.round(percent * PPM_PER_PERCENT)
  const requestFeeNanoUsd = Math.round(fee * NANO_PER_USD)
  return ppm === 0 && requestFeeNanoUsd === 0 ? undefined : { ppm, requestFeeNanoUsd }
}

const PPM_PER_PERCENT = 10_000
const NANO_PER_USD = 1e9

/** @param markup Undefined: the plan has none. */
export function planBook(book: ModelBook, markup: Markup | undefined): ModelBook {
  if (markup === undefined) return book
  const marked = new WeakMap<Model, Model>() // the book has few models, and the same ones for ever
  const markedUp = (model: Model): Model => {
    const known = marked.get(model) ?? withMarkup(model, markup)
    marked.set(model, known)
    return known
  }
  return {
    find(id) {
      const model = book.find(id)
      return model && markedUp(model)
    },
    nearest: book.nearest,
    get all() {
      return book.all.map(markedUp)
    },
  }
}

/** Versions name the model itself, whatever alias asked for it, and the version that is raised. */
export function withMarkup<One extends Model>(model: One, markup: Markup): One {
  const id = model.aliasOf ?? model.id
  const sold = new Map<Price, Pick<PricePeriod, 'price' | 'version' | 'base'>>()
  const sell = (price: Price, version: string) => {
    const known = sold.get(price)
    if (known !== undefined) return known
    const raised = markUp(price, markup)
    const made = { price: raised, version: priceVersion(`${id} ${version}`, raised), base: { price, version } }
    sold.set(price, made)
    return made
  }
  const { price, priceVersion: version, pricePeriods } = model
  const periods = pricePeriods?.map((period) => ({ ...period, ...sell(period.price, period.version) }))
  const ofPeriods = periods === undefined ? model : { ...model, pricePeriods: periods }
  if (price === undefined || version === undefined) return ofPeriods
  const now = sell(price, version)
  return { ...ofPeriods, price: now.price, priceVersion: now.version, basePrice: now.base }
}
