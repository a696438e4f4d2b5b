import { Link } from '@tanstack/react-router'
import { GitBranch, Radio, RefreshCw } from 'lucide-react'
import type { ReactNode } from 'react'
import { plural } from '../../lib/format.ts'
import { visibleName } from '../../lib/visible-text.ts'
import { ExternalLink } from '../../ui/app-link.tsx'
import { CopyableText } from '../../ui/copy.tsx'
import { AgentStatus, StatusChip } from '../../ui/status.tsx'
import { Dash, Ms, Time, Tokens, Usd } from '../../ui/values.tsx'
import type { Connection } from './agent-stream.ts'
import type { LiveAgent } from './queries.ts'
import { durationOf, useSecond } from './use-second.ts'
import { type AgentWork, isEnded } from './work.ts'

export interface AgentFactsProps {
  readonly agent: LiveAgent
  readonly work: AgentWork
  readonly connection: Connection
}

export function AgentFacts({ agent, work, connection }: AgentFactsProps) {
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <AgentStatus status={agent.status} />
        <LiveMark connection={connection} status={agent.status} />
        <span className="min-w-0 break-words text-ink">
          {visibleName(agent.repository)}
          {agent.base_branch !== null && <span className="text-soft"> from {visibleName(agent.base_branch)}</span>}
        </span>
        <span className="inline-flex max-w-full min-w-0 items-center gap-1 text-soft">
          <GitBranch aria-hidden className="size-4 shrink-0" />
          <CopyableText text={agent.branch} label={`Copy branch ${agent.branch}`}>
            <span className="font-mono text-sm break-all">{agent.branch}</span>
          </CopyableText>
          {agent.branch_url !== null && (
            <ExternalLink href={agent.branch_url} className="text-sm">
              on {URL.parse(agent.branch_url)?.host}
            </ExternalLink>
          )}
        </span>
      </div>
      <Facts agent={agent} work={work} />
    </div>
  )
}

function LiveMark({ connection, status }: { readonly connection: Connection; readonly status: string }) {
  if (connection === 'reconnecting') {
    return (
      <StatusChip tone="warn" icon={RefreshCw}>
        Reconnecting
      </StatusChip>
    )
  }
  if (connection !== 'live' || isEnded(status)) return null
  return (
    <StatusChip tone="good" icon={Radio}>
      Live
    </StatusChip>
  )
}

function Facts({ agent, work }: Omit<AgentFactsProps, 'connection'>) {
  const isRunning = agent.status === 'running'
  const now = useSecond(isRunning)
  const isLive = !isEnded(agent.status)
  // while it works, its events know more than what was asked for when the page was opened
  const cost = isLive ? Math.max(agent.usage.cost_usd, work.costUsd) : agent.usage.cost_usd
  const tokens = isLive ? Math.max(agent.usage.tokens, work.tokens) : agent.usage.tokens
  return (
    <dl className="flex flex-wrap gap-x-10 gap-y-3 rounded-xl border border-line bg-surface px-4 py-3">
      <Fact label="Model">{visibleName(agent.model)}</Fact>
      <Fact label="Cost">
        <Link to="/requests" search={{ agent_id: agent.id }} className="text-accent underline">
          <Usd value={cost} exact />
          <span className="sr-only">, see its requests</span>
        </Link>
      </Fact>
      <Fact label="Tokens">
        <Tokens value={tokens} />
      </Fact>
      <Fact label={isRunning ? 'Running for' : 'Duration'}>
        <Ms value={durationOf(agent, now)} />
        {agent.runs > 1 && <span className="text-soft"> in the last of {plural(agent.runs, 'run')}</span>}
      </Fact>
      <Fact label="Created">
        <Time iso={agent.created_at} relative />
      </Fact>
      <Fact label="Created by">{agent.created_by.name === null ? <Dash /> : visibleName(agent.created_by.name)}</Fact>
    </dl>
  )
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div className="max-w-full min-w-24">
      <dt className="text-xs text-soft">{label}</dt>
      <dd className="mt-0.5 wrap-anywhere text-ink">{children}</dd>
    </div>
  )
}
