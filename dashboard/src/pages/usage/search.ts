/** What of the view is in its address. */
import { present, readChoice, readText } from '../../lib/address.ts'
import { GROUPS, type Group } from '../../lib/group-names.ts'
import { METRICS, type Metric } from '../../lib/measures.ts'
import { type PeriodSearch, readPeriodSearch } from '../../lib/period.ts'
import type { ViewSearch } from '../../lib/saved-views.ts'

export const INTERVALS = ['hour', 'day'] as const
export type Interval = (typeof INTERVALS)[number]

export const COLUMNS = ['name', 'requests', 'tokens', 'cost', 'change'] as const

/** `speed`: speed and errors instead of usage; `costs`: the cost explorer. */
export const SHOWN = ['speed', 'costs'] as const

export const SPEED_GROUPS = ['model', 'provider'] as const
export type SpeedGroup = (typeof SPEED_GROUPS)[number]

export const SPEED_COLUMNS = [
  'name',
  'requests',
  'failed',
  'success_rate',
  'first_p50',
  'first_p95',
  'duration_p50',
  'duration_p95',
] as const
export type SpeedColumn = (typeof SPEED_COLUMNS)[number]

/** What costs can be limited to, in the order of the filter menu. */
export const COST_FILTERS = [
  'tag',
  'team_id',
  'member_id',
  'key_id',
  'model',
  'provider',
  'kind',
  'session_id',
  'end_user',
] as const
export type CostFilter = (typeof COST_FILTERS)[number]

export type CostFilters = { readonly [Name in CostFilter]?: string }

export interface UsageSearch extends PeriodSearch, CostFilters {
  readonly show?: (typeof SHOWN)[number]
  /** What speed is told of; `group` is of what was used. */
  readonly by?: SpeedGroup
  readonly group?: Group
  readonly interval?: Interval
  readonly metric?: Metric
  /** What costs are told by: up to three, with commas between them. */
  readonly dims?: string
  readonly cumulative?: '1'
  /** The column that the table is sorted by, and which way. */
  readonly sort?: (typeof COLUMNS)[number] | SpeedColumn
  readonly dir?: 'asc' | 'desc'
}

export function readUsageSearch(raw: Record<string, unknown>): UsageSearch {
  const show = readChoice(raw, 'show', SHOWN)
  const others = {
    show,
    by: readChoice(raw, 'by', SPEED_GROUPS),
    group: readChoice(raw, 'group', GROUPS),
    interval: readChoice(raw, 'interval', INTERVALS),
    metric: readChoice(raw, 'metric', METRICS),
    dims: readText(raw, 'dims'),
    ...Object.fromEntries(COST_FILTERS.map((name) => [name, readText(raw, name)])),
    cumulative: readChoice(raw, 'cumulative', ['1']),
    sort: show === 'speed' ? readChoice(raw, 'sort', SPEED_COLUMNS) : readChoice(raw, 'sort', COLUMNS),
    dir: readChoice(raw, 'dir', ['asc', 'desc']),
  }
  return { ...readPeriodSearch(raw), ...present(others) }
}

/** The page's period where its address names none. */
export const FALLBACK_RANGE = '7d'

/** What is kept under a name: all of the address. */
export function readUsageView(raw: Record<string, unknown>): ViewSearch {
  return { range: FALLBACK_RANGE, ...readUsageSearch(raw) }
}
