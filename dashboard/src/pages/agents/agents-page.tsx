/** All agents of the account, the newest first. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Bot, Plus } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { useCan } from '../../api/me.ts'
import { visibleName } from '../../lib/visible-text.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { Combobox } from '../../ui/form/combobox.tsx'
import { SelectField } from '../../ui/form/select-field.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Forbidden, Loaded, SkeletonRows } from '../../ui/states.tsx'
import { AgentStatus } from '../../ui/status.tsx'
import { LoadMore, usePages } from '../../ui/table/paged.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { useNow } from '../../ui/time-zone.ts'
import { Ms, Time, Usd } from '../../ui/values.tsx'
import { createCommand } from './draft.ts'
import { type Agent, agentsKey, isOpen, loadAgents, repositoriesQuery } from './queries.ts'
import { type AgentsSearch, STATUSES, type Status, statusIn } from './search.ts'
import { durationOf } from './use-second.ts'

const REFRESH_MS = 5_000
const WHAT = 'Agents work on a git repository: they read and edit files, run commands, and push a branch.'
const route = getRouteApi('/agents')

export function AgentsPage() {
  const mayRead = useCan('agents:read')
  const mayWrite = useCan('agents:write')
  const actions = mayWrite && (
    <LinkButton to="/agents/new" variant="primary" icon={Plus}>
      New agent
    </LinkButton>
  )
  return (
    <Page title="Agents" description={WHAT} actions={actions} wide>
      {mayRead ? <AgentList /> : <Forbidden what="agents" right="agents:read" />}
    </Page>
  )
}

function AgentList() {
  const search = route.useSearch()
  const filter = { status: statusIn(search), repository: search.repository }
  const isFiltered = filter.status !== undefined || filter.repository !== undefined
  const pages = useFreshPages(filter)
  return (
    <div className="flex flex-col gap-4">
      {(isFiltered || pages.rows.length > 0) && <Filters search={search} />}
      <Loaded query={pages} what="agents" skeleton={<SkeletonRows rows={8} />}>
        {(rows) => <AgentsTable rows={rows} empty={isFiltered ? <NoMatch /> : <NoAgents />} />}
      </Loaded>
      <LoadMore pages={pages} noun="agent" />
    </div>
  )
}

/** Renewed while one of them waits or runs, and the tab is looked at. */
function useFreshPages(filter: Parameters<typeof loadAgents>[0]) {
  const [isLive, setLive] = useState(false)
  const pages = usePages<Agent>(agentsKey(filter), (cursor) => loadAgents(filter, cursor), {
    refetchInterval: isLive ? REFRESH_MS : false,
  })
  const anyOpen = pages.rows.some(isOpen)
  useEffect(() => setLive(anyOpen), [anyOpen])
  return pages
}

const ALL = 'all'
const STATUS_OPTIONS: readonly { readonly value: Status | typeof ALL; readonly label: string }[] = [
  { value: ALL, label: 'All statuses' },
  ...STATUSES.map((value) => ({ value, label: value.charAt(0).toUpperCase() + value.slice(1) })),
]

function Filters({ search }: { readonly search: AgentsSearch }) {
  const navigate = route.useNavigate()
  const { data: repositories = [] } = useQuery(repositoriesQuery)
  const change = (next: { readonly status?: string | undefined; readonly repository?: string | undefined }) => {
    const { status = '', repository = '' } = { ...search, ...next }
    void navigate({ search: { ...(status !== '' && { status }), ...(repository !== '' && { repository }) } })
  }
  return (
    <div className="flex flex-wrap gap-2">
      <SelectField
        label="Status"
        hideLabel
        className="w-full sm:w-44"
        value={statusIn(search) ?? ALL}
        options={STATUS_OPTIONS}
        onChange={(value) => change({ status: value === ALL ? '' : value })}
      />
      <Combobox
        label="Repository"
        hideLabel
        className="w-full sm:w-72"
        value={search.repository ?? ''}
        options={repositories.map((value) => ({ value, label: value }))}
        onChange={(repository) => change({ repository })}
        placeholder="All repositories"
      />
    </div>
  )
}

function NoMatch() {
  const navigate = route.useNavigate()
  const showAll = <Button onClick={() => void navigate({ search: {} })}>Show all agents</Button>
  return <Empty icon={Bot} title="No matching agents" action={showAll} />
}

function NoAgents() {
  const mayWrite = useCan('agents:write')
  const example = {
    name: 'Fix the tests',
    repository: 'example/website',
    prompt: 'The tests fail. Find out why and fix it.',
  }
  return (
    <Empty
      icon={Bot}
      title="No agents yet"
      action={
        mayWrite && (
          <LinkButton to="/agents/new" icon={Plus}>
            New agent
          </LinkButton>
        )
      }
      command={createCommand(location.origin, example)}
    >
      Give an agent a repository and a task. Follow its work here, and review its diff before you merge.
    </Empty>
  )
}

/** Two lines a cell: eight columns would not fit beside the navigation. */
const COLUMNS: readonly Column<Agent>[] = [
  { id: 'name', header: 'Agent and model', cell: (agent) => <Name agent={agent} />, primary: true },
  { id: 'status', header: 'Status', cell: ({ status }) => <AgentStatus status={status} /> },
  { id: 'repository', header: 'Repository', cell: (agent) => <Repository agent={agent} /> },
  { id: 'created', header: 'Created', cell: (agent) => <Created agent={agent} /> },
  { id: 'duration', header: 'Duration', align: 'right', cell: (agent) => <Duration agent={agent} /> },
  { id: 'cost', header: 'Cost', align: 'right', cell: ({ usage }) => <Usd value={usage.cost_usd} /> },
]

interface AgentsTableProps {
  readonly rows: readonly Agent[]
  readonly empty: ReactNode
}

function AgentsTable({ rows, empty }: AgentsTableProps) {
  return (
    <Table
      label="Agents"
      viewId="agents"
      columns={COLUMNS}
      rows={rows}
      rowKey={({ id }) => id}
      rowHref={({ id }) => ({ to: '/agents/$agentId', params: { agentId: id } })}
      empty={empty}
      density="comfortable"
    />
  )
}

function Name({ agent }: { readonly agent: Agent }) {
  return (
    <span className="flex max-w-60 min-w-32 flex-col leading-tight max-md:max-w-full xl:max-w-72 2xl:max-w-2xl">
      <Line text={agent.name} />
      <span className="flex text-xs font-normal text-soft">
        <Line text={agent.model} />
      </span>
    </span>
  )
}

function Repository({ agent: { repository, base_branch: base } }: { readonly agent: Agent }) {
  return (
    <span className="inline-flex max-w-full min-w-0 flex-col leading-tight md:max-w-48 2xl:max-w-96">
      <Line text={repository} />
      {base !== null && (
        <span className="flex gap-1 text-xs text-soft max-md:justify-end">
          from <Line text={base} />
        </span>
      )}
    </span>
  )
}

/** When, and who asked for what it does now; that may be gone. */
function Created({ agent: { created_at: at, created_by: who } }: { readonly agent: Agent }) {
  return (
    <span className="inline-flex max-w-full min-w-0 flex-col leading-tight md:max-w-44 2xl:max-w-80">
      <Time iso={at} relative />
      {who.name !== null && (
        <span className="flex gap-1 text-xs text-soft max-md:justify-end">
          by <Line text={who.name} />
        </span>
      )}
    </span>
  )
}

/** Text of whoever wrote it, on one line. */
function Line({ text }: { readonly text: string }) {
  const shown = visibleName(text)
  return (
    <bdi title={shown} className="min-w-0 truncate">
      {shown}
    </bdi>
  )
}

function Duration({ agent }: { readonly agent: Agent }) {
  const now = useNow()
  return <Ms value={durationOf(agent, now)} />
}
