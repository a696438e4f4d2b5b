/** What the worker of a run writes while it works. Each write is refused once another start of the run's job has taken over. */
import { type Kysely, sql, type Transaction, type UpdateObject } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { RunId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { insertEvents, type NewAgentEvent, plus } from './events.ts'
import { insertMessages, type NewMessage } from './messages.ts'
import { type AgentReference, type Run, type RunReference, takeAgentTurn } from './store.ts'

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
    await takeAgentTurn(inside, claim)
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

export interface Artifact {
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
    await takeAgentTurn(inside, claim)
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

export interface FoundArtifact extends Artifact {
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
