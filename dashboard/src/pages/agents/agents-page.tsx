/** All agents of the account, the newest first. */

import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Bot, Plus } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useCan } from '../../api/me.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { Combobox } from '../../ui/choices.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Page } from '../../ui/page.tsx'
import { LoadMore, usePages } from '../../ui/paged.tsx'
import { Empty, Forbidden, Loaded, SkeletonRows } from '../../ui/states.tsx'
import { AgentsTable } from './agents-table.tsx'
import { createCommand } from './curl.ts'
import { type Agent, agentsKey, isOpen, loadAgents, repositoriesQuery } from './queries.ts'
import { type AgentsSearch, STATUSES, type Status, statusIn } from './search.ts'

const REFRESH_MS = 5_000
const WHAT = 'An agent works on a git repository on its own: it reads, edits and runs commands, and pushes a branch.'
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
  return <Empty icon={Bot} title="No agent is like that" action={showAll} />
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
      Give one a repository and a task; what it does can be watched here, and what it changed be read before it is
      merged.
    </Empty>
  )
}
