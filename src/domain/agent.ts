/**
 * The states and transitions of agents and runs. An agent is the conversation about a repository; a run is one
 * execution, billed separately. The status of an agent is that of its last run. `docs/agents.md` and tests are derived
 * from the tables.
 */
import type { AgentId, RunId } from './ids.ts'

export const AGENT_STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const
export type AgentStatus = (typeof AGENT_STATUSES)[number]

interface Transition {
  readonly from: AgentStatus
  readonly to: AgentStatus
  /** The cause in words. */
  readonly when: string
  /** The webhook event that reports the transition. */
  readonly event: 'agent.started' | 'agent.completed' | 'agent.failed' | 'agent.cancelled' | undefined
}

export const TRANSITIONS: readonly Transition[] = [
  { from: 'queued', to: 'running', when: 'a worker starts the run', event: 'agent.started' },
  { from: 'queued', to: 'failed', when: 'it could not start, or not in time', event: 'agent.failed' },
  { from: 'queued', to: 'cancelled', when: 'it is cancelled before it has started', event: 'agent.cancelled' },
  { from: 'running', to: 'completed', when: 'the model reports that it is done', event: 'agent.completed' },
  { from: 'running', to: 'failed', when: 'it cannot continue; `error` has the reason', event: 'agent.failed' },
  { from: 'running', to: 'cancelled', when: 'it is cancelled', event: 'agent.cancelled' },
  { from: 'completed', to: 'queued', when: 'a follow-up arrives', event: undefined },
  { from: 'failed', to: 'queued', when: 'a follow-up arrives', event: undefined },
  { from: 'cancelled', to: 'queued', when: 'a follow-up arrives', event: undefined },
]

export function transition(from: AgentStatus, to: AgentStatus): Transition | undefined {
  return TRANSITIONS.find((each) => each.from === from && each.to === to)
}

/** Returns whether the last run has ended. */
export function isEnded(status: AgentStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** The reasons of failed runs: `error.code` of agents and runs. */
export const RUN_ERRORS = {
  start_timeout: 'No worker started it in time.',
  agents_unavailable: 'The worker has no working sandbox.',
  repository_unavailable: 'The repository or the branch could not be fetched.',
  repository_too_large: 'The repository exceeds the size limit.',
  model_unavailable: 'The model does not exist, or is not allowed.',
  insufficient_credit: 'No credit or budget left.',
  rate_limited: 'The account’s rate limit stopped it.',
  provider_error: 'The model’s provider failed repeatedly.',
  max_cost: 'It reached `max_cost_usd`.',
  max_steps: 'It reached `max_steps`.',
  run_timeout: 'The run reached its time limit.',
  stalled: 'The run made no progress.',
  workspace_too_large: 'The workspace exceeds the size limit.',
  push_failed: 'The branch could not be pushed.',
  worker_lost: 'The worker stopped during the run.',
  internal_error: 'Internal error in Turnpike.',
} as const
export type RunError = keyof typeof RUN_ERRORS

/** Events of `GET /v1/agents/{id}/events`, in order. */
export const AGENT_EVENT_TYPES = [
  /** `{status, error?}`: of the agent's last run. */
  'status',
  /** `{phase}`: cloning, working, committing, pushing. */
  'phase',
  /** `{role, content}`: a message of the user or the model. */
  'message',
  /** `{call_id, name, arguments}`: the model calls a tool. */
  'tool_call',
  /** `{call_id, name, output, exit_code?, truncated}` */
  'tool_result',
  /** `{completion_id, tokens, cost_usd, total_cost_usd}`: a call of the model was charged. */
  'usage',
  /** `{files, insertions, deletions}`: the changes of the run. */
  'diff',
] as const
export type AgentEventKind = (typeof AGENT_EVENT_TYPES)[number]

/**
 * Returns the `client_request_id` of a run's model calls, which attributes hold, spool record and completion to the
 * run. Client request IDs have no slash, so no client can send it.
 */
export function agentReference(agentId: AgentId, runId: RunId): string {
  return `${agentId}/${runId}`
}

/** Parses a reference. Undefined for an ID of a client. */
export function readAgentReference(text: string): { readonly agentId: AgentId; readonly runId: RunId } | undefined {
  const [, agentId, runId] = /^(agt_[0-9A-Za-z]+)\/(run_[0-9A-Za-z]+)$/.exec(text) ?? []
  if (agentId === undefined || runId === undefined) return undefined
  return { agentId: agentId as AgentId, runId: runId as RunId } // only `agentReference` writes it
}

/** The branch of an agent. */
export function branchOf(agentId: string): string {
  return `turnpike/${agentId}`
}
