import type { Kysely } from 'kysely'
import type { CredentialTable, Database } from '../../db/schema.ts'
import type { DeviceId } from '../../domain/ids.ts'
import { secretHash } from '../../domain/secret-text.ts'
import type { DeviceReference } from './live-device.ts'

type TokenKind = Extract<CredentialTable['kind'], 'access' | 'refresh'>

/** The device that a token was given to, whatever has become of either. */
export async function findTokenOwner(
  db: Kysely<Database>,
  token: string,
  kinds: readonly TokenKind[],
): Promise<DeviceReference | undefined> {
  const row = await db
    .selectFrom('credential')
    .select(['account_id', 'id'])
    .where('hash', '=', secretHash(token))
    .where('kind', 'in', kinds)
    .executeTakeFirst()
  // What these kinds name is a device.
  return row === undefined ? undefined : { accountId: row.account_id, id: row.id as DeviceId }
}
