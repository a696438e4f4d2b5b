/** One agent: what it was asked, what it does and did, what it changed. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useEffect, useRef } from 'react'
import { useCan } from '../../api/me.ts'
import { problemOf } from '../../api/problem.ts'
import { visibleName } from '../../lib/visible-text.ts'
import { announce } from '../../ui/announcer.tsx'
import { LinkButton } from '../../ui/button.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Failed, Forbidden, Loaded, SkeletonRows } from '../../ui/states.tsx'
import { AgentActions } from './agent-actions.tsx'
import { AgentFacts } from './agent-facts.tsx'
import { AgentTabs } from './agent-tabs.tsx'
import { FailureNotice } from './failure-notice.tsx'
import { FollowUp, type FollowUpBox } from './follow-up.tsx'
import { type Agent, agentQuery, webhookEventsKey } from './queries.ts'
import { type AgentStream, useAgentEvents } from './use-agent-events.ts'

const route = getRouteApi('/agents/$agentId')
const PARENT = { to: '/agents', label: 'Agents' }

export function AgentPage() {
  const mayRead = useCan('agents:read')
  const { agentId } = route.useParams()
  if (mayRead) return <AskedAgent key={agentId} agentId={agentId} />
  return (
    <Page title="Agent" parent={PARENT}>
      <Forbidden what="agents" right="agents:read" />
    </Page>
  )
}

function AskedAgent({ agentId }: { readonly agentId: string }) {
  const query = useQuery(agentQuery(agentId))
  if (query.data !== undefined) return <AgentView agent={query.data} />
  const isMissing = query.error !== null && problemOf(query.error).status === 404
  return (
    <Page title="Agent" parent={PARENT}>
      {isMissing ? (
        <Empty title="There is no such agent" action={<LinkButton to="/agents">See all agents</LinkButton>}>
          It may have been deleted, or belong to another account.
        </Empty>
      ) : (
        <Loaded query={query} what="this agent" skeleton={<SkeletonRows rows={6} />}>
          {() => null}
        </Loaded>
      )}
    </Page>
  )
}

function AgentView({ agent }: { readonly agent: Agent }) {
  const stream = useLiveAgent(agent)
  const { work, connection, problem } = stream
  const status = work.status ?? agent.status
  const live = { ...agent, status }
  const error = agent.status === 'failed' && status === 'failed' ? agent.error : null
  const box = useRef<FollowUpBox>(null)
  const mayWrite = useCan('agents:write')
  const add = useCallback((message: string) => box.current?.add(message), [])
  const askAgain = mayWrite ? add : undefined
  const lastAsked = work.entries.findLast((entry) => entry.kind === 'message' && entry.role === 'user')
  const onRetry = askAgain && lastAsked?.kind === 'message' ? () => askAgain(lastAsked.text) : undefined
  return (
    <Page title={visibleName(agent.name)} parent={PARENT} actions={<AgentActions agent={live} />} wide>
      <div className="flex flex-col gap-5">
        <AgentFacts agent={live} work={work} connection={connection} />
        {error !== null && <FailureNotice error={error} onRetry={onRetry} />}
        {connection === 'failed' && <Failed error={problem} what="what it does" className="py-6" />}
        <AgentTabs agent={live} stream={stream} askAgain={askAgain} />
        <FollowUp agent={live} ref={box} />
      </div>
    </Page>
  )
}

/** The agent's events, and the agent itself asked for anew whenever they tell that it has changed. */
function useLiveAgent({ id, status: known, runs }: Agent): AgentStream {
  const stream = useAgentEvents(id, runs)
  const client = useQueryClient()
  const { connection, work } = stream
  const { status } = work
  useEffect(() => {
    if (status === undefined || status === known) return
    announce(`The agent is ${status}`)
    void client.invalidateQueries({ queryKey: ['/v1/agents'] })
  }, [client, status, known])
  useEffect(() => {
    if (connection === 'over') void client.invalidateQueries({ queryKey: ['/v1/agents', id] })
  }, [client, connection, id])
  const told = `${runs} ${status ?? known}`
  // biome-ignore lint/correctness/useExhaustiveDependencies: what has changed may be told to webhooks as well
  useEffect(() => {
    void client.invalidateQueries({ queryKey: webhookEventsKey(id) })
  }, [client, id, told])
  return stream
}
