import { getRouteApi } from '@tanstack/react-router'
import { Tabs } from '../../ui/choices.tsx'
import { DiffTab } from './diff-tab.tsx'
import { EventsTab } from './events-tab.tsx'
import type { LiveAgent } from './queries.ts'
import { RunsTab } from './runs-tab.tsx'
import { type AgentTab, tabIn } from './search.ts'
import { Timeline } from './timeline.tsx'
import { Transcript } from './transcript.tsx'
import type { AgentStream } from './use-agent-events.ts'

const route = getRouteApi('/agents/$agentId')

const TITLES: Readonly<Record<AgentTab, string>> = {
  transcript: 'Transcript',
  timeline: 'Timeline',
  diff: 'Diff',
  'diff-split': 'Diff, side by side',
  runs: 'Runs',
  events: 'Webhook events',
}

export interface AgentTabsProps {
  readonly agent: LiveAgent
  readonly stream: AgentStream
  /** Puts a message into the box for follow-ups. Undefined for who may not write. */
  readonly askAgain: ((message: string) => void) | undefined
}

export function AgentTabs({ agent, stream, askAgain }: AgentTabsProps) {
  const tab = tabIn(route.useSearch().tab)
  const navigate = route.useNavigate()
  const show = (next: AgentTab) =>
    void navigate({ search: next === 'transcript' ? {} : { tab: next }, resetScroll: false })
  const files = stream.work.runs.findLast(({ diff }) => diff !== undefined)?.diff?.files
  const isDiff = tab === 'diff' || tab === 'diff-split'
  return (
    <Tabs
      label="What to see of this agent"
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
