/** The kinds of background work that agents are. */
import { every, type JobKind } from '../../../jobs/job.ts'
import { RUN_JOB } from '../begin.ts'
import { costJobs } from './cost.ts'
import type { WorkerDeps } from './deps.ts'
import { endOverdueRuns, OVERDUE_EVERY_MS } from './overdue.ts'
import { runHandler } from './run-job.ts'

const TRY_AGAIN_MS = 1_000

/** A kind whose jobs a process begins to take, and ceases to, while it runs. */
export interface RunKind extends JobKind {
  concurrency: number
  handler: JobKind['handler']
}

/** Takes nothing as long as `concurrency` is 0. */
export function runKind(deps: WorkerDeps): RunKind {
  // Many processes may begin and end between its start and its end; what ends it are its own deadlines.
  return { handler: runHandler(deps), backoff: () => TRY_AGAIN_MS, maxAttempts: 1_000, concurrency: 0 }
}

export function agentJobs(deps: WorkerDeps, runs: RunKind): Readonly<Record<string, JobKind>> {
  return {
    [RUN_JOB]: runs,
    ...costJobs(deps),
    'agents.overdue': every(OVERDUE_EVERY_MS, () => endOverdueRuns(deps)),
  }
}
