/** Deletes expired codes, tokens and counts of wrong codes. Devices stay, as revoked keys do. */
import type { Kysely } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database } from '../../db/schema/schema.ts'
import { BATCH_ROWS, inBatches } from '../../jobs/batched-deletion.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import type { FeatureDeps } from '../deps.ts'
import { ADDRESS_LIMIT } from './brute-force.ts'

const MINUTE_MS = 60_000
/** Retention after expiry, in which polls still get the code's outcome. */
const RETENTION_MS = 60 * MINUTE_MS

type RetentionDeps = Pick<FeatureDeps, 'db' | 'now'>

/** Background jobs by kind. */
export function oauthJobs(input: RetentionDeps): Readonly<Record<string, JobKind>> {
  const handler: JobKind['handler'] = (_job, { signal }) => deleteExpired(input, signal)
  return { 'oauth.retention': every(10 * MINUTE_MS, handler) }
}

export async function deleteExpired({ db, now }: RetentionDeps, signal?: AbortSignal): Promise<void> {
  const time = now()
  await inBatches(() => deleteCodes(db, time), signal)
  await inBatches(() => deleteTokens(db, time), signal)
  await inBatches(() => deleteAttempts(db, time), signal)
}

/** Deletes codes, and disconnects devices that were approved and never fetched their tokens. */
function deleteCodes(db: Kysely<Database>, now: number): Promise<number> {
  return db.transaction().execute(async (inside) => {
    const rows = await inside
      .deleteFrom('device_code')
      .where((is) =>
        is(
          'hash',
          'in',
          is
            .selectFrom('device_code')
            .select('hash')
            .where('expires_at', '<', now - RETENTION_MS)
            .orderBy('expires_at')
            .limit(BATCH_ROWS),
        ),
      )
      .returning(['state', 'account_id', 'device_id'])
      .execute()
    for (const { state, account_id, device_id } of rows) {
      if (state !== 'approved' || account_id === null || device_id === null) continue
      await inside
        .updateTable('device')
        .set({ revoked_at: now, changed_at: nextChangedAt('device', now) })
        .where('account_id', '=', account_id)
        .where('id', '=', device_id)
        .where('revoked_at', 'is', null)
        .execute()
    }
    return rows.length
  })
}

const TOKEN_KEY = ['account_id', 'device_id', 'hash'] as const

function deleteTokens(db: Kysely<Database>, now: number): Promise<number> {
  return db.transaction().execute(async (inside) => {
    const rows = await inside
      .deleteFrom('device_token')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple(...TOKEN_KEY),
          'in',
          selectFrom('device_token')
            .select(TOKEN_KEY)
            .where('expires_at', '<', now - RETENTION_MS)
            .orderBy('expires_at')
            .limit(BATCH_ROWS)
            .$asTuple(...TOKEN_KEY),
        ),
      )
      .returning('hash')
      .execute()
    const hashes = rows.map(({ hash }) => hash)
    if (hashes.length > 0) await inside.deleteFrom('credential').where('hash', 'in', hashes).execute()
    return hashes.length
  })
}

async function deleteAttempts(db: Kysely<Database>, now: number): Promise<number> {
  const over = now - RETENTION_MS - ADDRESS_LIMIT.windowMs
  const { numDeletedRows } = await db
    .deleteFrom('guess')
    .where((is) =>
      is(
        'name',
        'in',
        is
          .selectFrom('guess')
          .select('name')
          .where('since', '<', over)
          .where('blocked_until', '<', over)
          .limit(BATCH_ROWS),
      ),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
