/** A device whose tokens are good: connected, of a person who is still a member. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountId, DeviceId, UserId } from '../../domain/ids.ts'
import type { Role, Scope } from '../../domain/rights.ts'
import { readScopes } from './scopes.ts'

export interface DeviceReference {
  readonly accountId: AccountId
  readonly id: DeviceId
}

export interface LiveDevice extends DeviceReference {
  readonly clientId: string
  readonly userId: UserId
  readonly email: string
  readonly role: Role
  readonly scopes: readonly Scope[]
  /** Unix milliseconds by the database's clock. */
  readonly createdAt: number
}

/** Undefined when it was revoked, or its person is disabled or no member any more. */
export async function findLiveDevice(
  db: Kysely<Database>,
  { accountId, id }: DeviceReference,
): Promise<LiveDevice | undefined> {
  const row = await db
    .selectFrom('device')
    .innerJoin('member', (join) =>
      join.onRef('member.account_id', '=', 'device.account_id').onRef('member.user_id', '=', 'device.user_id'),
    )
    .innerJoin('person', 'person.id', 'device.user_id')
    .where('device.account_id', '=', accountId)
    .where('device.id', '=', id)
    .where('device.revoked_at', 'is', null)
    .where('member.removed_at', 'is', null)
    .where('person.disabled_at', 'is', null)
    .select(['device.client_id', 'device.user_id', 'device.scopes', 'device.created_at', 'person.email', 'member.role'])
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { client_id: clientId, user_id: userId, created_at: createdAt, email, role } = row
  return { accountId, id, clientId, userId, email, role, scopes: readScopes(row.scopes), createdAt }
}
