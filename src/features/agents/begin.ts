/** How agents come to work: a new one, and one that is given more to do. All of it in one transaction. */
import type { Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { isEnded } from '../../domain/agent.ts'
import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { IdSource, RunId } from '../../domain/ids.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { creatorColumns, creatorOf } from './creator.ts'
import { insertEvents, type NewAgentEvent, plus } from './events.ts'
import { areUnanswered, insertMessages } from './messages.ts'
import type { AgentOrder } from './rules.ts'
import {
  type Agent,
  type AgentReference,
  countOpenAgents,
  findAgent,
  lastRunOf,
  type Run,
  takeAgentTurn,
} from './store.ts'
import { type Change, moveAgent, type TransitionDeps } from './transition.ts'

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
  const events = [QUEUED, userEvent(order.prompt)]
  const row = {
    account_id: accountId,
    id: agentId,
    name: order.name,
    status: 'queued' as const,
    repository: order.repository,
    base_branch: order.baseBranch ?? null,
    model: order.model,
    ...creatorColumns(creatorOf(asker.caller, asker.address)),
    runs: 1,
    messages: 1,
    events: events.length,
    created_at: time,
  }
  await inside.insertInto('agent').values(row).execute()
  const limits = { max_cost_nano_usd: order.maxCostNanoUsd ?? null, max_steps: order.maxSteps ?? null }
  await insertRun(inside, reference, { runId, number: 1, time, limits })
  const numbering = { runId, first: 1, now: time }
  await insertMessages(inside, reference, { ...numbering, messages: [userMessage(order.prompt)] })
  await insertEvents(inside, reference, { ...numbering, events })
  await enqueueRun(inside, { ...reference, runId }, ids)
  return found(await findAgent(inside, reference))
}

export interface FollowUpAsk extends AgentReference {
  readonly prompt: string
  readonly asker: Asker
  /** Throws where a run may not be begun. Asked for an agent that has ended. */
  readonly mayBegin: (agent: Agent) => void
}

/** Ended: a further run. Waiting or running: a message that is read at its next step. */
export async function followUp(
  inside: Transaction<Database>,
  { prompt, asker, mayBegin, ...reference }: FollowUpAsk,
  deps: BeginDeps,
): Promise<Agent> {
  await takeAgentTurn(inside, reference)
  const agent = await findAgent(inside, reference)
  if (agent === undefined) throw unknownAgent()
  if (!isEnded(agent.status)) {
    if (await areUnanswered(inside, reference, MAX_UNANSWERED)) throw tooManyFollowUps()
    await addUserMessage(inside, agent, { runId: (await lastRunOf(inside, agent)).id, prompt, now: deps.now() })
    return found(await findAgent(inside, reference))
  }
  mayBegin(agent)
  const open = await countOpenAgents(inside, agent.account_id, MAX_OPEN_AGENTS)
  if (open >= MAX_OPEN_AGENTS) throw tooManyAgents()
  const before = await lastRunOf(inside, agent)
  const creator = creatorColumns(creatorOf(asker.caller, asker.address))
  const { run } = await queueRun(inside, { agent, before, creator }, deps)
  await addUserMessage(inside, agent, { runId: run.id, prompt, now: deps.now() })
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
  { runId, prompt, now }: { readonly runId: RunId; readonly prompt: string; readonly now: number },
): Promise<void> {
  const { messages: number, events: sequence } = await inside
    .updateTable('agent')
    .set({ messages: plus('messages', 1), events: plus('events', 1) })
    .where('account_id', '=', accountId)
    .where('id', '=', agentId)
    .returning(['messages', 'events'])
    .executeTakeFirstOrThrow()
  const reference = { accountId, agentId }
  await insertMessages(inside, reference, { messages: [userMessage(prompt)], runId, first: number, now })
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
