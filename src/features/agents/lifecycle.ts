/**
 * The life cycle of agents: creation, follow-ups, cancellation, and the transitions between statuses. A transition writes agent,
 * run, event and webhook in one transaction.
 */
import type { Kysely, Transaction } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { type AgentStatus, isEnded, type RunError, transition } from '../../domain/agent.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, IdSource, RunId } from '../../domain/ids.ts'
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
  findAgent,
  lastRunOf,
  lockAgent,
  type Run,
  readCreator,
} from './store.ts'
import { areUnanswered, insertEvents, insertMessages, type NewAgentEvent, plus } from './transcript.ts'

export const RUN_JOB = 'agents.run'
/** Of an account, waiting and running together. */
const MAX_OPEN_AGENTS = 1_000
/** Messages that nobody has answered yet. */
const MAX_UNANSWERED = 100
const RETRY_AFTER_MS = 30_000

/** What a job of the kind `RUN_JOB` carries. Its name is the run's id. */
export interface RunJob extends AgentReference {
  readonly runId: RunId
}

export interface BeginDeps extends TransitionDeps {
  readonly ids: Pick<IdSource, 'run' | 'job'>
}

/** Who asks, and from where. */
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
  const open = await countOpenAgents(inside, accountId, MAX_OPEN_AGENTS)
  if (open >= MAX_OPEN_AGENTS) throw tooManyAgents()
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
  return found(await findAgent(inside, reference))
}

export interface FollowUpAsk extends AgentReference {
  readonly prompt: string
  readonly asker: Asker
  /** Throws where the asker may not ask the agent's model. */
  readonly mayBegin: (agent: Agent) => void
  /** Who a run works as now; rejects with `GatewayError` when they are gone. Asked for a run that has not ended. */
  readonly callerOf: CallerOfCreator
}

export type CallerOfCreator = (db: Kysely<Database>, accountId: AccountId, creator: Creator) => Promise<Caller>

/**
 * Ended: a further run, with the rights of whoever asks. Waiting or running: a message that is read at the next step of
 * that run, which has its own rights: whoever asks must have those.
 */
export async function followUp(
  inside: Transaction<Database>,
  { prompt, asker, mayBegin, callerOf, ...reference }: FollowUpAsk,
  deps: BeginDeps,
): Promise<Agent> {
  await lockAgent(inside, reference)
  const agent = await findAgent(inside, reference)
  if (agent === undefined) throw unknownAgent()
  const author = creatorOf(asker.caller, asker.address)
  mayBegin(agent)
  if (!isEnded(agent.status)) {
    assertMayJoin(asker.caller, await callerOf(inside, agent.account_id, readCreator(agent)))
    if (await areUnanswered(inside, reference, MAX_UNANSWERED)) throw tooManyFollowUps()
    const { id: runId } = await lastRunOf(inside, agent)
    await addUserMessage(inside, agent, { runId, prompt, author, now: deps.now() })
    return found(await findAgent(inside, reference))
  }
  const open = await countOpenAgents(inside, agent.account_id, MAX_OPEN_AGENTS)
  if (open >= MAX_OPEN_AGENTS) throw tooManyAgents()
  const before = await lastRunOf(inside, agent)
  const creator = creatorColumns(author)
  const { run } = await queueRun(inside, { agent, before, creator }, deps)
  await addUserMessage(inside, agent, { runId: run.id, prompt, author, now: deps.now() })
  return found(await findAgent(inside, reference))
}

/** A further run of an agent that has ended, with the limits of the one before. In the agent's turn. */
export async function queueRun(
  inside: Transaction<Database>,
  { agent, before, creator }: Pick<Change, 'agent' | 'creator'> & { readonly before: Run },
  deps: BeginDeps,
): Promise<{ readonly agent: Agent; readonly run: Run }> {
  const reference = { accountId: agent.account_id, agentId: agent.id }
  const runId = deps.ids.run()
  const { max_cost_nano_usd, max_steps } = before
  const limits = { max_cost_nano_usd, max_steps }
  const run = await insertRun(inside, reference, { runId, number: before.number + 1, time: deps.now(), limits })
  const queued = await moveAgent(inside, { agent, run, to: 'queued', creator }, deps)
  await enqueueRun(inside, { ...reference, runId }, deps.ids)
  return { agent: queued, run }
}

async function insertRun(
  inside: Transaction<Database>,
  { accountId, agentId }: AgentReference,
  run: { runId: RunId; number: number; time: number; limits: Pick<Run, 'max_cost_nano_usd' | 'max_steps'> },
): Promise<Run> {
  const nothing = {
    steps: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    cost_nano_usd: 0n,
    attempt: 0,
    pushed: 0,
  } as const
  const place = { account_id: accountId, agent_id: agentId, id: run.runId, number: run.number }
  return inside
    .insertInto('run')
    .values({ ...place, ...nothing, ...run.limits, status: 'queued', created_at: run.time })
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function addUserMessage(
  inside: Transaction<Database>,
  { account_id: accountId, id: agentId }: Agent,
  { runId, prompt, author, now }: { runId: RunId; prompt: string; author: Creator; now: number },
): Promise<void> {
  const { messages: number, events: sequence } = await inside
    .updateTable('agent')
    .set({ messages: plus('messages', 1), events: plus('events', 1) })
    .where('account_id', '=', accountId)
    .where('id', '=', agentId)
    .returning(['messages', 'events'])
    .executeTakeFirstOrThrow()
  const reference = { accountId, agentId }
  await insertMessages(inside, reference, { messages: [userMessage(prompt)], author, runId, first: number, now })
  await insertEvents(inside, reference, { events: [userEvent(prompt)], runId, first: sequence, now })
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

function found(agent: Agent | undefined): Agent {
  if (agent === undefined) throw new Error('An agent that was just written is not there.')
  return agent
}

/** The same for another account's agent and for one that never was. */
export function unknownAgent(): GatewayError {
  return new GatewayError('not_found', 'No agent has this id.')
}

function tooManyAgents(): GatewayError {
  const message = `At most ${MAX_OPEN_AGENTS} agents of an account may wait or run; wait until some have ended.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfterMs: RETRY_AFTER_MS })
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
  /** The last one of the agent; on the way to `queued` the new one, which is there already. */
  readonly run: Run
  readonly to: AgentStatus
  readonly error?: { readonly code: RunError; readonly message: string } | undefined
  readonly summary?: string | undefined
  /** Who starts the run, see `Creator`. */
  readonly creator?: Pick<Agent, 'key_id' | 'creator'> | undefined
}

/**
 * To be called in the agent's turn (`lockAgent`), with rows that were read in it.
 * @returns The agent as it is then. Throws for a change that `TRANSITIONS` does not have.
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
  if (to !== 'queued') await updateRun(inside, change, time)
  const status = { type: 'status' as const, data: { status: to, ...(error === undefined ? {} : { error }) } }
  await insertEvents(inside, reference, { events: [status], runId: run.id, first: sequence, now: time })
  const moved = await findAgent(inside, reference)
  if (moved === undefined) throw new Error('An agent was lost in its own turn.')
  if (allowed.event !== undefined) {
    const data = { agent: renderAgentData(moved), run_id: run.id, sequence }
    await recordEvent(inside, { accountId: agent.account_id, type: allowed.event, data, createdAt: time })
  }
  return moved
}

/** @returns The number of the event that tells of it. */
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
      error_code: error?.code ?? null,
      error_message: error?.message ?? null,
      events: plus('events', 1),
      ...(summary === undefined ? {} : { summary }),
      ...(to === 'queued' ? { started_at: null, ended_at: null } : timesOf(to, time)),
      ...creator,
    })
    .where('account_id', '=', agent.account_id)
    .where('id', '=', agent.id)
    .returning('events')
    .executeTakeFirstOrThrow()
  return events
}

async function updateRun(
  inside: Transaction<Database>,
  { run, to, error, summary }: Change,
  time: number,
): Promise<void> {
  await inside
    .updateTable('run')
    .set({
      status: to,
      error_code: error?.code ?? null,
      error_message: error?.message ?? null,
      summary: summary ?? null,
      seen_at: time,
      phase: to === 'running' ? 'cloning' : null,
      ...timesOf(to, time),
    })
    .where('account_id', '=', run.account_id)
    .where('agent_id', '=', run.agent_id)
    .where('id', '=', run.id)
    .execute()
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
      throw new GatewayError(
        'conflict',
        `This agent is already ${agent.status}; only queued and running agents can be cancelled.`,
      )
    }
    const run = await lastRunOf(inside, agent)
    if (agent.status === 'queued') return moveAgent(inside, { agent, run, to: 'cancelled' }, deps)
    await inside
      .updateTable('run')
      .set({ cancel_requested_at: run.cancel_requested_at ?? deps.now() })
      .where('account_id', '=', run.account_id)
      .where('agent_id', '=', run.agent_id)
      .where('id', '=', run.id)
      .execute()
    return agent
  })
}

/** Locks an agent for the rest of the transaction and reads it. Throws 404 where there is none. */
export async function lockedAgent(inside: Transaction<Database>, reference: AgentReference): Promise<Agent> {
  await lockAgent(inside, reference)
  const agent = await findAgent(inside, reference)
  if (agent === undefined) throw unknownAgent()
  return agent
}
