/** Wire format of agents and their runs. */
import { type Static, Type } from 'typebox'
import { AGENT_STATUSES, type AgentStatus, branchOf, RUN_ERRORS, type RunError } from '../../domain/agent.ts'
import type { TeamId } from '../../domain/ids.ts'
import { usdNumber } from '../../domain/money.ts'
import { closed, nullable, textOrNull } from '../../http/wire-fields.ts'
import { isoTime, isoTimeOrNull } from '../../lib/time.ts'
import { branchPage } from '../../runner/git/repository-host.ts'
import { DISABLED_REASONS, disabledReason, type RepositoryAccess } from './pull-request.ts'
import { type Agent, type Run, readCreator } from './store.ts'

export const MAX_NAME_LENGTH = 100
export const MAX_PROMPT_LENGTH = 100_000
export const MAX_COST_USD = 1_000_000
export const MAX_STEPS = 500

const optional = <Value>(schema: { readonly type: string } & Record<string, unknown>) =>
  Type.Optional(Type.Unsafe<Value | null>({ ...schema, type: [schema.type, 'null'] }))
const Time = Type.String({ description: 'ISO 8601 UTC.' })
const Status = Type.Unsafe<AgentStatus>({ type: 'string', enum: [...AGENT_STATUSES] })

/** Without control characters, because terminals and pages show names. */
const Name = Type.String({
  minLength: 1,
  maxLength: MAX_NAME_LENGTH,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  description: 'Display name.',
})
const Prompt = Type.String({
  minLength: 1,
  maxLength: MAX_PROMPT_LENGTH,
  pattern: '^[^\\u0000]*$',
  description: 'Task of the agent.',
})

const NAME = '[A-Za-z0-9_][A-Za-z0-9_-]*(?:\\.[A-Za-z0-9_-]+)*'
/** `parseRepository` also refuses what ends in `.git`. */
const RepositoryName = Type.String({
  maxLength: 201,
  pattern: `^${NAME}/${NAME}$`,
  description: '`organisation/repository`',
  examples: ['example/website'],
})

export const AgentCreate = closed({
  name: Name,
  repository: RepositoryName,
  prompt: Prompt,
  model: optional<string>({
    type: 'string',
    minLength: 1,
    maxLength: 200,
    description: 'Default: the operator’s choice.',
  }),
  team_id: optional<TeamId>({
    type: 'string',
    maxLength: 64,
    description: 'Team that it belongs to, whose limits its runs have. Default: that of the key, or none.',
  }),
  branch: optional<string>({
    type: 'string',
    minLength: 1,
    maxLength: 200,
    examples: ['main'],
    description: 'Base branch. Default: the repository’s default branch.',
  }),
  max_cost_usd: optional<number>({
    type: 'number',
    minimum: 1e-9,
    maximum: MAX_COST_USD,
    description: 'Cost limit of a run in USD, at most 9 decimals.',
  }),
  max_steps: optional<number>({
    type: 'integer',
    minimum: 1,
    maximum: MAX_STEPS,
    description: 'Limit of model calls in a run. Default: 100.',
  }),
})
export type AgentBody = Static<typeof AgentCreate>
export const FollowUp = closed({ prompt: Prompt })

export const AgentQuery = {
  status: Type.Optional(Status),
  repository: Type.Optional(RepositoryName),
}

const ErrorView = Type.Unsafe<{ code: RunError; message: string } | null>({
  type: ['object', 'null'],
  properties: { code: { type: 'string', enum: Object.keys(RUN_ERRORS) }, message: { type: 'string' } },
  required: ['code', 'message'],
  description: 'Reason of the failure.',
})
const Tokens = Type.Integer({ description: 'Prompt and completion tokens.' })
const Cost = Type.Number({ description: 'USD, at most 9 decimals.' })

const AGENT = {
  id: Type.String(),
  object: Type.Literal('agent'),
  name: Type.String(),
  status: Status,
  repository: Type.String(),
  model: Type.String(),
  base_branch: textOrNull('Base branch. Null: the repository’s default branch.'),
  team_id: textOrNull('Team that it belongs to. Null: the account.'),
  branch: Type.String({ description: 'Branch that the agent works on and pushes.' }),
  summary: textOrNull('Summary of the last completed run, by the model.'),
  error: ErrorView,
  usage: Type.Object({ tokens: Tokens, cost_usd: Cost }, { description: 'Usage of all runs.' }),
  runs: Type.Integer({ description: 'Number of runs, including the queued or running one.' }),
  created_at: Time,
  started_at: textOrNull('Start of the last run.'),
  ended_at: textOrNull('End of the last run.'),
}
/** The shape in webhooks, whose receivers get no data of users. */
const AgentData = Type.Object(AGENT)

const CREATOR = {
  type: Type.Unsafe<'key' | 'device' | 'member'>({ type: 'string', enum: ['key', 'device', 'member'] }),
  id: Type.String(),
  name: textOrNull('Name of the key, or e-mail address of the person. Null: deleted.'),
}

export const AgentView = Type.Object({
  ...AGENT,
  created_by: Type.Object(CREATOR, {
    description: 'Creator of the last run, whose rights and budget it uses.',
  }),
  asked_by: Type.Object(CREATOR, { description: 'Use `created_by`, which has the same value.', deprecated: true }),
  branch_url: textOrNull('Page of the branch at GitHub or GitLab. Null: not pushed, or another host.'),
  pull_request_url: textOrNull('Page of the pull request that was opened last.'),
  pull_request_disabled_reason: Type.Unsafe<ReturnType<typeof disabledReason> | null>({
    type: ['string', 'null'],
    enum: [...DISABLED_REASONS, null],
    description: 'Why no pull request can be opened. Null: one can.',
  }),
})

export const RunView = Type.Object({
  id: Type.String(),
  object: Type.Literal('run'),
  agent_id: Type.String(),
  number: Type.Integer({ description: 'Number within the agent, from 1.' }),
  status: Status,
  phase: nullable<Run['phase']>('string', 'Phase of a running run: cloning, working, committing or pushing.'),
  summary: textOrNull('Summary of the run, by the model.'),
  error: ErrorView,
  usage: Type.Object({
    prompt_tokens: Type.Integer(),
    completion_tokens: Type.Integer(),
    tokens: Tokens,
    cost_usd: Cost,
  }),
  steps: Type.Integer({ description: 'Number of model calls.' }),
  max_steps: nullable<number>('integer', 'Null: 100.'),
  max_cost_usd: nullable<number>('number', 'Null: only the limits of the account.'),
  commit: textOrNull('Commit of the run on the branch.'),
  pushed: Type.Boolean({ description: 'Whether this commit was pushed.' }),
  cancel_requested_at: textOrNull('ISO 8601 UTC.'),
  created_at: Time,
  started_at: textOrNull('ISO 8601 UTC.'),
  ended_at: textOrNull('ISO 8601 UTC.'),
})

export function renderAgent(agent: Agent, access: RepositoryAccess): Static<typeof AgentView> {
  const { kind, keyId } = readCreator(agent)
  const creator = { type: CREATOR_TYPES[kind], id: keyId, name: agent.creator_name }
  return {
    ...renderAgentData(agent),
    created_by: creator,
    asked_by: creator,
    branch_url: access.host && agent.pushed === 1 ? branchPage(access.host, branchOf(agent.id)) : null,
    pull_request_url: agent.pull_request_url,
    pull_request_disabled_reason: disabledReason(agent, access) ?? null,
  }
}

const CREATOR_TYPES = { key: 'key', token: 'device', session: 'member' } as const

export function renderAgentData(agent: Agent): Static<typeof AgentData> {
  return {
    id: agent.id,
    object: 'agent',
    name: agent.name,
    status: agent.status,
    repository: agent.repository,
    model: agent.model,
    base_branch: agent.base_branch,
    team_id: agent.team_id,
    branch: branchOf(agent.id),
    summary: agent.summary,
    error: renderError(agent),
    usage: { tokens: agent.tokens, cost_usd: usdNumber(agent.cost_nano_usd) },
    runs: agent.runs,
    created_at: isoTime(agent.created_at),
    started_at: isoTimeOrNull(agent.started_at),
    ended_at: isoTimeOrNull(agent.ended_at),
  }
}

export function renderRun(run: Run): Static<typeof RunView> {
  return {
    id: run.id,
    object: 'run',
    agent_id: run.agent_id,
    number: run.number,
    status: run.status,
    phase: run.phase,
    summary: run.summary,
    error: renderError(run),
    usage: {
      prompt_tokens: run.prompt_tokens,
      completion_tokens: run.completion_tokens,
      tokens: run.prompt_tokens + run.completion_tokens,
      cost_usd: usdNumber(run.cost_nano_usd),
    },
    steps: run.steps,
    max_steps: run.max_steps,
    max_cost_usd: run.max_cost_nano_usd === null ? null : usdNumber(run.max_cost_nano_usd),
    commit: run.commit_id,
    pushed: run.pushed === 1,
    cancel_requested_at: isoTimeOrNull(run.cancel_requested_at),
    created_at: isoTime(run.created_at),
    started_at: isoTimeOrNull(run.started_at),
    ended_at: isoTimeOrNull(run.ended_at),
  }
}

function renderError({ error_code: code, error_message: message }: Pick<Run, 'error_code' | 'error_message'>) {
  return code === null ? null : { code, message: message ?? '' }
}
