/** Background work: the job runner with the jobs of all features. A process with role `api` runs none of them. */
import type { Config } from '../config/schema.ts'
import type { OpenedDatabase } from '../db/database.ts'
import type { Committer } from '../features/credit/commit/committer.ts'
import { type RecoveryInput, recoverSpools } from '../features/credit/spool/recovery.ts'
import { sweepHolds } from '../features/credit/sweeper.ts'
import { createExports } from '../features/exports/jobs.ts'
import type { Idempotency } from '../features/idempotency/idempotency.ts'
import { invoiceJobs } from '../features/invoices/close.ts'
import { membersJobs } from '../features/members/invitations.ts'
import { oauthJobs } from '../features/oauth/jobs.ts'
import { retentionJobs } from '../features/retention/jobs.ts'
import { sessionJobs } from '../features/sessions/queries.ts'
import { dimensionSumsJobs } from '../features/usage/dimension-sums.ts'
import { every, type JobKind } from '../jobs/job.ts'
import { createJobRunner } from '../jobs/runner.ts'
import { createAwsSigner } from '../providers/bedrock.ts'
import type { Log } from '../telemetry/log.ts'
import type { MetricsInput } from '../telemetry/metrics.ts'
import type { Runtime } from './runtime.ts'

const SWEEP_EVERY_MS = 10_000

/** The role of a process: `api` serves requests, `worker` runs background work, `all` does both. */
export type Role = 'all' | 'api' | 'worker'

export interface BackgroundWorkInput {
  readonly runtime: Runtime
  readonly database: Pick<OpenedDatabase, 'db'>
  readonly log: Log
  readonly role: Role
  /** Jobs of features that need more than a database, by kind. */
  readonly jobs: Readonly<Record<string, JobKind>>
  readonly recovery: RecoveryInput
  readonly committer: Committer
  readonly idempotency: Idempotency
}

interface BackgroundWork {
  start(): void
  /** Looks for waiting jobs now. */
  wake(): void
  stop(): Promise<void>
}

export function createBackgroundWork(input: BackgroundWorkInput): BackgroundWork {
  const { runtime, database, log, role, recovery } = input
  const { ids, clock } = runtime
  const owner = recovery.instanceId
  const runner = createJobRunner({
    db: database.db,
    ids,
    owner,
    clock,
    log,
    kinds: jobKinds(input),
  })
  return {
    start() {
      if (role !== 'api') runner.start()
    },
    wake() {
      if (role !== 'api') runner.wake()
    },
    stop: runner.stop,
  }
}

function jobKinds({ runtime, log, jobs, recovery, committer, idempotency }: BackgroundWorkInput) {
  const { db, instanceId, steady } = recovery
  const { now, termsOf: terms, ids, config } = runtime
  const sweep = { db, committer, instanceId, steady, terms, now, log }
  return {
    'credit.sweep': every(SWEEP_EVERY_MS, async () => {
      await sweepHolds({
        ...sweep,
        outcomeOf: (record) => idempotency.outcomeOf(record.accountId, record.id, record),
        recover: () => recoverSpools(recovery),
      })
    }),
    ...invoiceJobs({ db, ids, now, terms: () => config().invoices }),
    ...retentionJobs({
      db,
      now,
      keepStreamMs: () => config().streams.keep_ms,
      responseDays: () => config().responses.retention_days,
    }),
    ...dimensionSumsJobs({ db, now, maxValues: config().usage.max_tag_values }),
    ...membersJobs({ db, now }),
    ...oauthJobs({ db, now }),
    ...sessionJobs({ db, now }),
    ...jobs,
  }
}

export interface AnalyticsExports {
  readonly jobs: Readonly<Record<string, JobKind>>
  readonly metrics: Pick<MetricsInput, 'analyticsExports'>
}

/** Without exports in the configuration there are neither jobs nor metrics, and no library is loaded. */
export function createAnalyticsExports(
  { database: { db }, config: { exports } }: Pick<BackgroundWorkInput, 'database'> & { readonly config: Config },
  { models, now }: Pick<Runtime, 'models' | 'now'>,
): AnalyticsExports {
  if (exports.length === 0) return { jobs: {}, metrics: {} }
  const kindOf = (model: string) => models().find(model)?.kind ?? 'chat'
  const { jobs, status } = createExports({ db, exports, kindOf, sign: createAwsSigner() })
  const analyticsExports = () =>
    status().map(({ exportedUntil: until, ...counts }) => {
      return { ...counts, lagMs: until === undefined ? undefined : Math.max(0, now() - until) }
    })
  return { jobs, metrics: { analyticsExports } }
}
