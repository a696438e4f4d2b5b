/**
 * The life cycle of agents: creation, follow-ups, cancellation, deletion, and the transitions between statuses. A
 * transition writes agent, run, event and webhook in one transaction.
 */
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { type AgentStatus, isEnded, type RunError, transition } from '../../domain/agent.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, IdSource, RunId } from '../../domain/ids.ts'
import { BATCH_ROWS, type Dependants, deleteDependants, dependantsJob } from '../../jobs/batched-deletion.ts'
import type { JobKind } from '../../jobs/job.ts'
import { enqueue } from '../../jobs/queue.ts'
import type { RecordEvent } from '../deps.ts'
import { type AgentOrder, assertMayJoin } from './rules.ts'
import { renderAgentData } from './shapes.ts'
import {
  type Agent,
  type AgentReference,
  type Creator,
  countOpenAgents,
  creatorColumns,
  creatorOf,
  lastRunOf,
  lockAgent,
  type Run,
  readCreator,
  requireAgent,
  runReference,
  updateRun,
} from './store.ts'
import { areUnanswered, insertEvents, insertMessages, type NewAgentEvent, takeNumbers } from './transcript.ts'

export const RUN_JOB = 'agents.run'
/** Queued and running agents of an account. */
const MAX_OPEN_AGENTS = 1_000
/** Messages of users in a row without an answer. */
const MAX_UNANSWERED = 100
const RETRY_AFTER_MS = 30_000

/** What a job of the kind `RUN_JOB` carries. Its name is the run's id. */
export interface RunJob extends AgentReference {
  readonly runId: RunId
}

export interface BeginDeps extends TransitionDeps {
  readonly ids: Pick<IdSource, 'run' | 'job'>
}

/** The caller of a request, and its IP address. */
export interface Asker {
  readonly caller: Caller
  readonly address: string
}

export interface NewAgent extends AgentReference {
  readonly order: AgentOrder & { readonly model: string }
  readonly asker: Asker
}

export async function createAgent(
  inside: Transaction<Database>,
  { order, asker, ...reference }: NewAgent,
  { now, ids }: BeginDeps,
): Promise<Agent> {
  const { accountId, agentId } = reference
  await assertRoom(inside, accountId)
  const [runId, time] = [ids.run(), now()]
  const creator = creatorOf(asker.caller, asker.address)
  const events = [QUEUED, userEvent(order.prompt)]
  const row = {
    account_id: accountId,
    id: agentId,
    name: order.name,
    status: 'queued' as const,
    repository: order.repository,
    base_branch: order.baseBranch ?? null,
    model: order.model,
    ...creatorColumns(creator),
    team_id: creator.teamId ?? null,
    runs: 1,
    messages: 1,
    events: events.length,
    created_at: time,
  }
  await inside.insertInto('agent').values(row).execute()
  const limits = { max_cost_nano_usd: order.maxCostNanoUsd ?? null, max_steps: order.maxSteps ?? null }
  await insertRun(inside, reference, { runId, number: 1, time, limits })
  const numbering = { runId, first: 1, now: time }
  await insertMessages(inside, reference, { ...numbering, messages: [userMessage(order.prompt)], author: creator })
  await insertEvents(inside, reference, { ...numbering, events })
  await enqueueRun(inside, { ...reference, runId }, ids)
  return requireAgent(inside, reference)
}

export interface FollowUpAsk extends AgentReference {
  readonly prompt: string
  readonly asker: Asker
  /** Throws unless the asker may use the agent's model. */
  readonly mayBegin: (agent: Agent) => void
  /** Reads the current rights of the run's creator; rejects with `GatewayError` when the creator was deleted. */
  readonly callerOf: CallerOfCreator
}

export type CallerOfCreator = (db: Kysely<Database>, accountId: AccountId, creator: Creator) => Promise<Caller>

/**
 * Starts another run of an agent that has ended, with the asker's rights. A queued or running agent reads the message at
 * its next step, with the rights of that run: the asker must have those rights too.
 */
export async function followUp(
  inside: Transaction<Database>,
  { prompt, asker, mayBegin, callerOf, ...reference }: FollowUpAsk,
  deps: BeginDeps,
): Promise<Agent> {
  const agent = await lockedAgent(inside, reference)
  const author = creatorOf(asker.caller, asker.address)
  mayBegin(agent)
  if (!isEnded(agent.status)) {
    assertMayJoin(asker.caller, await callerOf(inside, agent.account_id, readCreator(agent)))
    if (await areUnanswered(inside, reference, MAX_UNANSWERED)) throw tooManyFollowUps()
    const { id: runId } = await lastRunOf(inside, agent)
    await addUserMessage(inside, reference, { runId, prompt, author, now: deps.now() })
    return requireAgent(inside, reference)
  }
  await assertRoom(inside, agent.account_id)
  const before = await lastRunOf(inside, agent)
  const runId = await queueRun(inside, { agent, before, creator: creatorColumns(author) }, deps)
  await addUserMessage(inside, reference, { runId, prompt, author, now: deps.now() })
  return requireAgent(inside, reference)
}

/** Queues another run of an agent that has ended, with the limits of the run before. The caller holds the agent's lock. */
export async function queueRun(
  inside: Transaction<Database>,
  { agent, before, creator }: Pick<Change, 'agent' | 'creator'> & { readonly before: Run },
  deps: BeginDeps,
): Promise<RunId> {
  const reference = { accountId: agent.account_id, agentId: agent.id }
  const runId = deps.ids.run()
  const { max_cost_nano_usd, max_steps } = before
  const limits = { max_cost_nano_usd, max_steps }
  const run = await insertRun(inside, reference, { runId, number: before.number + 1, time: deps.now(), limits })
  await moveAgent(inside, { agent, run, to: 'queued', creator }, deps)
  await enqueueRun(inside, { ...reference, runId }, deps.ids)
  return runId
}

async function insertRun(
  inside: Transaction<Database>,
  { accountId, agentId }: AgentReference,
  run: { runId: RunId; number: number; time: number; limits: Pick<Run, 'max_cost_nano_usd' | 'max_steps'> },
): Promise<Run> {
  const usage = { steps: 0, prompt_tokens: 0, completion_tokens: 0, cost_nano_usd: 0n }
  const key = { account_id: accountId, agent_id: agentId, id: run.runId, number: run.number }
  return inside
    .insertInto('run')
    .values({ ...key, ...usage, ...run.limits, attempt: 0, pushed: 0, status: 'queued', created_at: run.time })
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function addUserMessage(
  inside: Transaction<Database>,
  reference: AgentReference,
  { runId, prompt, author, now }: { runId: RunId; prompt: string; author: Creator; now: number },
): Promise<void> {
  const { message, event } = await takeNumbers(inside, reference, { messages: 1, events: 1 })
  await insertMessages(inside, reference, { messages: [userMessage(prompt)], author, runId, first: message, now })
  await insertEvents(inside, reference, { events: [userEvent(prompt)], runId, first: event, now })
}

async function enqueueRun(inside: Transaction<Database>, job: RunJob, ids: BeginDeps['ids']): Promise<void> {
  await enqueue(inside, { kind: RUN_JOB, name: job.runId, payload: job, lane: job.accountId }, ids)
}

const QUEUED: NewAgentEvent = { type: 'status', data: { status: 'queued' } }

function userMessage(prompt: string) {
  return { kind: 'user', message: { role: 'user', content: prompt } } as const
}

function userEvent(prompt: string): NewAgentEvent {
  return { type: 'message', data: { role: 'user', content: prompt } }
}

/** Throws 429 when the account has too many queued and running agents. */
async function assertRoom(inside: Transaction<Database>, accountId: AccountId): Promise<void> {
  if ((await countOpenAgents(inside, accountId, MAX_OPEN_AGENTS)) < MAX_OPEN_AGENTS) return
  const message = `At most ${MAX_OPEN_AGENTS} agents of an account may wait or run; wait until some have ended.`
  throw new GatewayError('rate_limit_exceeded', message, { retryAfterMs: RETRY_AFTER_MS })
}

function tooManyFollowUps(): GatewayError {
  const message = `The last ${MAX_UNANSWERED} messages to this agent are not answered yet; wait until it has read them.`
  return new GatewayError('conflict', message)
}

export interface TransitionDeps {
  /** Unix milliseconds. */
  readonly now: () => number
  readonly recordEvent: RecordEvent
}

interface Change {
  readonly agent: Agent
  /** The agent's last run; when `to` is `queued`, the new run, which is already inserted. */
  readonly run: Run
  readonly to: AgentStatus
  readonly error?: { readonly code: RunError; readonly message: string } | undefined
  readonly summary?: string | undefined
  /** The creator of the new run. */
  readonly creator?: Pick<Agent, 'key_id' | 'creator'> | undefined
}

/**
 * The caller holds the agent's lock (`lockAgent`) and has read the rows since.
 * @returns The changed agent. Throws for a change that `TRANSITIONS` does not have.
 */
export async function moveAgent(
  inside: Transaction<Database>,
  change: Change,
  { now, recordEvent }: TransitionDeps,
): Promise<Agent> {
  const { agent, run, to, error } = change
  const allowed = transition(agent.status, to)
  if (allowed === undefined) throw new Error(`No agent goes from ${agent.status} to ${to}.`)
  const reference = { accountId: agent.account_id, agentId: agent.id }
  const time = now()
  const sequence = await updateAgent(inside, change, time)
  if (to !== 'queued') await updateRun(inside, runReference(run), runColumns(change, time)).execute()
  const status = { type: 'status' as const, data: { status: to, ...(error === undefined ? {} : { error }) } }
  await insertEvents(inside, reference, { events: [status], runId: run.id, first: sequence, now: time })
  const moved = await requireAgent(inside, reference)
  if (allowed.event !== undefined) {
    const data = { agent: renderAgentData(moved), run_id: run.id, sequence }
    await recordEvent(inside, { accountId: agent.account_id, type: allowed.event, data, createdAt: time })
  }
  return moved
}

/** @returns The number of the event that reports the change. */
async function updateAgent(
  inside: Transaction<Database>,
  { agent, run, to, error, summary, creator }: Change,
  time: number,
): Promise<number> {
  const { events } = await inside
    .updateTable('agent')
    .set({
      status: to,
      runs: run.number,
      ...errorColumns(error),
      events: sql`events + 1`,
      ...(summary === undefined ? {} : { summary }),
      ...(to === 'queued' ? { started_at: null, ended_at: null } : timesOf(to, time)),
      ...creator,
    })
    .where(({ and }) => and({ account_id: agent.account_id, id: agent.id }))
    .returning('events')
    .executeTakeFirstOrThrow()
  return events
}

function runColumns({ to, error, summary }: Change, time: number) {
  const phase = to === 'running' ? ('cloning' as const) : null
  return {
    status: to,
    ...errorColumns(error),
    summary: summary ?? null,
    seen_at: time,
    phase,
    ...timesOf(to, time),
  }
}

function errorColumns(error: Change['error']) {
  return { error_code: error?.code ?? null, error_message: error?.message ?? null }
}

function timesOf(to: AgentStatus, time: number): { readonly started_at?: number; readonly ended_at?: number } {
  if (to === 'running') return { started_at: time }
  return isEnded(to) ? { ended_at: time } : {}
}

/** A queued agent ends at once; a running one is ended by its worker within seconds. Does nothing for a cancelled one. */
export async function cancelAgent(
  db: Kysely<Database>,
  reference: AgentReference,
  deps: TransitionDeps,
): Promise<Agent> {
  return db.transaction().execute(async (inside) => {
    const agent = await lockedAgent(inside, reference)
    if (agent.status === 'cancelled') return agent
    if (isEnded(agent.status)) {
      const message = `This agent is already ${agent.status}; only queued and running agents can be cancelled.`
      throw new GatewayError('conflict', message)
    }
    const run = await lastRunOf(inside, agent)
    if (agent.status === 'queued') return moveAgent(inside, { agent, run, to: 'cancelled' }, deps)
    const requestedAt = run.cancel_requested_at ?? deps.now()
    await updateRun(inside, runReference(run), { cancel_requested_at: requestedAt }).execute()
    return agent
  })
}

/** Locks an agent for the rest of the transaction and reads it. Throws 404 where there is none. */
async function lockedAgent(inside: Transaction<Database>, reference: AgentReference): Promise<Agent> {
  await lockAgent(inside, reference)
  return requireAgent(inside, reference)
}

/* Deletes agents, with their messages, events, runs and artifacts. Workspaces are removed later, by each machine. */

export interface DeletionDeps {
  /** Unix milliseconds. */
  readonly now: () => number
  readonly ids: Pick<IdSource, 'job'>
}

/** Throws 409 for an agent that is queued or running. */
export async function deleteAgent(db: Kysely<Database>, reference: AgentReference, deps: DeletionDeps): Promise<void> {
  await db.transaction().execute(async (inside) => {
    const agent = await lockedAgent(inside, reference)
    if (!isEnded(agent.status)) {
      throw new GatewayError('conflict', `This agent is ${agent.status}. Cancel it first, or wait until it has ended.`)
    }
    const { accountId, agentId } = reference
    await inside.deleteFrom('agent').where('account_id', '=', accountId).where('id', '=', agentId).execute()
    await inside
      .deleteFrom('run_artifact')
      .where(({ and }) => and({ account_id: accountId, agent_id: agentId }))
      .execute()
    await deleteDependants(inside, DEPENDANTS, { ...deps, owner: reference })
  })
}

export function deletionJobs({ db }: { readonly db: Kysely<Database> }): Readonly<Record<string, JobKind>> {
  return dependantsJob(db, DEPENDANTS)
}

const TABLES = [
  ['agent_event', 'sequence'],
  ['agent_message', 'number'],
  ['run', 'number'],
] as const

const DEPENDANTS: Dependants<AgentReference> = {
  kind: 'agents.clear',
  jobName: ({ agentId }) => agentId,
  async deleteBatch(db, agent) {
    let deleted = 0
    for (const [table, key] of TABLES) {
      if (deleted < BATCH_ROWS) deleted += await deleteRows(db, agent, { table, key, limit: BATCH_ROWS - deleted })
    }
    return deleted
  },
}

/** Deletes the first rows of an agent by `key`. */
async function deleteRows(
  db: Kysely<Database>,
  { accountId, agentId }: AgentReference,
  { table, key, limit }: { readonly table: string; readonly key: string; readonly limit: number },
): Promise<number> {
  const ofAgent = sql`account_id = ${accountId} and agent_id = ${agentId}`
  const result = await sql`delete from ${sql.table(table)} where ${ofAgent} and ${sql.ref(key)} in
    (select ${sql.ref(key)} from ${sql.table(table)} where ${ofAgent} order by ${sql.ref(key)} limit ${limit})`.execute(
    db,
  )
  return Number(result.numAffectedRows ?? 0n)
}
