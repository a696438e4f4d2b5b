/** Where the account sends the traces of its requests: list, add, test, disable, delete. */
import { FlaskConical, MoreHorizontal, Pause, Play, Plus, Telescope, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useCan } from '../../../api/me.ts'
import { useAccountNames } from '../../../api/names.ts'
import { problemOf } from '../../../api/problem.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button, IconButton } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/dialog.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { Page } from '../../../ui/page.tsx'
import { Empty, Forbidden } from '../../../ui/states.tsx'
import { EnabledStatus } from '../../../ui/status.tsx'
import { PagedRows } from '../../../ui/table/paged.tsx'
import { actionsColumn, type Column, Table } from '../../../ui/table/table.tsx'
import { CutText, Time } from '../../../ui/values.tsx'
import { AddDestination, KIND_NAMES } from './add-destination.tsx'
import { type Destination, useDestinationActions, useDestinations } from './queries.ts'

const TITLE = 'Telemetry'

export function TelemetryPage() {
  if (useCan('webhooks')) return <Destinations />
  return (
    <Page title={TITLE}>
      <Forbidden what="telemetry destinations" right="webhooks" />
    </Page>
  )
}

function Destinations() {
  const pages = useDestinations()
  const [isAdding, setAdding] = useState(false)
  const [deleted, setDeleted] = useState<Destination>()
  const addButton = (
    <Button variant="primary" icon={Plus} onClick={() => setAdding(true)}>
      Add destination
    </Button>
  )
  return (
    <Page
      title={TITLE}
      description="Services that receive the traces of this account’s requests: tokens, cost and timing, and prompts and answers where you choose so."
      actions={addButton}
      wide
    >
      <PagedRows
        pages={pages}
        what="telemetry destinations"
        noun="destination"
        empty={
          <Empty icon={Telescope} title="No telemetry destinations yet" action={addButton}>
            Send traces to Langfuse, LangSmith, Datadog, Honeycomb, Grafana Cloud or any OTLP endpoint.
          </Empty>
        }
      >
        {(rows) => <DestinationTable rows={rows} onDelete={setDeleted} />}
      </PagedRows>
      <AddDestination open={isAdding} onClose={() => setAdding(false)} />
      <DeleteDialog target={deleted} onClose={() => setDeleted(undefined)} />
    </Page>
  )
}

interface TableProps {
  readonly rows: readonly Destination[]
  readonly onDelete: (destination: Destination) => void
}

function DestinationTable({ rows, onDelete }: TableProps) {
  return (
    <Table
      label="Telemetry destinations"
      viewId="telemetry-destinations"
      density="comfortable"
      columns={[...COLUMNS, actionsColumn<Destination>((row) => <Actions row={row} onDelete={onDelete} />)]}
      rows={rows}
      rowKey={({ id }) => id}
    />
  )
}

const COLUMNS: readonly Column<Destination>[] = [
  { id: 'name', header: 'Name', primary: true, cell: (row) => <NameAndAddress row={row} /> },
  { id: 'service', header: 'Service', cell: ({ kind }) => KIND_NAMES[kind] },
  { id: 'for', header: 'For', cell: ({ team_id: team }) => (team === null ? 'All requests' : <TeamName id={team} />) },
  { id: 'content', header: 'Prompts', cell: ({ content }) => (content ? 'Sent' : 'Not sent') },
  { id: 'status', header: 'Status', cell: ({ enabled }) => <EnabledStatus enabled={enabled} /> },
  { id: 'created', header: 'Created', hideBelow: '2xl', cell: (row) => <Time iso={row.created_at} relative /> },
]

function NameAndAddress({ row: { name, url } }: { readonly row: Destination }) {
  return (
    <span className="block max-w-56 py-0.5 2xl:max-w-96">
      <span className="block truncate" title={name}>
        {name}
      </span>
      <span className="block truncate text-sm font-normal text-soft" title={url}>
        {url}
      </span>
    </span>
  )
}

function TeamName({ id }: { readonly id: string }) {
  return <CutText text={useAccountNames().nameOf(id)} />
}

interface ActionsProps {
  readonly row: Destination
  readonly onDelete: (destination: Destination) => void
}

function Actions({ row, onDelete }: ActionsProps) {
  const { test, enable } = useDestinationActions()
  const label = `Actions for ${row.name}`
  const run = (work: Promise<unknown>) =>
    void work.catch((error: unknown) => toast(problemOf(error).message, { tone: 'bad' }))
  const report = async () => {
    const error = await test(row.id)
    if (error === null) toast(`${row.name} accepted a test span`)
    else toast(`${row.name} did not accept a test span: ${error}`, { tone: 'bad' })
  }
  return (
    <Menu
      label={label}
      trigger={<IconButton label={label} icon={MoreHorizontal} size="sm" />}
      items={[
        { label: 'Send test span', icon: FlaskConical, onSelect: () => run(report()) },
        row.enabled
          ? { label: 'Disable', icon: Pause, onSelect: () => run(enable(row.id, false)) }
          : { label: 'Enable', icon: Play, onSelect: () => run(enable(row.id, true)) },
        { label: 'Delete', icon: Trash2, danger: true, onSelect: () => onDelete(row) },
      ]}
    />
  )
}

interface DeleteDialogProps {
  /** Undefined: nothing is asked. */
  readonly target: Destination | undefined
  readonly onClose: () => void
}

function DeleteDialog({ target, onClose }: DeleteDialogProps) {
  const { remove } = useDestinationActions()
  return (
    <ConfirmDialog
      open={target !== undefined}
      onOpenChange={(open) => {
        if (!open) onClose()
      }}
      title={`Delete ${target?.name ?? ''}?`}
      confirmLabel="Delete destination"
      danger
      onConfirm={async () => {
        if (target === undefined) return
        await remove(target.id)
        toast(`${target.name} is deleted`)
      }}
    >
      <p>No more traces are sent there, and its credential is deleted.</p>
    </ConfirmDialog>
  )
}
