/** What of the view is in its address. */
import { present, readChoice, readText } from '../../lib/address.ts'
import { GROUPS, type Group } from '../../lib/group-names.ts'
import { METRICS, type Metric } from '../../lib/measures.ts'
import { type PeriodSearch, readPeriodSearch } from '../../lib/period.ts'

export const INTERVALS = ['hour', 'day'] as const
export type Interval = (typeof INTERVALS)[number]

export const COLUMNS = ['name', 'requests', 'tokens', 'cost', 'change'] as const

export interface UsageSearch extends PeriodSearch {
  readonly group?: Group
  readonly interval?: Interval
  readonly metric?: Metric
  readonly model?: string
  readonly key_id?: string
  readonly cumulative?: '1'
  /** The column that the table is sorted by, and which way. */
  readonly sort?: (typeof COLUMNS)[number]
  readonly dir?: 'asc' | 'desc'
}

export function readUsageSearch(raw: Record<string, unknown>): UsageSearch {
  const others = {
    group: readChoice(raw, 'group', GROUPS),
    interval: readChoice(raw, 'interval', INTERVALS),
    metric: readChoice(raw, 'metric', METRICS),
    model: readText(raw, 'model'),
    key_id: readText(raw, 'key_id'),
    cumulative: readChoice(raw, 'cumulative', ['1']),
    sort: readChoice(raw, 'sort', COLUMNS),
    dir: readChoice(raw, 'dir', ['asc', 'desc']),
  }
  return { ...readPeriodSearch(raw), ...present(others) }
}
