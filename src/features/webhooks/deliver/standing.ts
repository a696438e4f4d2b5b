/** How endpoints fare: since when they fail, and when that, or their own word, is the end of it. */
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import { listRows, numberAt, textAt } from '../../../jobs/lists.ts'
import type { DeliveryEnd } from './ending.ts'

/** The receiver's word that it is gone for good. */
export const GONE = 410
const DAY_MS = 24 * 3_600_000
/** An endpoint that has failed for so long, and fails again, is disabled. */
export const FAILING_MS = 5 * DAY_MS

interface Standing {
  readonly accountId: string
  readonly webhookId: string
  readonly url: string
  hasSucceeded: boolean
  /** The first failure that no success has followed. */
  failedAt: number | undefined
  lastFailedAt: number | undefined
  goneAt: number | undefined
}

/** What attempts that ended in this order say of their endpoints, in the order of the endpoints' ids. */
export function standingsAfter(ends: readonly DeliveryEnd[]): readonly Readonly<Standing>[] {
  const standings = new Map<string, Standing>()
  for (const { delivery, attempt } of ends) {
    if (attempt === undefined) continue
    const { accountId, webhookId } = delivery.payload
    const { url } = delivery.webhook
    const key = `${webhookId} ${url}`
    const standing = standings.get(key) ?? { ...UNKNOWN, accountId, webhookId, url }
    standings.set(key, standing)
    if (attempt.error === undefined) Object.assign(standing, SUCCEEDED)
    else {
      standing.failedAt ??= attempt.startedAt
      standing.lastFailedAt = attempt.startedAt
      if (attempt.status === GONE) standing.goneAt = attempt.startedAt
    }
  }
  return [...standings.values()].sort((one, other) => (one.webhookId < other.webhookId ? -1 : 1))
}

const UNKNOWN = { hasSucceeded: false, failedAt: undefined, lastFailedAt: undefined, goneAt: undefined }
const SUCCEEDED = { hasSucceeded: true, failedAt: undefined, lastFailedAt: undefined, goneAt: undefined }

/**
 * Undefined where there were no attempts. Touches no row that stays as it is: endpoints that are well, and those known to
 * fail, are not written again and again. Says nothing of an endpoint that has another address by now, or is disabled.
 */
export function standingStatement(db: Kysely<Database>, ends: readonly DeliveryEnd[]): CompiledQuery | undefined {
  const standings = standingsAfter(ends)
  if (standings.length === 0) return undefined
  const rows = standings.map(({ accountId, webhookId, url, hasSucceeded, failedAt, lastFailedAt, goneAt }) => [
    ...[accountId, webhookId, url, hasSucceeded ? 1 : 0, failedAt ?? null, lastFailedAt ?? null, goneAt ?? null],
  ])
  const isOver = sql`(has_succeeded = 0 and failing_since <= last_failed_at - ${sql.lit(FAILING_MS)})`
  return sql`
    update webhook set
      failing_since = case when has_succeeded = 1 then failed_at else coalesce(failing_since, failed_at) end,
      disabled_at = case when gone_at is not null then gone_at when ${isOver} then last_failed_at end,
      disabled_reason = case when gone_at is not null then 'gone' when ${isOver} then 'failing' end
    from (select ${textAt(0)} as for_account, ${textAt(1)} as for_webhook, ${textAt(2)} as for_url,
      ${numberAt(3)} as has_succeeded, ${numberAt(4)} as failed_at, ${numberAt(5)} as last_failed_at,
      ${numberAt(6)} as gone_at from ${listRows(db, rows)}) as held
    where account_id = for_account and id = for_webhook and url = for_url and disabled_at is null
      and ((has_succeeded = 1 and failing_since is not null) or (failed_at is not null and failing_since is null)
        or gone_at is not null or ${isOver})`.compile(db)
}
