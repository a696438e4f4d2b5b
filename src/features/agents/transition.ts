/** The one way from status to status: agent, run, event and webhook together, in the caller's transaction. */
import type { Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { type AgentStatus, isEnded, type RunError, transition } from '../../domain/agent.ts'
import type { RecordEvent } from '../deps.ts'
import { insertEvents, plus } from './events.ts'
import { renderAgentData } from './shapes.ts'
import { type Agent, findAgent, type Run } from './store.ts'

export interface TransitionDeps {
  /** Unix milliseconds. */
  readonly now: () => number
  readonly recordEvent: RecordEvent
}

export interface Change {
  readonly agent: Agent
  /** The last one of the agent; on the way to `queued` the new one, which is there already. */
  readonly run: Run
  readonly to: AgentStatus
  readonly error?: { readonly code: RunError; readonly message: string } | undefined
  readonly summary?: string | undefined
  /** Who starts the run, see `creator.ts`. */
  readonly creator?: Pick<Agent, 'key_id' | 'creator'> | undefined
}

/**
 * To be called in the agent's turn (`takeAgentTurn`), with rows that were read in it.
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
