import { useQueryClient } from '@tanstack/react-query'
import { CircleCheck, MonitorSmartphone, Unplug } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { api, take } from '../../../api/client.ts'
import { useCan, useMe } from '../../../api/me.ts'
import type { paths } from '../../../api/schema.d.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { CommandBlock } from '../../../ui/code.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { Segmented } from '../../../ui/form/segmented.tsx'
import { Card, Page, Section } from '../../../ui/page.tsx'
import { Empty, Forbidden, Loaded } from '../../../ui/states.tsx'
import { StatusChip } from '../../../ui/status.tsx'
import { LoadMore, type Pages, usePages } from '../../../ui/table/paged.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { Dash, Time } from '../../../ui/values.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { shortList } from '../keys/key-words.tsx'
import { labelOfRight } from '../members/rights.ts'
import { readDevicesSearch } from '../search.ts'

const TITLE = 'Connected devices'

export function DevicesPage() {
  if (useCan('devices')) return <Devices />
  return (
    <Page title={TITLE}>
      <Forbidden what="connected devices" right="devices" />
    </Page>
  )
}

function Devices() {
  const { whose, state } = useSearchOf(readDevicesSearch)
  const change = useSearchChange()
  const maySeeAll = useCan('members')
  const ofAll = maySeeAll && whose === 'all'
  const pages = useDevices(ofAll)
  const [disconnecting, setDisconnecting] = useState<Device>()
  return (
    <Page title={TITLE} description="Editors and terminals that signed in with a code, without an API key.">
      <div className="flex flex-col gap-4">
        <div className="flex flex-wrap gap-2">
          {maySeeAll && (
            <Segmented<'own' | 'all'>
              label="Whose devices"
              value={ofAll ? 'all' : 'own'}
              onChange={(next) => change({ whose: next === 'all' ? 'all' : undefined })}
              options={[
                { value: 'own', label: 'Mine' },
                { value: 'all', label: 'Everyone’s' },
              ]}
            />
          )}
          <Segmented<'connected' | 'all'>
            label="Which devices"
            value={state ?? 'connected'}
            onChange={(next) => change({ state: next === 'all' ? 'all' : undefined })}
            options={[
              { value: 'connected', label: 'Connected' },
              { value: 'all', label: 'All' },
            ]}
          />
        </div>
        <Loaded query={pages} what="connected devices">
          {(rows) => (
            <div>
              <DevicesTable
                rows={rows.filter(({ revoked_at }) => state === 'all' || revoked_at === null)}
                withPeople={ofAll}
                withState={state === 'all'}
                onDisconnect={setDisconnecting}
                empty={<NoDevices />}
              />
              <LoadMore pages={pages} noun="device" />
            </div>
          )}
        </Loaded>
      </div>
      <HowToConnect />
      <DisconnectDevice device={disconnecting} onClose={() => setDisconnecting(undefined)} />
    </Page>
  )
}

function NoDevices() {
  return (
    <Empty icon={MonitorSmartphone} title="No connected devices">
      Connect one as described below; it appears here when you approve it.
    </Empty>
  )
}

function HowToConnect() {
  return (
    <Section title="Connect a device">
      <Card className="flex flex-col gap-4">
        <p className="max-w-prose text-soft">
          Run this on your machine. It shows a code: compare it in the browser, and approve. Editors with Turnpike
          support do the same from their menu.
        </p>
        <CommandBlock label="Command that connects a terminal" command={`turnpike login --url ${location.origin}`} />
        <p className="text-soft">
          Your device already shows a code?{' '}
          <a href="/activate" className="font-medium text-accent underline underline-offset-2">
            Enter the code
          </a>
        </p>
      </Card>
    </Section>
  )
}

interface DevicesTableProps {
  readonly rows: readonly Device[]
  /** Whether to say whose they are. */
  readonly withPeople: boolean
  /** Whether to say which are connected. */
  readonly withState: boolean
  readonly onDisconnect: (device: Device) => void
  readonly empty: ReactNode
}

function DevicesTable({ rows, withPeople, withState, onDisconnect, empty }: DevicesTableProps) {
  const columns: readonly Column<Device>[] = [
    { id: 'client', header: 'Device', primary: true, cell: (row) => <Client row={row} /> },
    ...(withPeople ? [PERSON] : []),
    { id: 'scopes', header: 'May use', cell: (row) => <Scopes row={row} /> },
    { id: 'address', header: 'Address', hideBelow: 'lg', cell: (row) => <Address address={row.address} /> },
    { id: 'used', header: 'Last used', cell: (row) => <LastUsed row={row} /> },
    { id: 'created', header: 'Connected', hideBelow: '2xl', cell: (row) => <Time iso={row.created_at} relative /> },
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
    <span className="block max-w-36 truncate 2xl:max-w-48" title={row.user_email ?? row.user_id}>
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
    <span className="block max-w-44 min-w-36 py-0.5 2xl:max-w-72">
      <span className="block truncate font-medium" title={row.client_name}>
        {row.client_name}
      </span>
      {row.user_agent !== null && (
        <span className="block truncate text-sm font-normal text-soft" title={row.user_agent}>
          Reported name {row.user_agent}
        </span>
      )}
    </span>
  )
}

const NOT_USED = new Set(['offline_access'])

function Scopes({ row }: { readonly row: Device }) {
  const names = row.scopes.filter((scope) => !NOT_USED.has(scope)).map(labelOfRight)
  return (
    <span className="block max-w-40 truncate text-sm 2xl:max-w-60" title={names.join(', ')}>
      {shortList(names)}
    </span>
  )
}

function Address({ address }: { readonly address: string | null }) {
  if (address === null) return <Dash />
  return (
    <span className="block max-w-32 truncate 2xl:max-w-none" title={address}>
      {address}
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

interface DisconnectDeviceProps {
  readonly device: Device | undefined
  readonly onClose: () => void
}

function DisconnectDevice({ device, onClose }: DisconnectDeviceProps) {
  const disconnect = useDisconnect()
  return (
    <ConfirmDialog
      open={device !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={`Disconnect ${device?.client_name ?? ''}?`}
      confirmLabel="Disconnect"
      danger
      onConfirm={async () => {
        if (device === undefined) return
        await disconnect(device.id)
        toast(`${device.client_name} is disconnected`)
      }}
    >
      {device !== undefined && <Effect device={device} />}
    </ConfirmDialog>
  )
}

function Effect({ device }: { readonly device: Device }) {
  const { user } = useMe()
  const isOwn = device.user_id === user.id
  return (
    <>
      <p>
        {isOwn ? 'Your device' : `The device of ${device.user_email ?? device.user_id}`}
        {device.last_used_at === null ? ' was never used.' : ' was last used '}
        {device.last_used_at !== null && (
          <>
            <Time iso={device.last_used_at} relative />.
          </>
        )}
      </p>
      <p>It is rejected within a second, and its open requests end. To use it again, connect it again.</p>
    </>
  )
}

type Device = paths['/v1/devices']['get']['responses'][200]['content']['application/json']['data'][number]

const DEVICES = '/v1/devices'
const PAGE_SIZE = 50

/** @param ofAll Everybody's, for those who may see them. Those that are connected no longer are included. */
function useDevices(ofAll: boolean): Pages<Device> {
  return usePages([DEVICES, ofAll], (cursor) =>
    take(
      api.GET('/v1/devices', {
        params: {
          query: { limit: PAGE_SIZE, all: ofAll ? 'true' : 'false', ...(cursor !== undefined && { cursor }) },
        },
      }),
    ),
  )
}

function useDisconnect(): (id: string) => Promise<void> {
  const queries = useQueryClient()
  return async (id) => {
    await take(api.DELETE('/v1/devices/{id}', { params: { path: { id } } }))
    await queries.invalidateQueries({ queryKey: [DEVICES] })
  }
}
