/**
 * Background jobs of agents: runs, the correction of their costs, and the end of runs that no worker ends. Any process may
 * end overdue runs: a run ends once, and a worker that still has it finds it lost.
 */
import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import type { AgentStatus, RunError } from '../../../domain/agent.ts'
import { every, type JobKind } from '../../../jobs/job.ts'
import { RUN_JOB } from '../lifecycle.ts'
import { endRun, failure, START_DEADLINE_MS } from '../run.ts'
import { listOverdueRuns, type Run } from '../store.ts'
import type { WorkerDeps } from './deps.ts'
import { correctCostLater, costJobs, runHandler } from './run-job.ts'

const RUN_RETRY_MS = 1_000

/** A kind of jobs that a process can start and stop claiming at runtime. */
export interface RunKind extends JobKind {
  concurrency: number
  handler: JobKind['handler']
}

/** Claims no jobs while `concurrency` is 0. */
export function runKind(deps: WorkerDeps): RunKind {
  // Many processes may start and stop during a run; its own deadlines end it.
  return { handler: runHandler(deps), backoff: () => RUN_RETRY_MS, maxAttempts: 1_000, concurrency: 0 }
}

export function agentJobs(deps: WorkerDeps, runs: RunKind): Readonly<Record<string, JobKind>> {
  return {
    [RUN_JOB]: runs,
    ...costJobs(deps),
    'agents.overdue': every(OVERDUE_EVERY_MS, () => endOverdueRuns(deps)),
  }
}

/** Whether a run waits for a worker, or had one that may be gone. */
export async function hasOpenRuns(db: Kysely<Database>): Promise<boolean> {
  const open = db
    .selectFrom('job')
    .select('id')
    .where(({ and }) => and({ kind: RUN_JOB, ended_at: null }))
  return (await open.limit(1).executeTakeFirst()) !== undefined
}

export const OVERDUE_EVERY_MS = 15_000
export const DISOBEYED_EVERY_MS = 1_000
/** Workers have saved their work and stopped by then; others are not awaited. */
const DISOBEYED_MS = 8_500
const AT_ONCE = 100
/** Exceeds the deadline of stalled runs, which the worker itself checks: after it the worker must be gone. */
const SILENT_MS = 300_000
/** Time after the end of the lease in which an available worker claims the job. With `JOB_LEASE_MS` and `OVERDUE_EVERY_MS` at most 90 s. */
export const ABANDONED_MS = 12_000

export async function endOverdueRuns(deps: WorkerDeps): Promise<void> {
  const { db, now, limits } = deps
  const before = now() - START_DEADLINE_MS
  for (const run of await listOverdueRuns(db, { before, limit: AT_ONCE })) await end(deps, run, 'start_timeout')
  const silent = running(deps).where('seen_at', '<', now() - limits.stalledMs - SILENT_MS)
  for (const run of await silent.limit(AT_ONCE).execute()) await end(deps, run, 'worker_lost')
  const orphaned = running(deps).where(({ exists, selectFrom, ref }) =>
    exists(
      selectFrom('job')
        .select('job.id')
        .where('kind', '=', RUN_JOB)
        .where('name', '=', sql<string>`${ref('run.id')}`)
        .where('ended_at', 'is not', null),
    ),
  )
  for (const run of await orphaned.limit(AT_ONCE).execute()) await end(deps, run, 'worker_lost')
  const abandoned = running(deps).where('id', 'in', (inner) =>
    inner
      .selectFrom('job')
      .select(sql<Run['id']>`name`.as('name')) // jobs of runs are named by them
      .where(({ and }) => and({ kind: RUN_JOB, ended_at: null }))
      .where('lease_until', '<', now() - ABANDONED_MS),
  )
  for (const run of await abandoned.limit(AT_ONCE).execute()) await end(deps, run, 'worker_lost')
}

/** JOB-3: a cancelled run ends within 10 s, even if its worker fails. */
export async function endDisobeyed(deps: WorkerDeps): Promise<void> {
  const disobeyed = running(deps).where('cancel_requested_at', '<', deps.now() - DISOBEYED_MS)
  for (const run of await disobeyed.limit(AT_ONCE).execute()) await end(deps, run, 'worker_lost')
}

function running({ db }: WorkerDeps): SelectQueryBuilder<Database, 'run', Run> {
  // a literal: the index is of open runs alone
  return db.selectFrom('run').selectAll().where('status', '=', sql.lit<AgentStatus>('running'))
}

async function end(deps: WorkerDeps, run: Run, code: RunError): Promise<void> {
  const claim = { accountId: run.account_id, agentId: run.agent_id, runId: run.id, attempt: run.attempt }
  const isCancelled = run.cancel_requested_at !== null && code === 'worker_lost'
  await endRun(deps.db, claim, { ...deps, ending: isCancelled ? { status: 'cancelled' } : failure(code) })
  await correctCostLater(deps, claim)
}
