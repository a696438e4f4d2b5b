import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { Caller } from '../../domain/caller.ts'
import type { AccountId, DeviceId, UserId } from '../../domain/ids.ts'
import type { Scope } from '../../domain/rights.ts'
import { readScopes } from './scopes.ts'

/** Times are Unix milliseconds. */
export interface Device {
  readonly accountId: AccountId
  readonly id: DeviceId
  readonly clientId: string
  readonly userId: UserId
  readonly email: string | undefined
  readonly scopes: readonly Scope[]
  readonly address: string | undefined
  readonly userAgent: string | undefined
  readonly createdAt: number
  readonly lastUsedAt: number | undefined
  readonly revokedAt: number | undefined
}

/** Which devices of an account are looked at; undefined: of everybody, all of them. */
export interface DeviceView {
  readonly userId: UserId | undefined
  readonly id: DeviceId | undefined
}

export type AccountView = DeviceView & { readonly accountId: AccountId }

/** Those that are connected no longer included, by creation; ids sort by time. */
export async function listDevices(
  db: Kysely<Database>,
  view: AccountView,
  page: { readonly limit: number; readonly order: 'asc' | 'desc'; readonly after: string | undefined },
): Promise<readonly Device[]> {
  const comparison = page.order === 'asc' ? '>' : '<'
  const rows = await devicesIn(db, view)
    .$if(page.after !== undefined, (query) => query.where('device.id', comparison, page.after as DeviceId))
    .orderBy('device.id', page.order)
    .limit(page.limit)
    .execute()
  return rows.map(toDevice)
}

/** Undefined when it is unknown, another account's, or not in view. */
export async function findDevice(db: Kysely<Database>, view: AccountView, id: DeviceId): Promise<Device | undefined> {
  const row = await devicesIn(db, view).where('device.id', '=', id).executeTakeFirst()
  return row === undefined ? undefined : toDevice(row)
}

/** What the audit log calls a caller. */
export async function labelOf(db: Kysely<Database>, { accountId, keyId, userId }: Caller): Promise<string | undefined> {
  const row =
    userId === undefined
      ? await db
          .selectFrom('api_key')
          .select('name')
          .where('account_id', '=', accountId)
          .where('id', '=', keyId)
          .executeTakeFirst()
      : await db.selectFrom('person').select('email as name').where('id', '=', userId).executeTakeFirst()
  return row?.name
}

function devicesIn(db: Kysely<Database>, { accountId, userId, id }: AccountView) {
  const query = db
    .selectFrom('device')
    .leftJoin('person', 'person.id', 'device.user_id')
    .where('device.account_id', '=', accountId)
    .selectAll('device')
    .select('person.email')
  const ofUser = userId === undefined ? query : query.where('device.user_id', '=', userId)
  return id === undefined ? ofUser : ofUser.where('device.id', '=', id)
}

type DeviceRow = Awaited<ReturnType<ReturnType<typeof devicesIn>['execute']>>[number]

function toDevice(row: DeviceRow): Device {
  return {
    accountId: row.account_id,
    id: row.id,
    clientId: row.client_id,
    userId: row.user_id,
    email: row.email ?? undefined,
    scopes: readScopes(row.scopes),
    address: row.address ?? undefined,
    userAgent: row.user_agent ?? undefined,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
  }
}
