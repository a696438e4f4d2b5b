/** What adds up to the total. Each row leads to its requests where these can be listed, and further into it. */
import { present } from '../../../lib/address.ts'
import { formatCount, formatPercent, formatUsd } from '../../../lib/format.ts'
import { AppLink, type LinkTarget } from '../../../ui/app-link.tsx'
import { classNames } from '../../../ui/class-names.ts'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { Dash, Tokens, Usd } from '../../../ui/values.tsx'
import { clippedSpan, periodSearch, requestsTarget, usageTarget, useUsageSearch } from '../address.ts'
import { DAY_MS } from '../chart-data.ts'
import type { CostFilters, UsageSearch } from '../search.ts'
import { canListRequests, type Dimension, dimensionName, filterOf, type NameOf, valueLabel } from './dimensions.ts'
import { type CostRow, rowsOf, totalOf } from './groups.ts'
import type { AskedCosts, CostQuestion } from './queries.ts'

interface CostTableProps extends AskedCosts {
  readonly nameOf: NameOf
}

export function CostTable({ asked, report, nameOf }: CostTableProps) {
  const search = useUsageSearch()
  const total = totalOf(report)
  const { dimensions } = asked
  return (
    <Table
      label="Costs"
      columns={[...dimensions.map((name, at) => dimensionColumn(name, at, nameOf)), ...SUMS, deeperColumn(asked)]}
      rows={rowsOf(report, dimensions)}
      rowKey={({ key }) => key}
      rowHref={(row) => rowTarget(row, asked, search)}
      totals={{
        requests: <Tokens value={total.requests} />,
        tokens: <Tokens value={total.tokens} />,
        cost: <Usd value={total.cost_usd} />,
      }}
    />
  )
}

function dimensionColumn(dimension: Dimension, at: number, nameOf: NameOf): Column<CostRow> {
  return {
    id: dimension,
    header: dimensionName(dimension),
    primary: at === 0,
    cell: ({ values, restOf }) => {
      if (restOf !== undefined) return at === 0 ? `${formatCount(restOf)} smaller groups` : <Dash />
      const value = values[at] ?? null
      const label = valueLabel(dimension, value, nameOf)
      return (
        <span
          className={classNames(
            'block max-w-72 min-w-24 truncate',
            at > 0 && 'max-md:ml-auto',
            value === null && 'font-normal text-soft',
          )}
          title={value ?? undefined}
        >
          {label}
        </span>
      )
    },
  }
}

const SUMS: readonly Column<CostRow>[] = [
  { id: 'requests', header: 'Requests', align: 'right', cell: ({ requests }) => formatCount(requests) },
  { id: 'tokens', header: 'Tokens', align: 'right', hideBelow: 'lg', cell: ({ tokens }) => formatCount(tokens) },
  { id: 'cost', header: 'Cost', align: 'right', cell: ({ cost_usd: usd }) => <Usd value={usd} /> },
  {
    id: 'share',
    header: 'Share',
    align: 'right',
    cell: ({ share }) => (share === undefined ? <Dash /> : <Share ratio={share} />),
  },
]

function Share({ ratio }: { readonly ratio: number }) {
  return (
    <span className="flex items-center justify-end gap-2">
      <span aria-hidden className="hidden h-1.5 w-16 overflow-hidden rounded-full bg-sunken lg:block">
        <span className="block h-full rounded-full bg-chart-1" style={{ width: `${ratio * 100}%` }} />
      </span>
      <span className="min-w-12 text-right tabular-nums">{formatPercent(ratio)}</span>
    </span>
  )
}

/** The filters of the report and those of the row; undefined where one of its values cannot be filtered by. */
function filtersOfRow({ values, restOf }: CostRow, { dimensions, filters }: CostQuestion): CostFilters | undefined {
  if (restOf !== undefined) return undefined
  const own = dimensions.flatMap((name, at) => (name === 'day' ? [] : [filterOf(name, values[at] ?? null)]))
  const tags = [filters, ...own].filter((each) => each?.tag !== undefined)
  // The gateway filters by one tag.
  if (own.includes(undefined) || new Set(tags.map((each) => each?.tag)).size > 1) return undefined
  return Object.assign({}, filters, ...own) as CostFilters
}

function rowTarget(row: CostRow, asked: CostQuestion, search: UsageSearch): LinkTarget | undefined {
  const filters = filtersOfRow(row, asked)
  if (filters === undefined || !canListRequests(filters)) return undefined
  const day = row.values[asked.dimensions.indexOf('day')]
  const start = typeof day === 'string' ? Date.parse(day) : undefined
  const span =
    start === undefined ? periodSearch(search, asked.period) : clippedSpan({ start, end: start + DAY_MS }, asked.period)
  return requestsTarget({ ...present({ ...span }), ...filters })
}

/** Into the first value, told by model or, where it is models, by key. */
function deeperColumn(asked: CostQuestion): Column<CostRow> {
  return {
    id: 'deeper',
    header: <span className="sr-only">Details</span>,
    align: 'right',
    cell: (row) => <Deeper row={row} asked={asked} />,
  }
}

function Deeper({ row, asked }: { readonly row: CostRow; readonly asked: CostQuestion }) {
  const filters = filtersOfRow(row, asked)
  if (filters === undefined || Object.keys(filters).length === Object.keys(asked.filters).length) return null
  const next = NEXT.find((name) => !asked.dimensions.includes(name) && !isFixed(name, filters))
  if (next === undefined) return null
  return (
    <AppLink
      {...usageTarget({ ...filters, dims: next })}
      aria-label={`By ${dimensionName(next).toLowerCase()}: ${row.values.filter((value) => value !== null).join(', ')}, ${formatUsd(row.cost_usd)}`}
      className="inline-flex h-6 items-center rounded-md px-1.5 text-sm whitespace-nowrap text-accent hover:bg-accent-soft"
    >
      By {dimensionName(next).toLowerCase()}
    </AppLink>
  )
}

const NEXT = ['model', 'key', 'day'] as const

function isFixed(name: (typeof NEXT)[number], filters: CostFilters): boolean {
  return (name === 'model' && filters.model !== undefined) || (name === 'key' && filters.key_id !== undefined)
}
