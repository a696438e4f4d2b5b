/** Sessions that are over are kept for a while, for those who ask what happened, and then deleted. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { BATCH_ROWS, inBatches } from '../../jobs/batches.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import { IDLE_LIFE_MS } from './queries.ts'

const HOUR_MS = 3_600_000
const KEEP_MS = 30 * 24 * HOUR_MS

export interface SessionJobsInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
}

/** Background work, by the names of its kinds. */
export function sessionJobs({ db, now }: SessionJobsInput): Readonly<Record<string, JobKind>> {
  return {
    'sessions.retention': every(HOUR_MS, async (_job, { signal }) => {
      await inBatches(() => forgetSessions(db, now()), signal)
    }),
  }
}

/** @returns How many were deleted: at most a batch. */
export async function forgetSessions(db: Kysely<Database>, now: number): Promise<number> {
  const before = now - KEEP_MS
  const over = db
    .selectFrom('session')
    .select('id')
    .where((is) =>
      is.or([is('ended_at', '<', before), is('expires_at', '<', before), is('renewed_at', '<', before - IDLE_LIFE_MS)]),
    )
    .limit(BATCH_ROWS)
  const { numDeletedRows } = await db.deleteFrom('session').where('id', 'in', over).executeTakeFirst()
  return Number(numDeletedRows)
}
