import { HealthStatus } from '../../../ui/status.tsx'
import { type Column, Table } from '../../../ui/table.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { Dash, Ms, Time, Tokens } from '../../../ui/values.tsx'
import { breakerText, failedText } from './provider-words.ts'
import type { Deployment, Provider } from './queries.ts'

/** The models that were called, each with its own breaker. */
export function DeploymentsTable({ provider }: { readonly provider: Provider }) {
  return (
    <Table
      label={`Models of ${provider.name}`}
      columns={COLUMNS}
      rows={provider.deployments}
      rowKey={({ model }) => model}
      className="p-3 md:rounded-none md:border-x-0 md:border-b-0 md:p-0 [&_th]:static"
    />
  )
}

const COLUMNS: readonly Column<Deployment>[] = [
  {
    id: 'model',
    header: 'Model',
    primary: true,
    cell: ({ model }) => <span className="block min-w-30 font-mono text-sm wrap-anywhere">{model}</span>,
  },
  { id: 'state', header: 'State', cell: (deployment) => <State deployment={deployment} /> },
  { id: 'failure', header: 'Last failure', cell: (deployment) => <LastFailure deployment={deployment} /> },
  { id: 'failed', header: 'Failed', align: 'right', cell: (deployment) => failedText(deployment) },
  { id: 'first', header: 'First token', align: 'right', cell: ({ first_event_ms }) => <Ms value={first_event_ms} /> },
  { id: 'whole', header: 'Answer', align: 'right', cell: ({ whole_answer_ms }) => <Ms value={whole_answer_ms} /> },
  { id: 'busy', header: 'In flight', align: 'right', cell: ({ in_flight }) => <Tokens value={in_flight} /> },
]

function State({ deployment }: { readonly deployment: Deployment }) {
  const now = useNow()
  const why = breakerText(deployment, now)
  return (
    <span className="inline-flex min-w-32 flex-wrap items-center justify-end gap-x-2 gap-y-1 md:justify-start">
      <HealthStatus status={deployment.breaker} />
      {why !== undefined && <span className="text-sm text-soft">{why}</span>}
    </span>
  )
}

function LastFailure({ deployment: { last_failure: failure } }: { readonly deployment: Deployment }) {
  if (failure === null) return <Dash />
  return (
    <span className="block min-w-32 md:max-w-96">
      <span className="block break-words">{failure.message}</span>
      <span className="text-xs text-soft">
        <Time iso={failure.at} relative />
      </span>
    </span>
  )
}
