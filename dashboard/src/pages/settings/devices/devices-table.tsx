import { CircleCheck, Unplug } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from '../../../ui/button.tsx'
import { StatusChip } from '../../../ui/status.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { Dash, Time } from '../../../ui/values.tsx'
import { shortList } from '../keys/key-words.tsx'
import { labelOfRight } from '../members/rights.ts'
import type { Device } from './queries.ts'

interface DevicesTableProps {
  readonly rows: readonly Device[]
  /** Whether to say whose they are. */
  readonly withPeople: boolean
  /** Whether to say which are connected. */
  readonly withState: boolean
  readonly onDisconnect: (device: Device) => void
  readonly empty: ReactNode
}

export function DevicesTable({ rows, withPeople, withState, onDisconnect, empty }: DevicesTableProps) {
  const columns: readonly Column<Device>[] = [
    { id: 'client', header: 'Device', primary: true, cell: (row) => <Client row={row} /> },
    ...(withPeople ? [PERSON] : []),
    { id: 'scopes', header: 'May use', cell: (row) => <Scopes row={row} /> },
    { id: 'address', header: 'Address', hideBelow: 'lg', cell: (row) => row.address ?? <Dash /> },
    { id: 'used', header: 'Last used', cell: (row) => <LastUsed row={row} /> },
    { id: 'created', header: 'Connected', cell: (row) => <Time iso={row.created_at} relative /> },
    ...(withState ? [STATE] : []),
    {
      id: 'actions',
      header: 'Actions',
      align: 'right',
      cell: (row) => <Disconnect row={row} onPress={onDisconnect} />,
    },
  ]
  return (
    <Table
      label="Connected devices"
      density="comfortable"
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={empty}
    />
  )
}

const PERSON: Column<Device> = {
  id: 'person',
  header: 'Whose',
  cell: (row) => (
    <span className="block max-w-48 truncate" title={row.user_email ?? row.user_id}>
      {row.user_email ?? row.user_id}
    </span>
  ),
}

const STATE: Column<Device> = {
  id: 'state',
  header: 'Status',
  cell: (row) =>
    row.revoked_at === null ? (
      <StatusChip tone="good" icon={CircleCheck}>
        Connected
      </StatusChip>
    ) : (
      <StatusChip tone="neutral" icon={Unplug}>
        Disconnected
      </StatusChip>
    ),
}

/** The client's name is the gateway's; what it calls itself is its own word. */
function Client({ row }: { readonly row: Device }) {
  return (
    <span className="block max-w-72 min-w-36 py-0.5">
      <span className="block truncate font-medium">{row.client_name}</span>
      {row.user_agent !== null && (
        <span className="block truncate text-sm font-normal text-soft" title={row.user_agent}>
          Says it is {row.user_agent}
        </span>
      )}
    </span>
  )
}

const NOT_USED = new Set(['offline_access'])

function Scopes({ row }: { readonly row: Device }) {
  const names = row.scopes.filter((scope) => !NOT_USED.has(scope)).map(labelOfRight)
  return (
    <span className="block max-w-60 truncate text-sm" title={names.join(', ')}>
      {shortList(names)}
    </span>
  )
}

function LastUsed({ row }: { readonly row: Device }) {
  return row.last_used_at === null ? <span className="text-soft">Never</span> : <Time iso={row.last_used_at} relative />
}

interface DisconnectProps {
  readonly row: Device
  readonly onPress: (device: Device) => void
}

function Disconnect({ row, onPress }: DisconnectProps) {
  if (row.revoked_at !== null) return null
  return (
    <Button
      size="sm"
      variant="ghost"
      icon={Unplug}
      aria-label={`Disconnect ${row.client_name}`}
      onClick={() => onPress(row)}
    >
      Disconnect
    </Button>
  )
}
