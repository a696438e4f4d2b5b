import type { ReactNode } from 'react'
import { visibleName } from '../../lib/visible-text.ts'
import { AgentStatus } from '../../ui/status.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { useNow } from '../../ui/time-zone.ts'
import { Ms, Time, Usd } from '../../ui/values.tsx'
import type { Agent } from './queries.ts'
import { durationOf } from './use-second.ts'

/** Two lines a cell: eight columns would not fit beside the navigation. */
const COLUMNS: readonly Column<Agent>[] = [
  { id: 'name', header: 'Agent and model', cell: (agent) => <Name agent={agent} />, primary: true },
  { id: 'status', header: 'Status', cell: ({ status }) => <AgentStatus status={status} /> },
  { id: 'repository', header: 'Repository', cell: (agent) => <Repository agent={agent} /> },
  { id: 'created', header: 'Created', cell: (agent) => <Created agent={agent} /> },
  { id: 'duration', header: 'Duration', align: 'right', cell: (agent) => <Duration agent={agent} /> },
  { id: 'cost', header: 'Cost', align: 'right', cell: ({ usage }) => <Usd value={usage.cost_usd} /> },
]

export interface AgentsTableProps {
  readonly rows: readonly Agent[]
  readonly empty: ReactNode
}

export function AgentsTable({ rows, empty }: AgentsTableProps) {
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
function Created({ agent: { created_at: at, asked_by: who } }: { readonly agent: Agent }) {
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
