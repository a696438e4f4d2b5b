import type { Kysely } from 'kysely'
import type { Database, InstanceTable } from '../../db/schema/schema.ts'
import type { PageRequest } from '../../http/page.ts'
import { databaseTimeIn } from '../../jobs/sql.ts'

/** A running process, as it last reported; undefined: not reported yet. */
export interface Instance {
  readonly id: string
  readonly version: string
  readonly role: string
  readonly address: string | undefined
  /** Unix milliseconds by the database's clock, like `seenAt`. */
  readonly startedAt: number
  readonly seenAt: number
  /** CPU time of the last minute: 1 is one processor. */
  readonly load: number | undefined
  readonly lagMs: number | undefined
  readonly activeRequests: number | undefined
}

/**
 * By age.
 * @param seenWithinMs Instances that were not seen for longer are left out.
 */
export async function listInstances(
  db: Kysely<Database>,
  page: PageRequest,
  seenWithinMs: number,
): Promise<readonly Instance[]> {
  const { limit, order, after } = page
  const rows = await db
    .selectFrom('instance')
    .selectAll()
    .where('seen_at', '>=', databaseTimeIn(-seenWithinMs))
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after ?? ''))
    .orderBy('id', order)
    .limit(limit)
    .execute()
  return rows.map(toInstance)
}

/**
 * Finds where a process is reached. The address is undefined until it accepts connections.
 * @returns undefined when it ended, or was not seen for `seenWithinMs`.
 */
export async function findAddress(
  db: Kysely<Database>,
  id: string,
  seenWithinMs: number,
): Promise<{ readonly address: string | undefined } | undefined> {
  const row = await db
    .selectFrom('instance')
    .select('address')
    .where('id', '=', id)
    .where('seen_at', '>=', databaseTimeIn(-seenWithinMs))
    .executeTakeFirst()
  return row === undefined ? undefined : { address: row.address ?? undefined }
}

function toInstance(row: InstanceTable): Instance {
  return {
    id: row.id,
    version: row.version,
    role: row.role,
    address: row.address ?? undefined,
    startedAt: row.started_at,
    seenAt: row.seen_at,
    load: row.load_permille === null ? undefined : row.load_permille / 1_000,
    lagMs: row.lag_ms ?? undefined,
    activeRequests: row.active_requests ?? undefined,
  }
}
