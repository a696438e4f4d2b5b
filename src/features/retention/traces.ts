/** Deletes what background work and processes leave behind. */

import { BATCH_ROWS, inBatches } from '../../jobs/batches.ts'
import { forgetEnded } from '../../jobs/queue.ts'
import type { RetentionInput } from './idempotency.ts'

const DAY_MS = 24 * 3_600_000
const KEEP_JOBS_MS = 7 * DAY_MS
const KEEP_INSTANCES_MS = DAY_MS

/** @returns How many rows were deleted. */
export async function forgetTraces({ db, now, signal }: RetentionInput): Promise<number> {
  const endedBefore = now() - KEEP_JOBS_MS
  const jobs = await inBatches(() => forgetEnded(db, { endedBefore, limit: BATCH_ROWS }), signal)
  const gone = db.deleteFrom('instance').where('seen_at', '<', now() - KEEP_INSTANCES_MS)
  return jobs + Number((await gone.executeTakeFirst()).numDeletedRows)
}
