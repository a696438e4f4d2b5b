/** The processes that serve this installation, and whether they can run agents safely. */
import { useQuery } from '@tanstack/react-query'
import { CircleCheck, CircleX, LogOut, type LucideIcon, Server, ShieldAlert, ShieldCheck } from 'lucide-react'
import type { ReactNode } from 'react'
import { api, take } from '../../../api/client.ts'
import { useCan } from '../../../api/me.ts'
import { plural } from '../../../lib/format.ts'
import { agentsStateQuery } from '../../../shell/sandbox-banner.tsx'
import { CopyableId } from '../../../ui/copy.tsx'
import { Notice } from '../../../ui/notice.tsx'
import { Card, Page, Section } from '../../../ui/page.tsx'
import { Empty, Forbidden, Loaded, Skeleton } from '../../../ui/states.tsx'
import { StatusChip, type Tone } from '../../../ui/status.tsx'
import { LoadMore, type Pages, usePages } from '../../../ui/table/paged.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { Dash, Details, Ms, Time, Tokens } from '../../../ui/values.tsx'
import {
  type AgentsState,
  type Instance,
  type InstanceState,
  newestReport,
  stateOf,
  versionsText,
} from './instance-state.ts'

const TITLE = 'Instances'

export function InstancesPage() {
  if (useCan('operator')) return <Instances />
  return (
    <Page title={TITLE}>
      <Forbidden what="instances" right="operator" />
    </Page>
  )
}

function Instances() {
  const pages = useInstances()
  return (
    <Page title={TITLE} description="Processes that share this database. Refreshed every 5 s." wide>
      <Loaded query={pages} what="instances">
        {(instances) => (
          <div className="flex flex-col gap-4">
            <VersionNotice instances={instances} />
            <InstancesTable
              instances={instances}
              empty={<Empty icon={Server} title="No process has reported yet" command="turnpike doctor" />}
            />
            <LoadMore pages={pages} noun="instance" />
          </div>
        )}
      </Loaded>
      <Section title="Agents" description="As seen by the process that answered.">
        <AgentsSandbox />
      </Section>
    </Page>
  )
}

function VersionNotice({ instances }: { readonly instances: readonly Instance[] }) {
  const versions = versionsText(instances)
  if (versions === undefined) return null
  return (
    <Notice tone="warn" title="Processes run different versions">
      {versions}. This is normal during an upgrade; restart the older ones to finish it.
    </Notice>
  )
}

interface InstancesTableProps {
  readonly instances: readonly Instance[]
  readonly empty: ReactNode
}

function InstancesTable({ instances, empty }: InstancesTableProps) {
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
        {address ?? 'Accepts no connections'}
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

/** The isolation in which commands of agents run. */
function AgentsSandbox() {
  return (
    <Loaded
      query={useQuery(agentsStateQuery)}
      what="the state of agents"
      skeleton={<Skeleton className="h-32 w-full" />}
    >
      {(state) => (
        <div className="flex flex-col gap-4">
          {state.backend === 'none' && <NoSandbox />}
          {state.available === false && (
            <Notice tone="warn" title="This process does not run agents">
              {state.reason ?? 'No reason given.'}
            </Notice>
          )}
          <Card className="py-1">
            <Details
              items={[
                { label: 'Sandbox', value: <Sandbox backend={state.backend} /> },
                { label: 'Accepts runs', value: availability(state) },
                { label: 'Active runs', value: plural(state.running, 'run') },
              ]}
            />
          </Card>
        </div>
      )}
    </Loaded>
  )
}

function NoSandbox() {
  return (
    <Notice tone="bad" icon={ShieldAlert} title="Agents run without a sandbox">
      Commands from a model run with the rights of the gateway: its files, credentials and network. Set{' '}
      <code className="font-mono">agents.sandbox.backend: bubblewrap</code> in turnpike.yaml and restart, unless the
      machine is dedicated to a single agent.
    </Notice>
  )
}

function Sandbox({ backend }: Pick<AgentsState, 'backend'>) {
  if (backend === 'none') {
    return (
      <StatusChip tone="bad" icon={ShieldAlert}>
        None
      </StatusChip>
    )
  }
  return (
    <StatusChip tone="good" icon={ShieldCheck}>
      {backend}
    </StatusChip>
  )
}

function availability({ available }: AgentsState): string {
  if (available === null) return 'No: other processes do the background work'
  return available ? 'Yes' : 'No'
}

/** Processes report as often. */
const REFRESH_MS = 5_000
const PAGE_SIZE = 100

function useInstances(): Pages<Instance> {
  return usePages(
    ['/v1/admin/instances'],
    (cursor) =>
      take(
        api.GET('/v1/admin/instances', {
          params: { query: { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } },
        }),
      ),
    { refetchInterval: REFRESH_MS },
  )
}
