/** The tables of agents, as queries see them; conventions as in `schema.ts`. */
import type { Generated } from 'kysely'
import type { AgentEventKind, AgentStatus, RunError } from '../../domain/agent.ts'
import type { AccountId, AgentId, KeyId, RunId, TeamId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'

/** A conversation about a repository. Its status is that of its last run. */
export interface AgentTable {
  account_id: AccountId
  id: AgentId
  name: string
  status: AgentStatus
  /** `organisation/repository` */
  repository: string
  /** What the work starts from; null: the repository's default branch. */
  base_branch: string | null
  model: string
  summary: string | null
  error_code: RunError | null
  error_message: string | null
  /** What usage is booked on: key, device or person that created it. */
  key_id: KeyId
  /** JSON: how the creator's rights are found again, see `features/agents`. */
  creator: string
  runs: number
  messages: number
  /** The number of the last row of `agent_event`. */
  events: number
  created_at: number
  started_at: number | null
  ended_at: number | null
  /** Whose limits its runs have; null: the account. */
  team_id: Generated<TeamId | null>
}

/** One execution. */
export interface RunTable {
  account_id: AccountId
  agent_id: AgentId
  id: RunId
  /** From 1, in its agent. */
  number: number
  status: AgentStatus
  error_code: RunError | null
  error_message: string | null
  summary: string | null
  max_cost_nano_usd: NanoUsd | null
  max_steps: number | null
  steps: number
  prompt_tokens: number
  completion_tokens: number
  cost_nano_usd: NanoUsd
  /** The start of the job that may write it: a later start fences an earlier one out. */
  attempt: number
  phase: 'cloning' | 'working' | 'committing' | 'pushing' | null
  /** The commit on the branch that the run left, and whether it was pushed. */
  commit_id: string | null
  pushed: 0 | 1
  cancel_requested_at: number | null
  /** The last sign of progress. */
  seen_at: number | null
  created_at: number
  started_at: number | null
  ended_at: number | null
}

/** The conversation, whole. */
export interface AgentMessageTable {
  account_id: AccountId
  agent_id: AgentId
  /** From 1, in its agent. */
  number: number
  run_id: RunId
  /** `summary`: stands for all messages before it when the model is asked. */
  kind: 'user' | 'assistant' | 'tool' | 'summary'
  /** JSON: the message as the model is given it. */
  content: string
  /** Of a person's message, its author, see `creatorColumns`; null: not a person's, or older than the column. */
  author: string | null
  created_at: number
}

/** What is told while it runs. */
export interface AgentEventTable {
  account_id: AccountId
  agent_id: AgentId
  /** From 1, in its agent, without gaps. */
  sequence: number
  run_id: RunId
  type: AgentEventKind
  /** JSON. */
  data: string
  created_at: number
}

/** What a run left behind. */
export interface RunArtifactTable {
  account_id: AccountId
  agent_id: AgentId
  run_id: RunId
  /** `diff`: against the base; `bundle`: the branch, for follow-ups on another machine. */
  kind: 'diff' | 'bundle'
  content: Uint8Array
  truncated: 0 | 1
  created_at: number
}
