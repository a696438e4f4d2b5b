/** Requests that the gateway rejected before it called a provider, the newest first. */
import { RefreshCw, X } from 'lucide-react'
import { api, take } from '../../api/client.ts'
import type { paths } from '../../api/schema.d.ts'
import { formatCount } from '../../lib/format.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyableText } from '../../ui/copy.tsx'
import { Empty, SkeletonRows } from '../../ui/states.tsx'
import { StatusChip } from '../../ui/status.tsx'
import { PagedRows, usePages } from '../../ui/table/paged.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { Dash } from '../../ui/values.tsx'
import { useRequestsChange, useRequestsSearch } from './address.ts'
import { Short, ShortTime } from './cells.tsx'
import { askerName } from './words.ts'

const PATH = '/v1/usage/rejections'
type Rejection = paths[typeof PATH]['get']['responses']['200']['content']['application/json']['data'][number]

const PAGE_SIZE = 50

export function RejectedView() {
  const change = useRequestsChange()
  const { code, request_id: requestId } = useRequestsSearch()
  const filter = { ...(code !== undefined && { code }), ...(requestId !== undefined && { request_id: requestId }) }
  const pages = usePages([PATH, filter], (cursor) => {
    const query = { ...filter, limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) }
    return take(api.GET(PATH, { params: { query } }))
  })
  const narrowed = code ?? requestId
  return (
    <section className="flex flex-col gap-4">
      <h2 className="sr-only">Rejected requests</h2>
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <p className="max-w-prose text-soft">
          No provider was called and nothing was charged. Kept for 7 days, {formatCount(MAX_KEPT)} at most.
        </p>
        <div className="flex flex-wrap items-center gap-2">
          {narrowed !== undefined && (
            <Button size="sm" icon={X} onClick={() => change({ code: undefined, request_id: undefined })}>
              {`Only ${narrowed}`}
            </Button>
          )}
          <Button size="sm" icon={RefreshCw} onClick={() => void pages.refetch()}>
            Refresh
          </Button>
        </div>
      </div>
      <PagedRows
        pages={pages}
        what="rejected requests"
        noun="request"
        skeleton={<SkeletonRows rows={12} />}
        empty={
          <Empty title={narrowed === undefined ? 'No rejected requests' : 'No matching requests'}>
            Requests without credit, rights or a valid body appear here within a second or two.
          </Empty>
        }
      >
        {(rows) => (
          <Table
            label="Rejected requests"
            columns={COLUMNS}
            rows={rows}
            rowKey={({ request_id: id }) => id}
            className="[&_td]:px-1.5 [&_td]:text-sm [&_th]:px-1.5"
          />
        )}
      </PagedRows>
    </section>
  )
}

/** As the gateway keeps them. */
const MAX_KEPT = 10_000

const COLUMNS: readonly Column<Rejection>[] = [
  { id: 'time', header: 'Time', primary: true, cell: ({ created_at: at }) => <ShortTime iso={at} /> },
  {
    id: 'status',
    header: 'Status',
    cell: ({ status }) => <StatusChip tone={status === 429 ? 'warn' : 'bad'}>{status}</StatusChip>,
  },
  { id: 'code', header: 'Code', cell: ({ code }) => <Code code={code} /> },
  { id: 'endpoint', header: 'Endpoint', cell: ({ endpoint }) => <Short text={endpoint} className="max-w-44" /> },
  {
    id: 'model',
    header: 'Model asked',
    cell: ({ model }) => (model === null ? <Dash /> : <Short text={model} className="max-w-36 2xl:max-w-60" />),
  },
  {
    id: 'key',
    header: 'Key',
    cell: ({ key_id: id, key_name: name }) =>
      id === null ? (
        <Short text="No valid key" className="max-w-32" />
      ) : (
        <Short text={askerName({ key_id: id, key_name: name })} className="max-w-32 2xl:max-w-48" />
      ),
  },
  {
    id: 'request',
    header: 'Request ID',
    cell: ({ request_id: id }) => (
      <CopyableText text={id} label={`Copy ${id}`}>
        <span title={id} className="block max-w-36 truncate font-mono 2xl:max-w-none">
          {id}
        </span>
      </CopyableText>
    ),
  },
]

/** A press narrows the list to it. */
function Code({ code }: { readonly code: string }) {
  return (
    <AppLink
      to="/requests"
      search={(previous) => ({ ...previous, code })}
      title={code}
      className="block max-w-48 truncate py-0.5 font-mono text-accent hover:underline"
    >
      {code}
    </AppLink>
  )
}
