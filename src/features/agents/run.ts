/** How a run starts and ends, as its worker sees it. */
import type { Kysely, Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { isEnded, RUN_ERRORS, type RunError } from '../../domain/agent.ts'
import { type BeginDeps, queueRun } from './begin.ts'
import { missedMessage } from './messages.ts'
import type { RunClaim } from './progress.ts'
import { type Agent, type AgentReference, findAgent, findRun, type Run, takeAgentTurn } from './store.ts'
import { moveAgent } from './transition.ts'

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
  await takeAgentTurn(inside, claim)
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
