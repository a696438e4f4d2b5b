/** Deletes expired codes, tokens and counts of wrong codes. Devices stay, as revoked keys do. */
import type { Kysely } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database } from '../../db/schema/schema.ts'
import { BATCH_ROWS, inBatches } from '../../jobs/batched-deletion.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import type { FeatureDeps } from '../deps.ts'
import { ADDRESS_LIMIT } from './activation.ts'
import { deleteTokens } from './tokens.ts'

const MINUTE_MS = 60_000
/** Retention after expiry, in which polls still get the code's outcome. */
const RETENTION_MS = 60 * MINUTE_MS

type RetentionDeps = Pick<FeatureDeps, 'db' | 'now'>

/** Background jobs by kind. */
export function oauthJobs(input: RetentionDeps): Readonly<Record<string, JobKind>> {
  return { 'oauth.retention': every(10 * MINUTE_MS, (_job, { signal }) => deleteExpired(input, signal)) }
}

export async function deleteExpired({ db, now }: RetentionDeps, signal?: AbortSignal): Promise<void> {
  const time = now()
  await inBatches(() => deleteCodes(db, time), signal)
  await inBatches(() => deleteExpiredTokens(db, time), signal)
  await inBatches(() => deleteAttempts(db, time), signal)
}

/** Deletes codes, and disconnects devices that were approved and never fetched their tokens. */
function deleteCodes(db: Kysely<Database>, now: number): Promise<number> {
  return db.transaction().execute(async (inside) => {
    const over = inside
      .selectFrom('device_code')
      .select('hash')
      .where('expires_at', '<', now - RETENTION_MS)
    const rows = await inside
      .deleteFrom('device_code')
      .where('hash', 'in', over.orderBy('expires_at').limit(BATCH_ROWS))
      .returning(['state', 'account_id', 'device_id'])
      .execute()
    for (const { state, account_id, device_id } of rows) {
      if (state !== 'approved' || account_id === null || device_id === null) continue
      await inside
        .updateTable('device')
        .set({ revoked_at: now, changed_at: nextChangedAt('device', now) })
        .where(({ and }) => and({ account_id, id: device_id, revoked_at: null }))
        .execute()
    }
    return rows.length
  })
}

const TOKEN_KEY = ['account_id', 'device_id', 'hash'] as const

function deleteExpiredTokens(db: Kysely<Database>, now: number): Promise<number> {
  return db.transaction().execute(async (inside) => {
    const over = inside
      .selectFrom('device_token')
      .select(TOKEN_KEY)
      .where('expires_at', '<', now - RETENTION_MS)
    const first = over.orderBy('expires_at').limit(BATCH_ROWS)
    return deleteTokens(
      inside,
      inside
        .deleteFrom('device_token')
        .where(({ eb, refTuple }) => eb(refTuple(...TOKEN_KEY), 'in', first.$asTuple(...TOKEN_KEY))),
    )
  })
}

async function deleteAttempts(db: Kysely<Database>, now: number): Promise<number> {
  const over = now - RETENTION_MS - ADDRESS_LIMIT.windowMs
  const names = db.selectFrom('guess').select('name').where('since', '<', over).where('blocked_until', '<', over)
  const first = db.deleteFrom('guess').where('name', 'in', names.limit(BATCH_ROWS))
  const { numDeletedRows } = await first.executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
