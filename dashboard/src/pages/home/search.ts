/** What of the view is in its address. */
import { readChoice } from '../../lib/address.ts'

const HOME_RANGES = ['24h', '7d', '30d'] as const
export type HomeRange = (typeof HOME_RANGES)[number]

export interface HomeSearch {
  readonly range?: HomeRange
}

export function readHomeSearch(raw: Record<string, unknown>): HomeSearch {
  const range = readChoice(raw, 'range', HOME_RANGES)
  return range === undefined ? {} : { range }
}
