/** Connected devices: listed, found with the person whom they act for, and disconnected, which ends all of their tokens. */
import type { Kysely, Transaction } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { AuditActor } from '../../domain/audit.ts'
import type { Caller, Role, Scope } from '../../domain/identity/caller.ts'
import type { AccountId, DeviceId, UserId } from '../../domain/ids.ts'
import type { PageRequest } from '../../http/page.ts'
import type { Authority, DeviceOrigin } from './authority.ts'
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

/** Which devices of an account are visible; undefined: those of everybody, all of them. */
export interface DeviceView {
  readonly userId: UserId | undefined
  readonly id: DeviceId | undefined
}

export type AccountView = DeviceView & { readonly accountId: AccountId }

/** Those that are connected no longer included, by creation; ids sort by time. */
export async function listDevices(
  db: Kysely<Database>,
  view: AccountView,
  page: PageRequest,
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

/** Undefined when it was revoked, or its person is disabled or no member any more. */
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
  readonly origin: DeviceOrigin
  readonly actor: AuditActor
  readonly action: 'device.revoked' | 'device.reuse_detected'
}

/** @returns false when it was disconnected before. */
export async function disconnect(
  { writeAudit }: Authority,
  inside: Transaction<Database>,
  { device, now, origin, actor, action }: Disconnection,
): Promise<boolean> {
  const { accountId, id, clientId } = device
  const { numUpdatedRows } = await inside
    .updateTable('device')
    .set({ revoked_at: now, changed_at: nextChangedAt('device', now) })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
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
