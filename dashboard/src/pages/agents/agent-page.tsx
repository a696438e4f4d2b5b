/** One agent: what it was asked, what it does and did, what it changed. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { CircleAlert, RotateCcw } from 'lucide-react'
import { useCallback, useEffect, useRef } from 'react'
import { useCan } from '../../api/me.ts'
import { problemOf } from '../../api/problem.ts'
import { visibleName, visibleText } from '../../lib/visible-text.ts'
import { announce } from '../../ui/announcer.tsx'
import { Button, LinkButton } from '../../ui/button.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Failed, Forbidden, Loaded, SkeletonRows } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { AgentActions, FollowUp, type FollowUpBox } from './agent-actions.tsx'
import type { RunFailure } from './agent-events.ts'
import { AgentFacts } from './agent-facts.tsx'
import { type AgentStream, useAgentEvents } from './agent-stream.ts'
import { DiffTab } from './diff-tab.tsx'
import { EventsTab } from './events-tab.tsx'
import { helpFor } from './failures.ts'
import { type Agent, agentQuery, type LiveAgent, webhookEventsKey } from './queries.ts'
import { RunsTab } from './runs-tab.tsx'
import { type AgentTab, tabIn } from './search.ts'
import { Timeline } from './timeline.tsx'
import { Transcript } from './transcript.tsx'

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
        <Empty title="Agent not found" action={<LinkButton to="/agents">See all agents</LinkButton>}>
          It may have been deleted, or belongs to another account.
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

/** The agent's events, and the agent itself requested again when an event reports a change. */
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

const TITLES: Readonly<Record<AgentTab, string>> = {
  transcript: 'Transcript',
  timeline: 'Timeline',
  diff: 'Diff',
  'diff-split': 'Diff, side by side',
  runs: 'Runs',
  events: 'Webhook events',
}

interface AgentTabsProps {
  readonly agent: LiveAgent
  readonly stream: AgentStream
  /** Puts a message into the box for follow-ups. Undefined for who may not write. */
  readonly askAgain: ((message: string) => void) | undefined
}

function AgentTabs({ agent, stream, askAgain }: AgentTabsProps) {
  const tab = tabIn(route.useSearch().tab)
  const navigate = route.useNavigate()
  const show = (next: AgentTab) =>
    void navigate({ search: next === 'transcript' ? {} : { tab: next }, resetScroll: false })
  const files = stream.work.runs.findLast(({ diff }) => diff !== undefined)?.diff?.files
  const isDiff = tab === 'diff' || tab === 'diff-split'
  return (
    <Tabs
      label="Views of this agent"
      value={isDiff ? 'diff' : tab}
      onChange={show}
      items={[
        { value: 'transcript', label: 'Transcript' },
        { value: 'timeline', label: 'Timeline' },
        { value: 'diff', label: 'Diff', count: files },
        { value: 'runs', label: 'Runs', count: agent.runs },
        { value: 'events', label: 'Events' },
      ]}
    >
      <h2 className="sr-only">{TITLES[tab]}</h2>
      {tab === 'transcript' && <Transcript agent={agent} stream={stream} askAgain={askAgain} />}
      {tab === 'timeline' && <Timeline work={stream.work} />}
      {isDiff && (
        <DiffTab
          agent={agent}
          isSplit={tab === 'diff-split'}
          onSplit={(split) => show(split ? 'diff-split' : 'diff')}
        />
      )}
      {tab === 'runs' && <RunsTab agent={agent} />}
      {tab === 'events' && <EventsTab agent={agent} />}
    </Tabs>
  )
}

interface FailureNoticeProps {
  readonly error: RunFailure
  /** Puts what it was asked into the box for follow-ups. */
  readonly onRetry: (() => void) | undefined
}

/** Why the last run failed, and what can be done. */
function FailureNotice({ error: { code, message }, onRetry }: FailureNoticeProps) {
  const { title, help, link } = helpFor(code)
  return (
    <section
      aria-label="Why it failed"
      className="flex flex-wrap items-start gap-x-3 gap-y-2 rounded-xl border border-line bg-bad-soft px-4 py-3"
    >
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium text-ink">
          {title} <code className="ml-1 font-mono text-xs font-normal text-soft">{code}</code>
        </p>
        {message !== '' && (
          <p dir="auto" className="mt-0.5 break-words whitespace-pre-wrap text-ink">
            {visibleText(message)}
          </p>
        )}
        {help !== undefined && <p className="mt-0.5 text-soft">{help}</p>}
      </div>
      {onRetry && (
        <Button size="sm" icon={RotateCcw} onClick={onRetry}>
          Try again
        </Button>
      )}
      {link !== undefined && (
        <LinkButton to={link.to} size="sm">
          {link.label}
        </LinkButton>
      )}
    </section>
  )
}
