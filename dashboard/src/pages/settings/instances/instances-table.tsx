import { CircleCheck, CircleX, LogOut, type LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { CopyableId } from '../../../ui/copy.tsx'
import { StatusChip, type Tone } from '../../../ui/status.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { Dash, Ms, Time, Tokens } from '../../../ui/values.tsx'
import { type InstanceState, newestReport, stateOf } from './instance-state.ts'
import type { Instance } from './queries.ts'

interface InstancesTableProps {
  readonly instances: readonly Instance[]
  readonly empty: ReactNode
}

export function InstancesTable({ instances, empty }: InstancesTableProps) {
  const newest = newestReport(instances)
  return (
    <Table
      label="Instances"
      density="comfortable"
      className="[&_td]:px-2 [&_th]:px-2"
      columns={columnsOf((instance) => stateOf(instance, newest))}
      rows={instances}
      rowKey={({ id }) => id}
      empty={empty}
    />
  )
}

function columnsOf(stateFor: (instance: Instance) => InstanceState): readonly Column<Instance>[] {
  return [
    { id: 'id', header: 'Instance', primary: true, cell: (instance) => <Name instance={instance} /> },
    { id: 'state', header: 'State', cell: (instance) => <State instance={instance} state={stateFor(instance)} /> },
    { id: 'version', header: 'Version', cell: (instance) => <Version instance={instance} /> },
    { id: 'started', header: 'Started', cell: ({ started_at }) => <Time iso={started_at} relative /> },
    { id: 'load', header: 'CPUs', align: 'right', cell: ({ load }) => <Load load={load} /> },
    { id: 'lag', header: 'Lag', align: 'right', cell: ({ lag_ms: lag }) => <Ms value={lag} /> },
    {
      id: 'active',
      header: 'Requests',
      align: 'right',
      cell: ({ active_requests }) => <Tokens value={active_requests} />,
    },
  ]
}

/** Its id, and where it is reached. */
function Name({ instance: { id, address } }: { readonly instance: Instance }) {
  return (
    <span className="block min-w-0 md:min-w-60">
      <CopyableId id={id} />
      <span className="block font-mono text-xs font-normal break-all text-soft">
        {address ?? 'Takes no connections'}
      </span>
    </span>
  )
}

const STATES: Readonly<Record<InstanceState, readonly [Tone, LucideIcon, word: string]>> = {
  running: ['good', CircleCheck, 'Running'],
  draining: ['info', LogOut, 'Draining'],
  silent: ['bad', CircleX, 'Not reporting'],
}

function State({ instance, state }: { readonly instance: Instance; readonly state: InstanceState }) {
  const [tone, icon, word] = STATES[state]
  return (
    <span className="inline-block">
      <StatusChip tone={tone} icon={icon}>
        {word}
      </StatusChip>
      <span className="mt-0.5 block text-xs text-soft">
        Seen <Time iso={instance.seen_at} relative />
      </span>
    </span>
  )
}

/** With what of the work it does: serving, background, or all. */
function Version({ instance: { version, role } }: { readonly instance: Instance }) {
  return (
    <span className="inline-block">
      {version}
      <span className="block text-xs text-soft">Role: {role}</span>
    </span>
  )
}

/** Processors that it kept busy in the last minute. */
function Load({ load }: { readonly load: number | null }) {
  if (load === null) return <Dash />
  return <span>{load.toFixed(2)}</span>
}
