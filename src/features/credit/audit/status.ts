/** What the last whole audit came to, as every process shows it in its metrics. */
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import type { LastAudit } from '../../../domain/signals.ts'

const FRESH_MS = 15_000

/**
 * The last whole audit that is known here; undefined: none has ended. Asking reads it anew in the background where it was
 * last read a while ago: a scrape never waits for the database.
 * @param clock Monotonic milliseconds.
 */
export function auditStatus(db: Kysely<Database>, clock: () => number): () => LastAudit | undefined {
  let known: LastAudit | undefined
  let readAt = Number.NEGATIVE_INFINITY
  const read = async (): Promise<void> => {
    const row = await db
      .selectFrom('ledger_audit')
      .select(['findings', 'ended_at'])
      .where('account_id', 'is', null)
      .where('since', 'is', null)
      .where('ended_at', 'is not', null)
      .orderBy('started_at', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (row?.ended_at != null) known = { findings: row.findings, endedAt: row.ended_at }
  }
  return () => {
    if (clock() - readAt >= FRESH_MS) {
      readAt = clock()
      read().catch(() => undefined) // the database is away: what is known stays
    }
    return known
  }
}
