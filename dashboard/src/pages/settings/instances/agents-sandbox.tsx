/** Behind which wall commands of agents run, if behind any. */
import { useQuery } from '@tanstack/react-query'
import { ShieldAlert, ShieldCheck } from 'lucide-react'
import { plural } from '../../../lib/format.ts'
import { agentsStateQuery } from '../../../shell/sandbox-banner.tsx'
import { Details } from '../../../ui/details.tsx'
import { Notice } from '../../../ui/notice.tsx'
import { Card } from '../../../ui/page.tsx'
import { Loaded, Skeleton } from '../../../ui/states.tsx'
import { StatusChip } from '../../../ui/status.tsx'
import type { AgentsState } from './queries.ts'

export function AgentsSandbox() {
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
            <Notice tone="warn" title="This process runs no agents">
              {state.reason ?? 'It did not say why.'}
            </Notice>
          )}
          <Card className="py-1">
            <Details
              items={[
                { label: 'Sandbox', value: <Sandbox backend={state.backend} /> },
                { label: 'Takes runs', value: availability(state) },
                { label: 'Runs under way', value: plural(state.running, 'run') },
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
      What a model orders is carried out with the rights of the gateway itself: its files, its credentials, its network.
      Set <code className="font-mono">agents.sandbox.backend: bubblewrap</code> in turnpike.yaml and restart, unless the
      whole machine is there for one agent alone.
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
  if (available === null) return 'No: work in the background is left to other processes'
  return available ? 'Yes' : 'No'
}
