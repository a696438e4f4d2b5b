/** What the doctor looks at for prices: models that are without one, or will be within a week. */
import { CATALOGUE } from '../../catalogue/index.ts'
import type { Config } from '../config/schema.ts'
import { endingPrices, priceEndText } from '../domain/price-ends.ts'
import { buildModelBook } from '../features/models/book.ts'
import { type Check, failed, messageOf, passed } from './doctor-machine.ts'

const FIX = 'Set `pricing`, or its `successors`, for them under `models` in the configuration file; see docs/prices.md.'

/** @param now Unix milliseconds. A price that ends is no fault yet: the check passes and says what to do. */
export function checkPrices({ models, providers }: Config, now: () => number = Date.now): Check {
  try {
    const names = new Set(Object.keys(providers))
    const book = buildModelBook({ catalogue: CATALOGUE, models, providers: names, now })
    const ends = endingPrices(book.all, now())
    if (ends.length === 0) return passed('prices', 'none ends within a week')
    return { ...passed('prices', ends.map(priceEndText).join('; ')), fix: FIX }
  } catch (error) {
    return failed('prices', messageOf(error), FIX)
  }
}
