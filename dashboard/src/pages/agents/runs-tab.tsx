import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { formatCount, formatUsd } from '../../lib/format.ts'
import { visibleName } from '../../lib/visible-text.ts'
import { Loaded, SkeletonRows } from '../../ui/states.tsx'
import { AgentStatus } from '../../ui/status.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { Dash, Time, Tokens, Usd } from '../../ui/values.tsx'
import { helpFor } from './failures.ts'
import { type LiveAgent, type Run, runsQuery } from './queries.ts'

/** Two lines a cell, so that all of it fits beside the navigation. */
const COLUMNS: readonly Column<Run>[] = [
  { id: 'number', header: 'Run', cell: ({ number }) => <span className="whitespace-nowrap">Run {number}</span> },
  { id: 'status', header: 'Status', cell: ({ status }) => <AgentStatus status={status} /> },
  { id: 'steps', header: 'Steps', align: 'right', cell: (run) => <Steps run={run} /> },
  { id: 'tokens', header: 'Tokens', align: 'right', cell: ({ usage }) => <Tokens value={usage.tokens} /> },
  { id: 'cost', header: 'Cost', align: 'right', cell: (run) => <Cost run={run} /> },
  { id: 'times', header: 'Started, ended', cell: (run) => <Times run={run} /> },
  { id: 'commit', header: 'Commit', cell: (run) => <Commit run={run} /> },
  { id: 'reason', header: 'Outcome', cell: (run) => <Outcome run={run} /> },
]

/** Each is billed by itself: the first one, and one for each follow-up after it had ended. */
export function RunsTab({ agent }: { readonly agent: LiveAgent }) {
  const query = useQuery(runsQuery(agent.id))
  return (
    <Loaded query={query} what="its runs" skeleton={<SkeletonRows rows={2} />}>
      {(rows) => <Table label="Runs" columns={COLUMNS} rows={rows} rowKey={({ id }) => id} density="comfortable" />}
    </Loaded>
  )
}

interface CellProps {
  readonly run: Run
}

function Steps({ run: { steps, max_steps: most } }: CellProps) {
  return <Lines first={<Tokens value={steps} />} second={most !== null && `of ${formatCount(most)}`} />
}

function Cost({ run: { usage, max_cost_usd: most } }: CellProps) {
  return <Lines first={<Usd value={usage.cost_usd} />} second={most !== null && `of ${formatUsd(most)}`} />
}

function Times({ run: { started_at: start, ended_at: end } }: CellProps) {
  return <Lines first={<Time iso={start} relative />} second={end !== null && <Time iso={end} relative />} />
}

function Commit({ run: { commit, pushed } }: CellProps) {
  if (commit === null) return <Dash />
  const short = (
    <code title={commit} className="font-mono text-sm">
      {commit.slice(0, 8)}
    </code>
  )
  return <Lines first={short} second={pushed ? 'pushed' : 'not pushed'} />
}

function Lines({ first, second }: { readonly first: ReactNode; readonly second: ReactNode }) {
  return (
    <span className="inline-flex flex-col leading-tight whitespace-nowrap tabular-nums">
      {first}
      {second !== false && <span className="text-xs text-soft">{second}</span>}
    </span>
  )
}

function Outcome({ run: { summary, error } }: CellProps) {
  const text = error === null ? visibleName(summary ?? '') : helpFor(error.code).title
  if (text === '') return <Dash />
  return (
    <span title={text} className="line-clamp-2 max-w-72 min-w-32 wrap-anywhere max-md:max-w-full">
      <bdi>{text}</bdi>
    </span>
  )
}
