/** Alerts of keys that expire soon, as events. */
import type { Kysely } from 'kysely'
import { dialectOf } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { inBatches } from '../../jobs/batched-deletion.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import { isoTime, isoTimeOrNull } from '../../lib/time.ts'
import type { RecordEvent } from '../deps.ts'

const DAY_MS = 24 * 3_600_000
/** Before the expiry, the longest first. */
const ALERT_BEFORE_MS = [7 * DAY_MS, DAY_MS] as const
const ALERTS_EVERY_MS = 15 * 60_000
/** In one transaction, which others wait for. */
const ALERTS_AT_ONCE = 20

export interface ExpiryAlertsInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly recordEvent: RecordEvent
}

export function expiryAlertJobs(input: ExpiryAlertsInput): Readonly<Record<string, JobKind>> {
  const handler = async (_job: unknown, { signal }: { readonly signal: AbortSignal }) =>
    void (await recordExpiryAlerts(input, signal))
  return { 'keys.expiry-alerts': every(ALERTS_EVERY_MS, handler) }
}

/** Records `key.expiring` once for each time before the expiry of each key. @returns How many. */
export async function recordExpiryAlerts(input: ExpiryAlertsInput, signal?: AbortSignal): Promise<number> {
  let recorded = 0
  for (const beforeMs of ALERT_BEFORE_MS.toReversed()) {
    recorded += await inBatches(() => recordSome(input, beforeMs), signal) // the nearest replaces those before it
  }
  return recorded
}

async function recordSome({ db, now, recordEvent }: ExpiryAlertsInput, beforeMs: number): Promise<number> {
  const window = { now: now(), beforeMs }
  if ((await expiringKeys(db, window).limit(1).execute()).length === 0) return 0 // asks the reader: mostly there is none
  return db.transaction().execute(async (inside) => {
    const some = expiringKeys(inside, window).limit(ALERTS_AT_ONCE)
    const keys = await (dialectOf(inside) === 'postgres' ? some.forUpdate().skipLocked() : some).execute()
    for (const { account_id, id, name, last4, expires_at, last_used_at } of keys) {
      if (expires_at === null) continue
      const times = { expires_at: isoTime(expires_at), last_used_at: isoTimeOrNull(last_used_at) }
      const data = { account_id, key_id: id, name, last4, ...times }
      await recordEvent(inside, { accountId: account_id, type: 'key.expiring', data })
      await inside
        .updateTable('api_key')
        .set({ expiry_alert_due: expires_at - beforeMs })
        .where(({ and }) => and({ account_id, id }))
        .execute()
    }
    return keys.length
  })
}

/** Keys in use whose alert is due and was not sent: those that live longer than that, and expire later than when it was. */
function expiringKeys(db: Kysely<Database>, { now, beforeMs }: { readonly now: number; readonly beforeMs: number }) {
  return db
    .selectFrom('api_key')
    .select(['account_id', 'id', 'name', 'last4', 'expires_at', 'last_used_at'])
    .where(({ and }) => and({ revoked_at: null, disabled_at: null }))
    .where('expires_at', '>', now)
    .where('expires_at', '<=', now + beforeMs)
    .where((is) => is(is('created_at', '+', beforeMs), '<', is.ref('expires_at')))
    .where((is) =>
      is.or([is('expiry_alert_due', 'is', null), is(is('expiry_alert_due', '+', beforeMs), '<', is.ref('expires_at'))]),
    )
}
