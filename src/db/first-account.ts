/** The installation's first account, which is the operator's. */
import type { Kysely } from 'kysely'
import type { AccountId } from '../domain/ids.ts'
import type { Database } from './schema/schema.ts'

/** @returns Undefined: the installation has none yet. */
export async function findFirstAccount(db: Kysely<Database>): Promise<AccountId | undefined> {
  const row = await db.selectFrom('setting').select('value').where('key', '=', 'first_account').executeTakeFirst()
  return row?.value as AccountId | undefined // as the key says
}
