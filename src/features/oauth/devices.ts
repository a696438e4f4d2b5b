/** Rows of connected devices, and their disconnection, which ends all of their tokens. */
import type { Kysely, Transaction } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import { pageBy } from '../../db/query.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { AuditActor } from '../../domain/audit.ts'
import type { Caller, Role, Scope } from '../../domain/identity/caller.ts'
import type { Origin } from '../../domain/identity/sign-in.ts'
import type { AccountId, DeviceId, UserId } from '../../domain/ids.ts'
import type { PageRequest } from '../../http/page.ts'
import type { Authority } from './authority.ts'
import { readScopes } from './scopes.ts'

export interface DeviceReference {
  readonly accountId: AccountId
  readonly id: DeviceId
}

export interface ConnectedDevice extends DeviceReference {
  readonly clientId: string
  readonly userId: UserId
  readonly email: string
  readonly role: Role
  readonly scopes: readonly Scope[]
  /** Unix milliseconds by the database's clock. */
  readonly createdAt: number
}

/** Selects devices of an account. Undefined: of every user; every device. */
export interface DeviceView {
  readonly userId: UserId | undefined
  readonly id: DeviceId | undefined
}

export type AccountView = DeviceView & { readonly accountId: AccountId }

/** Lists devices by creation, including disconnected ones; IDs sort by time. */
export async function listDevices(
  db: Kysely<Database>,
  view: AccountView,
  page: PageRequest,
): Promise<readonly Device[]> {
  return devicesIn(db, view).$call(pageBy('device.id', page)).execute()
}

/** Undefined for an unknown device, and one outside the view. */
export async function findDevice(db: Kysely<Database>, view: AccountView, id: DeviceId): Promise<Device | undefined> {
  return devicesIn(db, view).where('device.id', '=', id).executeTakeFirst()
}

/** Returns the name of a caller in the audit log. */
export async function labelOf(db: Kysely<Database>, { accountId, keyId, userId }: Caller): Promise<string | undefined> {
  const row =
    userId === undefined
      ? await db
          .selectFrom('api_key')
          .select('name')
          .where(({ and }) => and({ account_id: accountId, id: keyId }))
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

/** A row of a device, with the e-mail address of its user. */
export type Device = Awaited<ReturnType<ReturnType<typeof devicesIn>['execute']>>[number]

/** Undefined for a revoked device, and one whose user is disabled or no longer a member. */
export async function findConnectedDevice(
  db: Kysely<Database>,
  { accountId, id }: DeviceReference,
): Promise<ConnectedDevice | undefined> {
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

interface Disconnection {
  readonly device: DeviceReference & { readonly clientId: string }
  readonly now: number
  readonly origin: Origin
  readonly actor: AuditActor
  readonly action: 'device.revoked' | 'device.reuse_detected'
}

/** @returns false when the device was already disconnected. */
export async function disconnect(
  { writeAudit }: Authority,
  inside: Transaction<Database>,
  { device, now, origin, actor, action }: Disconnection,
): Promise<boolean> {
  const { accountId, id, clientId } = device
  const { numUpdatedRows } = await inside
    .updateTable('device')
    .set({ revoked_at: now, changed_at: nextChangedAt('device', now) })
    .where(({ and }) => and({ account_id: accountId, id, revoked_at: null }))
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await writeAudit(inside, {
    accountId,
    actor,
    action,
    subject: id,
    result: 'done',
    ...origin,
    details: { client: clientId },
  })
  return true
}
