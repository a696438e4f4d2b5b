import { formatCount } from '../../lib/format.ts'
import { CompletionStatus } from '../../ui/status.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { Dash, Ms, Tokens, Usd } from '../../ui/values.tsx'
import { sheetTarget, useRequestsChange, useRequestsSearch } from './address.ts'
import { Short, ShortTime } from './cells.tsx'
import type { Completion } from './queries.ts'
import { API_TEXTS, askerName, finishText } from './words.ts'

export function RequestsTable({ rows }: { readonly rows: readonly Completion[] }) {
  const { order = 'desc' } = useRequestsSearch()
  const change = useRequestsChange()
  return (
    <Table
      label="Requests"
      viewId="requests"
      className={NARROW}
      columns={COLUMNS}
      rows={rows}
      rowKey={({ id }) => id}
      rowHref={sheetOf}
      sort={{ id: 'time', direction: order }}
      onSort={({ direction }) => change({ order: direction === 'desc' ? undefined : direction })}
    />
  )
}

const sheetOf = ({ id }: Completion) => sheetTarget(id)

/** Up to fourteen columns side by side. */
const NARROW = '[&_td]:px-1.5 [&_td]:text-sm [&_th]:px-1.5'

const COLUMNS: readonly Column<Completion>[] = [
  { id: 'time', header: 'Time', primary: true, sortable: true, cell: ({ created_at: at }) => <ShortTime iso={at} /> },
  { id: 'status', header: 'Status', cell: ({ status }) => <CompletionStatus status={status} /> },
  { id: 'model', header: 'Model', cell: ({ model }) => <Short text={model} className="max-w-36 2xl:max-w-44" /> },
  { id: 'provider', header: 'Provider', cell: ({ provider }) => <Short text={provider} className="max-w-28" /> },
  { id: 'key', header: 'Key', cell: (row) => <Short text={askerName(row)} className="max-w-24 2xl:max-w-36" /> },
  { id: 'in', header: 'Tokens in', align: 'right', cell: (row) => <Tokens value={row.prompt_tokens} /> },
  { id: 'cached', header: 'Cached', align: 'right', cell: (row) => <Few count={row.cached_tokens} /> },
  { id: 'out', header: 'Out', align: 'right', cell: (row) => <Tokens value={row.completion_tokens} /> },
  { id: 'cost', header: 'Cost', align: 'right', cell: (row) => <Usd value={row.cost_usd} /> },
  {
    id: 'ttft',
    header: <abbr title="Time to first token">TTFT</abbr>,
    align: 'right',
    cell: (row) => <Ms value={row.first_byte_ms} />,
  },
  { id: 'duration', header: 'Duration', align: 'right', cell: (row) => <Ms value={row.duration_ms} /> },
  { id: 'api', header: 'API', hideBelow: '2xl', cell: ({ api }) => API_TEXTS[api] },
  { id: 'finish', header: 'Finish', hideBelow: '2xl', cell: (row) => finishText(row.finish_reason) ?? <Dash /> },
  {
    id: 'attempts',
    header: 'Tries',
    align: 'right',
    hideBelow: '2xl',
    cell: ({ attempts }) => formatCount(attempts),
  },
]

function Few({ count }: { readonly count: number }) {
  return count === 0 ? <Dash /> : <Tokens value={count} />
}
