/** What adds up to the total: each row leads to its requests, and further into it. */
import type { ReactNode } from 'react'
import { useCan } from '../../api/me.ts'
import { formatCount, formatPercent } from '../../lib/format.ts'
import { GROUP_NAMES, type Group } from '../../lib/group-names.ts'
import { METRIC_NAMES, type Metric } from '../../lib/measures.ts'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import { Change } from '../../ui/page.tsx'
import { type Column, type Sort, Table } from '../../ui/table/table.tsx'
import { Dash, Tokens, Usd } from '../../ui/values.tsx'
import { clippedSpan, periodSearch, requestsTarget, usageTarget, useUsageChange, useUsageSearch } from './address.ts'
import { type BreakdownRow, breakdownOf, sortedRows, totalOf } from './breakdown.ts'
import { DAY_MS } from './chart-data.ts'
import type { AskedReport, Report, ReportQuestion } from './queries.ts'
import { COLUMNS } from './search.ts'

interface UsageTableProps extends AskedReport {
  readonly metric: Metric
  readonly before: Report | undefined
}

export function UsageTable({ asked, report, metric, before }: UsageTableProps) {
  const search = useUsageSearch()
  const change = useUsageChange()
  const canOpenAgents = useCan('agents:read')
  const { group = 'model' } = asked
  const rows = breakdownOf(report, { group, metric, before })
  const sort: Sort =
    search.sort === undefined ? DEFAULT_SORTS[group] : { id: search.sort, direction: search.dir ?? 'desc' }
  const isChosen = search.sort !== undefined
  const total = totalOf(report)
  return (
    <Table
      label={`Usage by ${GROUP_NAMES[group].toLowerCase()}`}
      columns={columnsOf({ group, metric, canOpenAgents })}
      rows={isChosen ? sortedRows(rows, sort) : rows}
      rowKey={({ key }) => key}
      rowHref={(row) => rowTarget(row, asked, search)}
      sort={sort}
      onSort={({ id, direction }) => change({ sort: COLUMNS.find((each) => each === id), dir: direction })}
      totals={{
        requests: <Tokens value={total.requests} />,
        tokens: <Tokens value={total.tokens} />,
        cost: <Usd value={total.cost_usd} />,
      }}
    />
  )
}

/** As the gateway sends them. */
const DEFAULT_SORTS: Readonly<Record<Group, Sort>> = {
  model: { id: 'cost', direction: 'desc' },
  key: { id: 'cost', direction: 'desc' },
  agent: { id: 'cost', direction: 'desc' },
  day: { id: 'name', direction: 'asc' },
}

function rowTarget(row: BreakdownRow, asked: ReportQuestion, search: ReturnType<typeof useUsageSearch>) {
  if (row.isRest) return undefined
  const { group, model, keyId, period } = asked
  const common = {
    ...periodSearch(search, period),
    model,
    key_id: keyId,
  }
  switch (group) {
    case 'day': {
      const start = Date.parse(row.key)
      return requestsTarget({ ...common, ...clippedSpan({ start, end: start + DAY_MS }, period) })
    }
    case 'key':
      return requestsTarget({ ...common, key_id: row.key })
    case 'agent':
      return requestsTarget({ ...common, agent_id: row.key })
    default:
      return requestsTarget({ ...common, model: row.key })
  }
}

interface ColumnChoice {
  readonly group: Group
  readonly metric: Metric
  readonly canOpenAgents: boolean
}

function columnsOf({ group, metric, canOpenAgents }: ColumnChoice): readonly Column<BreakdownRow>[] {
  const name: Column<BreakdownRow> = {
    id: 'name',
    header: GROUP_NAMES[group],
    primary: true,
    sortable: true,
    cell: ({ label }) => (
      <span className="block max-w-96 min-w-32 truncate" title={label}>
        {label}
      </span>
    ),
  }
  const share: Column<BreakdownRow> = {
    id: 'share',
    header: `Share of ${METRIC_NAMES[metric].toLowerCase()}`,
    align: 'right',
    cell: ({ share: ratio }) => <Share ratio={ratio} />,
  }
  const deeper: Column<BreakdownRow> = {
    id: 'deeper',
    header: <span className="sr-only">Details</span>,
    align: 'right',
    cell: (row) => <Deeper group={group} row={row} canOpenAgents={canOpenAgents} />,
  }
  return [name, ...SUMS, share, ...(group === 'day' ? [] : [CHANGE]), deeper]
}

const SUMS: readonly Column<BreakdownRow>[] = [
  {
    id: 'requests',
    header: 'Requests',
    align: 'right',
    sortable: true,
    cell: ({ requests }) => formatCount(requests),
  },
  { id: 'tokens', header: 'Tokens', align: 'right', sortable: true, cell: ({ tokens }) => formatCount(tokens) },
  { id: 'cost', header: 'Cost', align: 'right', sortable: true, cell: ({ cost_usd: usd }) => <Usd value={usd} /> },
]

const CHANGE: Column<BreakdownRow> = {
  id: 'change',
  header: 'Change from the previous period',
  align: 'right',
  sortable: true,
  hideBelow: 'lg',
  cell: ({ change }) => changeCell(change),
}

function changeCell(change: BreakdownRow['change']): ReactNode {
  if (change === undefined) return <Dash />
  return (
    <span className="flex items-center justify-end">
      <Change change={change === 'new' ? 'New' : change} />
    </span>
  )
}

function Share({ ratio }: { readonly ratio: number | undefined }) {
  if (ratio === undefined) return <Dash />
  return (
    <span className="flex items-center justify-end gap-2">
      <span aria-hidden className="hidden h-1.5 w-16 overflow-hidden rounded-full bg-sunken lg:block">
        <span className="block h-full rounded-full bg-chart-1" style={{ width: `${ratio * 100}%` }} />
      </span>
      <span className="min-w-12 text-right tabular-nums">{formatPercent(ratio)}</span>
    </span>
  )
}

function Deeper({ group, row, canOpenAgents }: Omit<ColumnChoice, 'metric'> & { readonly row: BreakdownRow }) {
  const way = deeperTarget(group, row)
  if (way === undefined || (group === 'agent' && !canOpenAgents)) return null
  return (
    <AppLink
      {...way.target}
      aria-label={`${way.label}: ${row.label}`}
      className="inline-flex h-6 items-center rounded-md px-1.5 text-sm whitespace-nowrap text-accent hover:bg-accent-soft"
    >
      {way.label}
    </AppLink>
  )
}

function deeperTarget(
  group: Group,
  { key, isRest }: BreakdownRow,
): { readonly label: string; readonly target: LinkTarget } | undefined {
  if (isRest) return undefined
  const fresh = { sort: undefined, dir: undefined }
  switch (group) {
    case 'model':
      return { label: 'By key', target: usageTarget({ ...fresh, group: 'key', model: key }) }
    case 'key':
      return { label: 'By model', target: usageTarget({ ...fresh, group: undefined, key_id: key }) }
    case 'day': {
      const day = { range: 'custom', from: key, to: key, interval: undefined } as const
      return { label: 'By model', target: usageTarget({ ...fresh, ...day, group: undefined }) }
    }
    case 'agent':
      return { label: 'Agent', target: { to: '/agents/$agentId', params: { agentId: key } } }
  }
}
