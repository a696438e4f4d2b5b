import type { Kysely } from 'kysely'
import { pageBy } from '../../db/query.ts'
import type { Database, InstanceTable } from '../../db/schema/schema.ts'
import type { PageRequest } from '../../http/page.ts'
import { databaseTimeIn } from '../../jobs/sql.ts'

/**
 * By age.
 * @param seenWithinMs Instances that were not seen for longer are left out.
 */
export async function listInstances(
  db: Kysely<Database>,
  page: PageRequest,
  seenWithinMs: number,
): Promise<readonly InstanceTable[]> {
  return db
    .selectFrom('instance')
    .selectAll()
    .where('seen_at', '>=', databaseTimeIn(-seenWithinMs))
    .$call(pageBy('id', page))
    .execute()
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
