/** How a worker starts, records and ends a run. Every write is rejected once another start of the run's job has taken over. */
import { type Kysely, sql, type Transaction, type UpdateObject } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { isEnded, RUN_ERRORS, type RunError } from '../../domain/agent.ts'
import type { RunId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { type BeginDeps, moveAgent, queueRun } from './lifecycle.ts'
import { type Agent, type AgentReference, findAgent, findRun, lockAgent, type Run, type RunReference } from './store.ts'
import { insertEvents, insertMessages, missedMessage, type NewAgentEvent, type NewMessage, plus } from './transcript.ts'

/** How long a run may wait to be started. */
export const START_DEADLINE_MS = 900_000

export type RunStart =
  | { readonly kind: 'started'; readonly agent: Agent; readonly run: Run }
  /** There is nothing to be done for it, or no more: it has ended, here or before, or is another worker's. */
  | { readonly kind: 'over' }

/**
 * Takes a run. One that a worker before had goes on where that had done nothing but clone; otherwise it ends: what the
 * model has been told of its work is not there any more.
 */
export async function startRun(
  db: Kysely<Database>,
  claim: RunClaim,
  deps: BeginDeps & { readonly startDeadlineMs?: number },
): Promise<RunStart> {
  const { startDeadlineMs = START_DEADLINE_MS } = deps
  return db.transaction().execute(async (inside): Promise<RunStart> => {
    const found = await readInTurn(inside, claim)
    if (found === undefined || isEnded(found.run.status) || found.run.attempt >= claim.attempt) return OVER
    const { run } = found
    await setAttempt(inside, claim)
    if (run.status === 'queued') {
      if (deps.now() - run.created_at <= startDeadlineMs) return begun(inside, claim, { ...found, deps })
      await finish(inside, { ...found, ending: failure('start_timeout') }, deps)
      return OVER
    }
    if (run.phase === 'cloning' && run.cancel_requested_at === null) {
      return { kind: 'started', agent: found.agent, run: { ...run, attempt: claim.attempt } }
    }
    const ending = run.cancel_requested_at === null ? failure('worker_lost') : ({ status: 'cancelled' } as const)
    await finish(inside, { ...found, ending }, deps)
    return OVER
  })
}

export type RunEnding = {
  /** What the run left on the branch. */
  readonly commit?: { readonly id: string; readonly isPushed: boolean } | undefined
  /** The number of the last message that the run has taken in. Undefined: nobody knows. */
  readonly seen?: number | undefined
} & (
  | { readonly status: 'completed'; readonly summary: string; readonly seen: number }
  | { readonly status: 'failed'; readonly error: { readonly code: RunError; readonly message: string } }
  | { readonly status: 'cancelled' }
)

/** `unseen`: there is a message that a completed run has not taken in; nothing has changed, it goes on. */
export type RunEnd = 'ended' | 'unseen' | 'lost'

/**
 * Ends a run; also one that waits, whose `attempt` is that of its row. A message that came in time is never lost: where
 * the run fails in spite of it, it begins a further run, as it would have had it come a moment later.
 */
export async function endRun(
  db: Kysely<Database>,
  claim: RunClaim,
  { ending, ...deps }: BeginDeps & { readonly ending: RunEnding },
): Promise<RunEnd> {
  return db.transaction().execute(async (inside): Promise<RunEnd> => {
    const found = await readInTurn(inside, claim)
    if (found === undefined || isEnded(found.run.status) || found.run.attempt !== claim.attempt) return 'lost'
    if (ending.status === 'completed' && (await missed(inside, found.run, ending)) !== undefined) return 'unseen'
    await finish(inside, { ...found, ending }, deps)
    return 'ended'
  })
}

export function failure(code: RunError, message: string = RUN_ERRORS[code]) {
  return { status: 'failed', error: { code, message } } as const
}

interface Found {
  readonly agent: Agent
  readonly run: Run
}

const OVER: RunStart = { kind: 'over' }

async function readInTurn(inside: Transaction<Database>, claim: RunClaim): Promise<Found | undefined> {
  await lockAgent(inside, claim)
  const agent = await findAgent(inside, claim)
  const run = await findRun(inside, claim)
  return agent === undefined || run === undefined ? undefined : { agent, run }
}

async function begun(
  inside: Transaction<Database>,
  claim: RunClaim,
  { agent, run, deps }: Found & { readonly deps: BeginDeps },
): Promise<RunStart> {
  const running = await moveAgent(inside, { agent, run, to: 'running' }, deps)
  const now = await findRun(inside, claim)
  return now === undefined ? OVER : { kind: 'started', agent: running, run: now }
}

async function finish(
  inside: Transaction<Database>,
  { agent, run, ending }: Found & { readonly ending: RunEnding },
  deps: BeginDeps,
): Promise<void> {
  const { status: to, commit } = ending
  if (commit !== undefined) await setCommit(inside, run, commit)
  const error = ending.status === 'failed' ? ending.error : undefined
  const summary = ending.status === 'completed' ? ending.summary : undefined
  const ended = await moveAgent(inside, { agent, run, to, error, summary }, deps)
  if (to === 'completed') return
  const waiting = await missed(inside, run, ending)
  if (waiting === undefined) return
  // Who cancels means what was said until then.
  if (to === 'cancelled' && waiting.created_at < (run.cancel_requested_at ?? Number.POSITIVE_INFINITY)) return
  await queueRun(inside, { agent: ended, before: run }, deps)
}

function missed(inside: Transaction<Database>, run: Run, { seen }: RunEnding) {
  const reference: AgentReference = { accountId: run.account_id, agentId: run.agent_id }
  return missedMessage(inside, reference, { runId: run.id, seen })
}

async function setAttempt(inside: Transaction<Database>, { accountId, agentId, runId, attempt }: RunClaim) {
  await inside
    .updateTable('run')
    .set({ attempt })
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .where('id', '=', runId)
    .execute()
}

async function setCommit(
  inside: Transaction<Database>,
  { account_id, agent_id, id }: Run,
  commit: { readonly id: string; readonly isPushed: boolean },
): Promise<void> {
  await inside
    .updateTable('run')
    .set({ commit_id: commit.id, pushed: commit.isPushed ? 1 : 0 })
    .where('account_id', '=', account_id)
    .where('agent_id', '=', agent_id)
    .where('id', '=', id)
    .execute()
}

/** A run as one start of its job has it. */
export interface RunClaim extends RunReference {
  readonly attempt: number
}

/** The run is not this worker's any more: it has ended, was taken over, or is gone with its agent. */
export class LostRun extends Error {
  override readonly name = 'LostRun'

  constructor() {
    super('The run is not this worker’s any more.')
  }
}

/** What happened since the last one; it is written together. */
export interface Progress {
  readonly messages?: readonly NewMessage[] | undefined
  readonly events?: readonly NewAgentEvent[] | undefined
  /** Calls of the model, and what they used; added to what there is. */
  readonly usage?: RunUsage | undefined
  /** Also told as an event. */
  readonly phase?: NonNullable<Run['phase']> | undefined
  /** The commit that its branch is at, for whoever goes on with it. */
  readonly commitId?: string | undefined
}

export interface RunUsage {
  readonly steps: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanoUsd: NanoUsd
}

/** The number of the first message and of the first event that were written. */
export interface Written {
  readonly message: number
  readonly event: number
}

/** Rejects with `LostRun`, and then nothing is written. */
export async function recordProgress(
  db: Kysely<Database>,
  claim: RunClaim,
  { progress, now }: { readonly progress: Progress; readonly now: number },
): Promise<Written> {
  return db.transaction().execute(async (inside) => {
    const { messages = [], usage, phase, commitId } = progress
    const told: NewAgentEvent[] = phase === undefined ? [] : [{ type: 'phase', data: { phase } }]
    const events = [...told, ...(progress.events ?? [])]
    await lockAgent(inside, claim)
    const numbers = await takeNumbers(inside, claim, { messages: messages.length, events: events.length })
    const state = { ...(phase && { phase }), ...(commitId && { commit_id: commitId }) }
    await holdRun(inside, claim, { ...addedUsage(usage), ...state, seen_at: now })
    await insertMessages(inside, claim, { messages, runId: claim.runId, first: numbers.message, now })
    await insertEvents(inside, claim, { events, runId: claim.runId, first: numbers.event, now })
    return numbers
  })
}

/** For a single kind of entry. @returns The number of the first. */
export async function appendMessages(
  db: Kysely<Database>,
  claim: RunClaim,
  { messages, now }: { readonly messages: readonly NewMessage[]; readonly now: number },
): Promise<number> {
  return (await recordProgress(db, claim, { progress: { messages }, now })).message
}

/** The same. */
export async function appendEvents(
  db: Kysely<Database>,
  claim: RunClaim,
  { events, now }: { readonly events: readonly NewAgentEvent[]; readonly now: number },
): Promise<number> {
  return (await recordProgress(db, claim, { progress: { events }, now })).event
}

interface Artifact {
  readonly kind: 'diff' | 'bundle'
  readonly content: Uint8Array
  readonly isTruncated: boolean
}

/** In place of one of the same kind. Rejects with `LostRun`. */
export async function saveArtifact(
  db: Kysely<Database>,
  claim: RunClaim,
  { artifact, now }: { readonly artifact: Artifact; readonly now: number },
): Promise<void> {
  const { kind, content, isTruncated } = artifact
  await db.transaction().execute(async (inside) => {
    await lockAgent(inside, claim)
    await holdRun(inside, claim, { seen_at: now })
    const place = { account_id: claim.accountId, agent_id: claim.agentId, run_id: claim.runId, kind }
    const what = { content, truncated: isTruncated ? 1 : 0, created_at: now } as const
    await inside
      .insertInto('run_artifact')
      .values({ ...place, ...what })
      .onConflict((on) => on.columns(['account_id', 'agent_id', 'run_id', 'kind']).doUpdateSet(what))
      .execute()
  })
}

interface FoundArtifact extends Artifact {
  readonly runId: RunId
}

/** Of the last run that has one. */
export async function findArtifact(
  db: Kysely<Database>,
  { accountId, agentId }: AgentReference,
  kind: Artifact['kind'],
): Promise<FoundArtifact | undefined> {
  const row = await db
    .selectFrom('run_artifact')
    .select(['run_id', 'content', 'truncated'])
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .where('kind', '=', kind)
    .orderBy('run_id', 'desc') // ids sort by time
    .limit(1)
    .executeTakeFirst()
  return row && { runId: row.run_id, kind, content: row.content, isTruncated: row.truncated === 1 }
}

/** What a worker looks at all the time. Undefined: the run is not its any more. */
export async function readOrders(
  db: Kysely<Database>,
  claim: RunClaim,
): Promise<{ readonly isCancelled: boolean } | undefined> {
  const row = await runOf(db, claim).select('cancel_requested_at').executeTakeFirst()
  return row && { isCancelled: row.cancel_requested_at !== null }
}

function runOf(db: Kysely<Database>, { accountId, agentId, runId, attempt }: RunClaim) {
  return db
    .selectFrom('run')
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .where('id', '=', runId)
    .where('attempt', '=', attempt)
    .where('status', '=', 'running')
}

async function takeNumbers(
  inside: Transaction<Database>,
  { accountId, agentId }: RunClaim,
  count: { readonly messages: number; readonly events: number },
): Promise<Written> {
  const taken = await inside
    .updateTable('agent')
    .set({ messages: plus('messages', count.messages), events: plus('events', count.events) })
    .where('account_id', '=', accountId)
    .where('id', '=', agentId)
    .returning(['messages', 'events'])
    .executeTakeFirst()
  if (taken === undefined) throw new LostRun()
  return { message: taken.messages - count.messages + 1, event: taken.events - count.events + 1 }
}

async function holdRun(
  inside: Transaction<Database>,
  { accountId, agentId, runId, attempt }: RunClaim,
  changes: UpdateObject<Database, 'run'>,
): Promise<void> {
  const held = await inside
    .updateTable('run')
    .set(changes)
    .where('account_id', '=', accountId)
    .where('agent_id', '=', agentId)
    .where('id', '=', runId)
    .where('attempt', '=', attempt)
    .where('status', '=', 'running')
    .executeTakeFirst()
  if (held.numUpdatedRows === 0n) throw new LostRun()
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
