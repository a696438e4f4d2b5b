/** The rows of the table below the chart. They add up to the report's own totals, to the last digit. */
import { GROUP_NAMES, type Group, groupLabel, type Named } from '../../lib/group-names.ts'
import { amountOf, type Counts, changeOf, METRIC_NAMES, type Metric, shareOf } from '../../lib/measures.ts'
import { fromNano, toNano } from '../../lib/money.ts'
import { periodWords } from '../../lib/saved-views.ts'
import type { Zone } from '../../lib/time.ts'
import type { Sort } from '../../ui/table/table.tsx'
import type { Report } from './queries.ts'
import { FALLBACK_RANGE, type UsageSearch } from './search.ts'

export interface BreakdownRow extends Counts {
  readonly key: string
  readonly label: string
  /** What it is sorted by. */
  readonly sortName: string
  /** What no agent used, where agents are asked for: no group of its own. */
  readonly isRest: boolean
  /** Of the metric. */
  readonly share: number | undefined
  /** Change from the previous period; undefined where there is nothing to compare. */
  readonly change: number | 'new' | undefined
}

export interface BreakdownChoice {
  readonly group: Group
  readonly metric: Metric
  /** The same groups in the period before; undefined: not known. */
  readonly before: Report | undefined
}

export const REST_KEY = ''

export function breakdownOf(report: Report, { group, metric, before }: BreakdownChoice): readonly BreakdownRow[] {
  const whole = amountOf(totalOf(report), metric)
  const earlier = before === undefined ? undefined : new Map(before.groups?.map((each) => [each.key, each]))
  const rowOf = (counts: Counts, key: string, label: string): BreakdownRow => {
    const amount = amountOf(counts, metric)
    const past = key === REST_KEY ? before && outsideGroups(before) : earlier?.get(key)
    return {
      ...{ requests: counts.requests, tokens: counts.tokens, cost_usd: counts.cost_usd },
      ...{ key, label, sortName: group === 'day' ? key : label.toLowerCase(), isRest: key === REST_KEY },
      share: shareOf(amount, whole),
      change:
        earlier && group !== 'day' ? changeOf(amount, past === undefined ? 0n : amountOf(past, metric)) : undefined,
    }
  }
  const rows = (report.groups ?? []).map((each) => rowOf(each, each.key, groupLabel(group, each)))
  if (group !== 'agent') return rows
  const outside = outsideGroups(report)
  return outside.requests === 0 ? rows : [...rows, rowOf(outside, REST_KEY, 'Outside agents')]
}

export function totalOf(report: Report): Counts {
  return { requests: report.total_requests, tokens: report.total_tokens, cost_usd: report.total_cost_usd }
}

function outsideGroups(report: Report): Counts {
  const groups = report.groups ?? []
  const rest = (metric: Metric): bigint =>
    groups.reduce((sum, each) => sum - amountOf(each, metric), amountOf(totalOf(report), metric))
  return { requests: Number(rest('requests')), tokens: Number(rest('tokens')), cost_usd: fromNano(rest('spend')) }
}

/** The rest stays last, whatever it is sorted by. */
export function sortedRows(rows: readonly BreakdownRow[], { id, direction }: Sort): readonly BreakdownRow[] {
  const sign = direction === 'asc' ? 1 : -1
  return rows.toSorted((one, other) => {
    if (one.isRest !== other.isRest) return one.isRest ? 1 : -1
    return sign * compare(one, other, id)
  })
}

function compare(one: BreakdownRow, other: BreakdownRow, column: string): number {
  switch (column) {
    case 'requests':
      return one.requests - other.requests
    case 'tokens':
      return one.tokens - other.tokens
    case 'cost':
      return Number(toNano(one.cost_usd) - toNano(other.cost_usd))
    case 'change':
      return rankOf(one) - rankOf(other)
    default:
      return one.sortName < other.sortName ? -1 : 1
  }
}

/** What is new has changed most, what cannot be compared least. */
function rankOf({ change }: BreakdownRow): number {
  if (change === 'new') return Number.MAX_VALUE
  return change ?? -Number.MAX_VALUE
}

interface Moment {
  /** Unix milliseconds. */
  readonly now: number
  /** Of days. */
  readonly zone: Zone
}

/**
 * A view in words: `Spend by model, Checkout service, last 7 days`. Speed is told of all models and keys.
 * @param keys Those whose names are known.
 */
export function viewWords(search: UsageSearch, keys: readonly Named[], moment: Moment): string {
  const period = periodWords(search, { fallback: FALLBACK_RANGE, ...moment })
  if (search.show === 'speed') return `Speed and errors by ${search.by ?? 'model'}, ${period}`
  const { metric = 'spend', group = 'model', model, key_id: keyId } = search
  const what = `${METRIC_NAMES[metric]} by ${GROUP_NAMES[group].toLowerCase()}`
  const key =
    keyId === undefined ? undefined : groupLabel('key', keys.find((each) => each.key === keyId) ?? { key: keyId })
  return [what, model, key, period].filter((part) => part !== undefined).join(', ')
}
