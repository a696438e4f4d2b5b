import { ChartColumn, List, MoreHorizontal, Pencil, Trash2 } from 'lucide-react'
import { formatCount, plural } from '../../../lib/format.ts'
import { formatDate, formatDateTime } from '../../../lib/time.ts'
import { IconButton } from '../../../ui/button.tsx'
import { Menu } from '../../../ui/choices.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { Time } from '../../../ui/values.tsx'
import { targetWith } from '../address.ts'
import { accessOf, Budget, KeyStatus, KeyText, stateOf } from './key-words.tsx'
import type { Key } from './queries.ts'

interface KeysTableProps {
  readonly rows: readonly Key[]
  readonly onOpen: (key: Key) => void
  readonly onRevoke: (key: Key) => void
}

export function KeysTable({ rows, onOpen, onRevoke }: KeysTableProps) {
  return (
    <Table
      label="API keys"
      viewId="keys"
      density="comfortable"
      columns={[...COLUMNS, actionsColumn(onOpen, onRevoke)]}
      rows={rows}
      rowKey={({ id }) => id}
      rowHref={({ id }) => targetWith('/settings/keys', { key: id })}
    />
  )
}

const COLUMNS: readonly Column<Key>[] = [
  { id: 'name', header: 'Key', primary: true, cell: (row) => <Name row={row} /> },
  { id: 'access', header: 'Access', cell: (row) => <Access row={row} /> },
  { id: 'budget', header: 'Budget', cell: (row) => <Budget row={row} /> },
  { id: 'used', header: 'Last used', cell: (row) => <LastUsed row={row} /> },
  { id: 'created', header: 'Created', cell: (row) => <Created row={row} /> },
  { id: 'status', header: 'Status', cell: (row) => <StateAndEnd row={row} /> },
]

function actionsColumn(onOpen: KeysTableProps['onOpen'], onRevoke: KeysTableProps['onRevoke']): Column<Key> {
  return {
    id: 'actions',
    header: <span className="sr-only">Actions</span>,
    hideBelow: 'md',
    align: 'right',
    cell: (row) => (
      <Menu
        label={`Actions for ${row.name}`}
        trigger={<IconButton label={`Actions for ${row.name}`} icon={MoreHorizontal} size="sm" />}
        items={[
          { label: row.revoked_at === null ? 'Edit' : 'Details', icon: Pencil, onSelect: () => onOpen(row) },
          { label: 'Usage', icon: ChartColumn, href: { to: '/usage', search: { key_id: row.id } } },
          { label: 'Requests', icon: List, href: { to: '/requests', search: { key_id: row.id } } },
          ...(row.revoked_at === null
            ? [{ label: 'Revoke', icon: Trash2, danger: true, onSelect: () => onRevoke(row) }]
            : []),
        ]}
      />
    ),
  }
}

function Name({ row }: { readonly row: Key }) {
  return (
    <span className="block max-w-36 min-w-28 py-0.5 2xl:max-w-72">
      <span className="block truncate" title={row.name}>
        {row.name}
      </span>
      <span className="block font-normal">
        <KeyText row={row} />
      </span>
    </span>
  )
}

/** What it may do, and below that by what it is limited: models, rate and addresses. */
function Access({ row }: { readonly row: Key }) {
  const access = accessOf(row)
  const limits = limitsOf(row)
  return (
    <span className="block max-w-44 py-0.5 2xl:max-w-72">
      <span className="block truncate" title={access}>
        {access}
      </span>
      {limits !== '' && (
        <span className="block truncate text-xs text-soft" title={limits}>
          {limits}
        </span>
      )}
    </span>
  )
}

function limitsOf({ models, requests_per_minute: rate, ip_allowlist: addresses }: Key): string {
  return [
    ...(models.length === 0 ? [] : [models.length === 1 ? models.join() : plural(models.length, 'model')]),
    ...(rate === null ? [] : [`${formatCount(rate)}/min`]),
    ...(addresses.length === 0 ? [] : [plural(addresses.length, 'address', 'addresses')]),
  ].join(' · ')
}

function LastUsed({ row }: { readonly row: Key }) {
  return row.last_used_at === null ? <span className="text-soft">Never</span> : <Time iso={row.last_used_at} relative />
}

function Created({ row }: { readonly row: Key }) {
  return (
    <span className="block py-0.5">
      <Time iso={row.created_at} relative />
      {row.created_by !== null && (
        <span className="block max-w-28 truncate text-xs text-soft max-md:ml-auto" title={row.created_by.email}>
          by {row.created_by.name === '' ? row.created_by.email : row.created_by.name}
        </span>
      )}
    </span>
  )
}

function StateAndEnd({ row }: { readonly row: Key }) {
  const now = useNow()
  const state = stateOf(row, now)
  return (
    <span className="inline-flex flex-col items-start py-0.5 max-md:items-end">
      <KeyStatus row={row} />
      {row.expires_at !== null && state !== 'revoked' && (
        <span className="text-xs whitespace-nowrap text-soft">
          {state === 'active' ? 'until ' : ''}
          <time dateTime={row.expires_at} title={formatDateTime(row.expires_at, 'utc')}>
            {dayOf(row.expires_at, now)}
          </time>
        </span>
      )}
    </span>
  )
}

const MOST_OF_A_YEAR_MS = 300 * 86_400_000

/** With its year only where it could be mistaken. */
function dayOf(iso: string, now: number): string {
  const day = formatDate(iso)
  return Math.abs(Date.parse(iso) - now) < MOST_OF_A_YEAR_MS ? day.replace(/, \d{4}$/, '') : day
}
