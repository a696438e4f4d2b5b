import type { Kysely } from 'kysely'
import type { Database, InstanceTable } from '../../db/schema.ts'
import { databaseTimeIn } from '../../jobs/clock.ts'

/** A running process, as it last spoke of itself; absent: it has not yet. */
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

export interface InstancePage {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The id of the last one of the page before; undefined: from the start. */
  readonly after: string | undefined
}

/**
 * By age.
 * @param seenWithinMs Who was not seen for longer is left out.
 */
export async function listInstances(
  db: Kysely<Database>,
  page: InstancePage,
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
 * Where a process is reached. Its address is undefined as long as it takes no connections.
 * @returns undefined when it ended, or was not seen for `seenWithinMs`.
 */
export async function findPlace(
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
