/** Invitations that are over are kept for a while, for those who ask what became of them, and then deleted. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { BATCH_ROWS, inBatches } from '../../jobs/batches.ts'
import { every, type JobKind } from '../../jobs/job.ts'

const HOUR_MS = 3_600_000
const KEEP_MS = 90 * 24 * HOUR_MS

export interface MembersJobsInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
}

/** Background work, by the names of its kinds. */
export function membersJobs({ db, now }: MembersJobsInput): Readonly<Record<string, JobKind>> {
  return {
    'invitations.retention': every(HOUR_MS, async (_job, { signal }) => {
      await inBatches(() => forgetInvitations(db, now()), signal)
    }),
  }
}

/** @returns How many were deleted: at most a batch. */
export async function forgetInvitations(db: Kysely<Database>, now: number): Promise<number> {
  const over = await db
    .selectFrom('invitation')
    .select(['account_id', 'id'])
    .where('expires_at', '<', now - KEEP_MS)
    .limit(BATCH_ROWS)
    .execute()
  if (over.length === 0) return 0
  const ids = over.map(({ id }) => id)
  const accounts = [...new Set(over.map(({ account_id: accountId }) => accountId))]
  // Credentials are not found by what they are for without reading them all, so that is not done where others wait.
  const credentials = await db
    .selectFrom('credential')
    .select('hash')
    .where('account_id', 'in', accounts)
    .where('kind', '=', 'invitation')
    .where('id', 'in', ids)
    .execute()
  return db.transaction().execute(async (inside) => {
    const hashes = credentials.map(({ hash }) => hash)
    if (hashes.length > 0) await inside.deleteFrom('credential').where('hash', 'in', hashes).execute()
    await inside.deleteFrom('invitation').where('account_id', 'in', accounts).where('id', 'in', ids).execute()
    return over.length
  })
}
