/** How a worker starts, records and ends a run. Every write is rejected once another start of the run's job has taken over. */
import { type Kysely, sql, type Transaction, type UpdateObject } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { isEnded, RUN_ERRORS, type RunError } from '../../domain/agent.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { type BeginDeps, moveAgent, queueRun } from './lifecycle.ts'
import {
  type Agent,
  type AgentReference,
  findAgent,
  findRun,
  lockAgent,
  type Run,
  type RunReference,
  runReference,
  updateRun,
} from './store.ts'
import {
  insertEvents,
  insertMessages,
  missedMessage,
  type NewAgentEvent,
  type NewMessage,
  takeNumbers,
  type Written,
} from './transcript.ts'

/** How long a run may wait to be started. */
export const START_DEADLINE_MS = 900_000

/**
 * Claims a run for this start of its job. A run of a lost worker continues if that only cloned; otherwise it ends, because
 * the sandbox state that the model knows of is lost.
 * @returns Undefined when there is nothing left to do: the run has ended, or is another worker's.
 */
export async function startRun(db: Kysely<Database>, claim: RunClaim, deps: BeginDeps): Promise<AgentRun | undefined> {
  return db.transaction().execute(async (inside) => {
    const found = await lockRun(inside, claim)
    if (found === undefined || isEnded(found.run.status) || found.run.attempt >= claim.attempt) return undefined
    const { agent, run } = found
    await updateRun(inside, claim, { attempt: claim.attempt }).execute()
    if (run.status === 'queued') {
      if (deps.now() - run.created_at <= START_DEADLINE_MS) {
        await moveAgent(inside, { agent, run, to: 'running' }, deps)
        return readRun(inside, claim)
      }
      await finish(inside, { ...found, ending: failure('start_timeout') }, deps)
      return undefined
    }
    if (run.phase === 'cloning' && run.cancel_requested_at === null) return readRun(inside, claim)
    const ending = run.cancel_requested_at === null ? failure('worker_lost') : ({ status: 'cancelled' } as const)
    await finish(inside, { ...found, ending }, deps)
    return undefined
  })
}

export type RunEnding = {
  /** The last commit of the branch. */
  readonly commit?: { readonly id: string; readonly isPushed: boolean } | undefined
  /** The number of the last message that the run has read; undefined: unknown. */
  readonly seen?: number | undefined
} & (
  | { readonly status: 'completed'; readonly summary: string; readonly seen: number }
  | { readonly status: 'failed'; readonly error: { readonly code: RunError; readonly message: string } }
  | { readonly status: 'cancelled' }
)

/** `unseen`: nothing has changed, because the completed run has not read a message yet; it continues. */
export type RunEnd = 'ended' | 'unseen' | 'lost'

/**
 * Ends a run, also a queued one, whose `attempt` is that of its row. A message that the run has not read is never lost:
 * when the run fails, the message starts another run.
 */
export async function endRun(
  db: Kysely<Database>,
  claim: RunClaim,
  { ending, ...deps }: BeginDeps & { readonly ending: RunEnding },
): Promise<RunEnd> {
  return db.transaction().execute(async (inside): Promise<RunEnd> => {
    const found = await lockRun(inside, claim)
    if (found === undefined || isEnded(found.run.status) || found.run.attempt !== claim.attempt) return 'lost'
    if (ending.status === 'completed' && (await missed(inside, found.run, ending)) !== undefined) return 'unseen'
    await finish(inside, { ...found, ending }, deps)
    return 'ended'
  })
}

export function failure(code: RunError, message: string = RUN_ERRORS[code]) {
  return { status: 'failed', error: { code, message } } as const
}

export interface AgentRun {
  readonly agent: Agent
  readonly run: Run
}

async function lockRun(inside: Transaction<Database>, claim: RunClaim): Promise<AgentRun | undefined> {
  await lockAgent(inside, claim)
  return readRun(inside, claim)
}

async function readRun(inside: Transaction<Database>, claim: RunClaim): Promise<AgentRun | undefined> {
  const agent = await findAgent(inside, claim)
  const run = await findRun(inside, claim)
  return agent === undefined || run === undefined ? undefined : { agent, run }
}

async function finish(
  inside: Transaction<Database>,
  { agent, run, ending }: AgentRun & { readonly ending: RunEnding },
  deps: BeginDeps,
): Promise<void> {
  const { status: to, commit } = ending
  if (commit !== undefined) {
    const columns = { commit_id: commit.id, pushed: commit.isPushed ? 1 : 0 } as const
    await updateRun(inside, runReference(run), columns).execute()
  }
  const error = ending.status === 'failed' ? ending.error : undefined
  const summary = ending.status === 'completed' ? ending.summary : undefined
  const ended = await moveAgent(inside, { agent, run, to, error, summary }, deps)
  if (to === 'completed') return
  const waiting = await missed(inside, run, ending)
  if (waiting === undefined) return
  // A cancellation covers the messages before it.
  if (to === 'cancelled' && waiting.created_at < (run.cancel_requested_at ?? Number.POSITIVE_INFINITY)) return
  await queueRun(inside, { agent: ended, before: run }, deps)
}

function missed(inside: Transaction<Database>, run: Run, { seen }: RunEnding) {
  return missedMessage(inside, runReference(run), seen)
}

/** A run, claimed by one start of its job. */
export interface RunClaim extends RunReference {
  readonly attempt: number
}

/** The run is no longer this worker's: it has ended, was taken over, or was deleted with its agent. */
export class LostRun extends Error {
  override readonly name = 'LostRun'

  constructor() {
    super('The run is no longer this worker’s.')
  }
}

/** What is recorded in one transaction. */
export interface Progress {
  readonly messages?: readonly NewMessage[] | undefined
  readonly events?: readonly NewAgentEvent[] | undefined
  /** Added to the run's usage. */
  readonly usage?: RunUsage | undefined
  /** Also reported as an event. */
  readonly phase?: NonNullable<Run['phase']> | undefined
  /** The last commit of the branch, for the worker that continues the run. */
  readonly commitId?: string | undefined
}

export interface RunUsage {
  readonly steps: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanoUsd: NanoUsd
}

/** Rejects with `LostRun`, and then nothing is written. */
export async function recordProgress(
  db: Kysely<Database>,
  claim: RunClaim,
  { progress, now }: { readonly progress: Progress; readonly now: number },
): Promise<Written> {
  return db.transaction().execute(async (inside) => {
    const { messages = [], usage, phase, commitId } = progress
    const phaseEvents: NewAgentEvent[] = phase === undefined ? [] : [{ type: 'phase', data: { phase } }]
    const events = [...phaseEvents, ...(progress.events ?? [])]
    await lockAgent(inside, claim)
    const state = { ...(phase && { phase }), ...(commitId && { commit_id: commitId }) }
    await updateOwnRun(inside, claim, { ...addedUsage(usage), ...state, seen_at: now })
    const numbers = await takeNumbers(inside, claim, { messages: messages.length, events: events.length })
    await insertMessages(inside, claim, { messages, runId: claim.runId, first: numbers.message, now })
    await insertEvents(inside, claim, { events, runId: claim.runId, first: numbers.event, now })
    return numbers
  })
}

interface Artifact {
  readonly kind: 'diff' | 'bundle'
  readonly content: Uint8Array
  readonly isTruncated: boolean
}

/** Replaces the run's artifact of the same kind. Rejects with `LostRun`. */
export async function saveArtifact(
  db: Kysely<Database>,
  claim: RunClaim,
  { artifact, now }: { readonly artifact: Artifact; readonly now: number },
): Promise<void> {
  const { kind, content, isTruncated } = artifact
  await db.transaction().execute(async (inside) => {
    await lockAgent(inside, claim)
    await updateOwnRun(inside, claim, { seen_at: now })
    const key = { account_id: claim.accountId, agent_id: claim.agentId, run_id: claim.runId, kind }
    const columns = { content, truncated: isTruncated ? 1 : 0, created_at: now } as const
    await inside
      .insertInto('run_artifact')
      .values({ ...key, ...columns })
      .onConflict((on) => on.columns(['account_id', 'agent_id', 'run_id', 'kind']).doUpdateSet(columns))
      .execute()
  })
}

/** Of the last run that has one. */
export async function findArtifact(
  db: Kysely<Database>,
  { accountId, agentId }: AgentReference,
  kind: Artifact['kind'],
): Promise<Artifact | undefined> {
  const row = await db
    .selectFrom('run_artifact')
    .select(['content', 'truncated'])
    .where(({ and }) => and({ account_id: accountId, agent_id: agentId, kind }))
    .orderBy('run_id', 'desc') // ids sort by time
    .limit(1)
    .executeTakeFirst()
  return row && { kind, content: row.content, isTruncated: row.truncated === 1 }
}

/** Whether the run is to be cancelled, or no longer this worker's; undefined: neither. */
export async function readOrders(db: Kysely<Database>, claim: RunClaim): Promise<'cancelled' | 'lost' | undefined> {
  const run = await findRun(db, claim)
  if (run?.status !== 'running' || run.attempt !== claim.attempt) return 'lost'
  return run.cancel_requested_at === null ? undefined : 'cancelled'
}

/** Rejects with `LostRun` unless the run is still this worker's. */
async function updateOwnRun(
  inside: Transaction<Database>,
  claim: RunClaim,
  changes: UpdateObject<Database, 'run'>,
): Promise<void> {
  const { numUpdatedRows } = await updateRun(inside, claim, changes)
    .where(({ and }) => and({ attempt: claim.attempt, status: 'running' }))
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new LostRun()
}

function addedUsage(usage: RunUsage | undefined) {
  if (usage === undefined) return {}
  const { steps, promptTokens, completionTokens, costNanoUsd } = usage
  return {
    steps: sql<number>`steps + ${steps}`,
    prompt_tokens: sql<number>`prompt_tokens + ${promptTokens}`,
    completion_tokens: sql<number>`completion_tokens + ${completionTokens}`,
    cost_nano_usd: sql<NanoUsd>`cost_nano_usd + ${costNanoUsd}`,
  }
}
