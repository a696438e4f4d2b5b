/** Checks lists of IDs in bodies. */
import type { Kysely } from 'kysely'
import { GatewayError } from '../domain/errors.ts'
import type { AccountId } from '../domain/ids.ts'
import type { Database } from './schema/schema.ts'

type Ids = readonly string[] | null | undefined

interface References {
  readonly teams?: Ids
  readonly keys?: Ids
}

/** Rejects with 404 for an ID that is not the account's. */
export async function assertKnown(
  db: Kysely<Database>,
  accountId: AccountId,
  { teams, keys }: References,
): Promise<void> {
  await assertIds(db, accountId, { table: 'team', ids: teams, param: 'teams' })
  await assertIds(db, accountId, { table: 'api_key', ids: keys, param: 'keys' })
}

interface WantedIds {
  readonly table: 'team' | 'api_key'
  readonly ids: Ids
  readonly param: string
}

async function assertIds(db: Kysely<Database>, accountId: AccountId, { table, ids, param }: WantedIds): Promise<void> {
  const wanted = [...new Set(ids ?? [])]
  if (wanted.length === 0) return
  const rows = await db
    .selectFrom(table)
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', 'in', wanted as never[])
    .execute()
  const known = new Set<string>(rows.map(({ id }) => id))
  const unknown = wanted.find((id) => !known.has(id))
  if (unknown !== undefined) throw new GatewayError('not_found', `Nothing has the id '${unknown}'.`, { param })
}
