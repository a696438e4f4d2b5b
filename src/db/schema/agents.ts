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
  /** The base of the work; null for the repository's default branch. */
  base_branch: string | null
  model: string
  summary: string | null
  error_code: RunError | null
  error_message: string | null
  /** The key, device or user that created it, to which usage is attributed. */
  key_id: KeyId
  /** JSON: identifies the creator's rights, see `features/agents`. */
  creator: string
  runs: number
  messages: number
  /** The number of the last row of `agent_event`. */
  events: number
  created_at: number
  started_at: number | null
  ended_at: number | null
  /** The team whose limits apply to its runs; null for the account. */
  team_id: Generated<TeamId | null>
  /** The pull request that was opened last for its branch. */
  pull_request_url: Generated<string | null>
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
  /** Fencing token: the start of the job that may write the row. */
  attempt: number
  phase: 'cloning' | 'working' | 'committing' | 'pushing' | null
  /** The commit of the run on its branch, and whether it was pushed. */
  commit_id: string | null
  pushed: 0 | 1
  cancel_requested_at: number | null
  /** The last heartbeat. */
  seen_at: number | null
  created_at: number
  started_at: number | null
  ended_at: number | null
}

/** The messages of the conversation. */
export interface AgentMessageTable {
  account_id: AccountId
  agent_id: AgentId
  /** From 1, in its agent. */
  number: number
  run_id: RunId
  /** `summary`: replaces all earlier messages in the model's context. */
  kind: 'user' | 'assistant' | 'tool' | 'summary'
  /** JSON: the message as the model receives it. */
  content: string
  /** The author of a user message, see `creatorColumns`; null for other messages and rows older than the column. */
  author: string | null
  created_at: number
}

/** Progress events of an agent. */
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

/** Artifacts of a run. */
export interface RunArtifactTable {
  account_id: AccountId
  agent_id: AgentId
  run_id: RunId
  /** `diff`: against the base. `bundle`: the branch, for follow-ups on another machine. */
  kind: 'diff' | 'bundle'
  content: Uint8Array
  truncated: 0 | 1
  created_at: number
}
