/**
 * Corrects a run's recorded usage from the ledger. A run counts its calls as they are answered; a call that was interrupted
 * by a cancellation or the end of its worker is charged later, so the sums are read once all calls are charged.
 */
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import { agentReference, isEnded } from '../../../domain/agent.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { type JobKind, TryAgainIn } from '../../../jobs/job.ts'
import { enqueue } from '../../../jobs/queue.ts'
import type { RunJob } from '../lifecycle.ts'
import { findRun, type RunReference, updateRun } from '../store.ts'
import type { WorkerDeps } from './deps.ts'

const COST_JOB = 'agents.cost'
const TRY_AGAIN_MS = 5_000
const RETRY_MS = 10_000

/** Runs once for each run, after its end. */
export async function correctCostLater({ db, ids }: Pick<WorkerDeps, 'db' | 'ids'>, run: RunReference): Promise<void> {
  const { accountId, agentId, runId } = run
  await enqueue(db, { kind: COST_JOB, name: runId, payload: { accountId, agentId, runId } }, ids)
}

export function costJobs({ db }: Pick<WorkerDeps, 'db'>): Readonly<Record<string, JobKind>> {
  return {
    [COST_JOB]: {
      async handler({ payload }) {
        const reference = payload as RunJob // as it was enqueued above
        const run = await findRun(db, reference)
        if (run === undefined) return
        if (!isEnded(run.status)) throw new TryAgainIn(TRY_AGAIN_MS, 'The run has not ended yet.')
        if (await hasOpenCalls(db, reference))
          throw new TryAgainIn(TRY_AGAIN_MS, 'A call of the run is not charged yet.')
        await correctCost(db, reference)
      },
      backoff: () => RETRY_MS,
      maxAttempts: 1_000,
      concurrency: 2,
    },
  }
}

async function hasOpenCalls(db: Kysely<Database>, { accountId, agentId, runId }: RunReference): Promise<boolean> {
  const hold = await db
    .selectFrom('hold')
    .select('id')
    .where('account_id', '=', accountId)
    .where('client_request_id', '=', agentReference(agentId, runId))
    .limit(1)
    .executeTakeFirst()
  return hold !== undefined
}

async function correctCost(db: Kysely<Database>, run: RunReference): Promise<void> {
  const { accountId, agentId, runId } = run
  const charged = await db
    .selectFrom('completion')
    .select(sql<number>`coalesce(sum(prompt_tokens), 0)`.as('prompt'))
    .select(sql<number>`coalesce(sum(completion_tokens), 0)`.as('completion'))
    .select(sql<NanoUsd>`coalesce(sum(cost_nano_usd), 0)`.as('cost'))
    .where('account_id', '=', accountId)
    .where('client_request_id', '=', agentReference(agentId, runId))
    .where('client_request_id', '>=', sql.lit('agt_')) // literals: the condition of the index
    .where('client_request_id', '<', sql.lit('agt`'))
    .executeTakeFirstOrThrow()
  const [prompt_tokens, completion_tokens] = [Number(charged.prompt), Number(charged.completion)]
  const usage = { prompt_tokens, completion_tokens, cost_nano_usd: BigInt(charged.cost) }
  await updateRun(db, run, usage).execute()
}
