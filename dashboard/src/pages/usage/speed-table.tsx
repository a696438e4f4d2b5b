/** How models or providers did: each row leads to its requests, its failures to those alone. */
import { formatCount, formatSuccess } from '../../lib/format.ts'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import { type Column, type Sort, Table } from '../../ui/table.tsx'
import { Dash, Ms } from '../../ui/values.tsx'
import { useUsageChange, useUsageSearch } from './address.ts'
import { SPEED_COLUMNS, type SpeedColumn, type SpeedGroup } from './search.ts'
import { type SpeedRow, sortedSpeed } from './speed-data.ts'

interface SpeedTableProps {
  readonly group: SpeedGroup
  readonly rows: readonly SpeedRow[]
  /** To the requests of a row. */
  readonly targetOf: (row: SpeedRow, status?: 'failed') => LinkTarget
}

export const SPEED_GROUP_NAMES: Readonly<Record<SpeedGroup, string>> = { model: 'Model', provider: 'Provider' }

/** As the gateway sends them. */
const DEFAULT_SORT: Sort = { id: 'requests', direction: 'desc' }

export function SpeedTable({ group, rows, targetOf }: SpeedTableProps) {
  const search = useUsageSearch()
  const change = useUsageChange()
  const sort = search.sort === undefined ? DEFAULT_SORT : { id: search.sort, direction: search.dir ?? 'desc' }
  const sumOf = (field: 'requests' | 'failed') => formatCount(rows.reduce((sum, row) => sum + row[field], 0))
  return (
    <Table
      label={`Speed and errors by ${SPEED_GROUP_NAMES[group].toLowerCase()}`}
      columns={columnsOf(group, targetOf)}
      rows={search.sort === undefined ? rows : sortedSpeed(rows, sort)}
      rowKey={({ key }) => key}
      rowHref={(row) => targetOf(row)}
      sort={sort}
      onSort={({ id, direction }) => change({ sort: SPEED_COLUMNS.find((each) => each === id), dir: direction })}
      totals={{ requests: sumOf('requests'), failed: sumOf('failed') }}
    />
  )
}

type SpeedTableColumn = Column<SpeedRow> & { readonly id: SpeedColumn }

function columnsOf(group: SpeedGroup, targetOf: SpeedTableProps['targetOf']): readonly SpeedTableColumn[] {
  return [
    {
      id: 'name',
      header: SPEED_GROUP_NAMES[group],
      primary: true,
      sortable: true,
      cell: ({ key }) => (
        <span className="block max-w-80 min-w-32 truncate" title={key}>
          {key}
        </span>
      ),
    },
    number('requests', 'Requests', ({ requests }) => formatCount(requests)),
    number('failed', 'Failed', (row) => <Failures row={row} target={targetOf(row, 'failed')} />),
    number('success_rate', 'Success rate', ({ success_rate: rate }) =>
      rate === null ? <Dash /> : formatSuccess(rate),
    ),
    number('first_p50', 'First token p50', ({ first_byte_ms: ms }) => <Ms value={ms?.p50} />),
    number('first_p95', 'First token p95', ({ first_byte_ms: ms }) => <Ms value={ms?.p95} />),
    number('duration_p50', 'Duration p50', ({ duration_ms: ms }) => <Ms value={ms?.p50} />),
    number('duration_p95', 'Duration p95', ({ duration_ms: ms }) => <Ms value={ms?.p95} />),
  ]
}

function number(id: SpeedColumn, header: string, cell: SpeedTableColumn['cell']): SpeedTableColumn {
  return { id, header, align: 'right', sortable: true, cell }
}

function Failures({ row, target }: { readonly row: SpeedRow; readonly target: LinkTarget }) {
  const count = formatCount(row.failed)
  if (row.failed === 0) return count
  return (
    <AppLink
      {...target}
      aria-label={`${count} failed: ${row.key}`}
      className="-mx-1.5 inline-flex h-6 min-w-6 items-center justify-end rounded-md px-1.5 text-accent hover:bg-accent-soft"
    >
      {count}
    </AppLink>
  )
}
