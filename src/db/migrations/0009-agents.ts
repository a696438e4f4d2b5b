import { AGENT_EVENT_TYPES, AGENT_STATUSES } from '../../domain/agent.ts'
import { oneOf } from './one-of.ts'
import type { MigrationStatement } from './statement.ts'

const agent = `create table agent (
  account_id text not null references account (id),
  id text not null check (id <> ''),
  name text not null,
  status text not null check (${oneOf('status', AGENT_STATUSES)}),
  repository text not null check (repository <> ''),
  base_branch text,
  model text not null,
  summary text,
  error_code text,
  error_message text,
  key_id text not null,
  creator text not null check (json_valid(creator)),
  runs integer not null check (runs > 0),
  messages integer not null check (messages > 0),
  events integer not null check (events >= 0),
  created_at integer not null check (created_at >= 0),
  started_at integer check (started_at >= 0),
  ended_at integer check (ended_at >= 0),
  primary key (account_id, id),
  check ((error_code is null) = (error_message is null))
) strict, without rowid`

const run = `create table run (
  account_id text not null check (account_id <> ''),
  agent_id text not null check (agent_id <> ''),
  id text not null check (id <> ''),
  number integer not null check (number > 0),
  status text not null check (${oneOf('status', AGENT_STATUSES)}),
  error_code text,
  error_message text,
  summary text,
  max_cost_nano_usd integer check (max_cost_nano_usd > 0),
  max_steps integer check (max_steps > 0),
  steps integer not null check (steps >= 0),
  prompt_tokens integer not null check (prompt_tokens >= 0),
  completion_tokens integer not null check (completion_tokens >= 0),
  cost_nano_usd integer not null check (cost_nano_usd >= 0),
  attempt integer not null check (attempt >= 0),
  phase text check (${oneOf('phase', ['cloning', 'working', 'committing', 'pushing'])}),
  commit_id text,
  pushed integer not null check (pushed in (0, 1)),
  cancel_requested_at integer check (cancel_requested_at >= 0),
  seen_at integer check (seen_at >= 0),
  created_at integer not null check (created_at >= 0),
  started_at integer check (started_at >= 0),
  ended_at integer check (ended_at >= 0),
  primary key (account_id, agent_id, id),
  unique (account_id, agent_id, number)
) strict, without rowid`

const message = `create table agent_message (
  account_id text not null check (account_id <> ''),
  agent_id text not null check (agent_id <> ''),
  number integer not null check (number > 0),
  run_id text not null check (run_id <> ''),
  kind text not null check (${oneOf('kind', ['user', 'assistant', 'tool', 'summary'])}),
  content text not null check (json_valid(content)),
  created_at integer not null check (created_at >= 0),
  primary key (account_id, agent_id, number)
) strict, without rowid`

const event = `create table agent_event (
  account_id text not null check (account_id <> ''),
  agent_id text not null check (agent_id <> ''),
  sequence integer not null check (sequence > 0),
  run_id text not null check (run_id <> ''),
  type text not null check (${oneOf('type', AGENT_EVENT_TYPES)}),
  data text not null check (json_valid(data)),
  created_at integer not null check (created_at >= 0),
  primary key (account_id, agent_id, sequence)
) strict, without rowid`

const artifact = `create table run_artifact (
  account_id text not null check (account_id <> ''),
  agent_id text not null check (agent_id <> ''),
  run_id text not null check (run_id <> ''),
  kind text not null check (kind in ('diff', 'bundle')),
  content blob not null,
  truncated integer not null check (truncated in (0, 1)),
  created_at integer not null check (created_at >= 0),
  primary key (account_id, agent_id, run_id, kind)
) strict, without rowid`

export const agents: readonly MigrationStatement[] = [
  agent,
  'create index agent_status on agent (account_id, status, id)',
  run,
  "create index run_open on run (status, created_at) where status in ('queued', 'running')",
  message,
  event,
  artifact,
  // The calls of agents: see `agentReference` in domain/agent.ts.
  `create index completion_agent on completion (account_id, client_request_id, id)
    where client_request_id >= 'agt_' and client_request_id < 'agt\`'`,
]
