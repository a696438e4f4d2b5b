/** Rows of provisioned people and groups. */
import { type Kysely, type Selectable, sql } from 'kysely'
import type { ScimGroupTable, ScimUserTable } from '../../../db/schema/identity.ts'
import type { Database } from '../../../db/schema/schema.ts'
import { countRows } from '../../../db/shared-queries.ts'
import type { Role, TeamRole } from '../../../domain/identity/caller.ts'
import type { AccountId, GroupId, TeamId, UserId } from '../../../domain/ids.ts'
import { type Comparison, type Resource, ScimError } from './resource.ts'

/** Times are Unix milliseconds. */
export interface ScimUser {
  readonly userId: UserId
  readonly userName: string
  readonly externalId: string | undefined
  readonly active: boolean
  /** What the identity provider sent. */
  readonly resource: Resource
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ScimGroup {
  readonly id: GroupId
  readonly displayName: string
  readonly externalId: string | undefined
  readonly createdAt: number
  readonly updatedAt: number
}

export interface Window {
  readonly filter: readonly Comparison[]
  /** From 0. */
  readonly offset: number
  readonly count: number
}

/** Attributes that a filter can compare, and their columns. */
const USER_COLUMNS: Readonly<Record<string, string>> = {
  id: 'user_id',
  username: 'user_name_lower',
  externalid: 'external_id',
  active: 'active',
  'emails.value': 'email_lower',
  'emails[type eq "work"].value': 'email_lower',
  emails: 'email_lower',
}
const GROUP_COLUMNS: Readonly<Record<string, string>> = {
  id: 'id',
  displayname: 'display_name_lower',
  externalid: 'external_id',
}
const FOLDED: ReadonlySet<string> = new Set(['user_name_lower', 'email_lower', 'display_name_lower'])

function condition({ attribute, value }: Comparison, columns: Readonly<Record<string, string>>) {
  const column = columns[attribute]
  if (column === undefined) {
    const names = Object.keys(columns).join(', ')
    throw new ScimError(400, `Filters can compare ${names}; not '${attribute.slice(0, 100)}'.`, 'invalidFilter')
  }
  if (column === 'active') return sql<boolean>`active = ${String(value) === 'true' ? 1 : 0}`
  const wanted = FOLDED.has(column) ? String(value).toLowerCase() : String(value)
  return sql<boolean>`${sql.ref(column)} = ${wanted}`
}

export async function listUsers(db: Kysely<Database>, accountId: AccountId, { filter, offset, count }: Window) {
  const conditions = filter.map((each) => condition(each, USER_COLUMNS))
  const all = db
    .selectFrom('scim_user')
    .where('account_id', '=', accountId)
    .where((is) => is.and(conditions))
  const total = await countRows(all)
  const rows = await all.selectAll().orderBy('user_id').limit(count).offset(offset).execute()
  return { total, rows: rows.map(toUser) }
}

export async function findUser(
  db: Kysely<Database>,
  { accountId, userId }: { readonly accountId: AccountId; readonly userId: UserId },
): Promise<ScimUser | undefined> {
  const row = await db
    .selectFrom('scim_user')
    .selectAll()
    .where(({ and }) => and({ account_id: accountId, user_id: userId }))
    .executeTakeFirst()
  return row && toUser(row)
}

export async function userNamed(db: Kysely<Database>, accountId: AccountId, userName: string) {
  return db
    .selectFrom('scim_user')
    .select('user_id')
    .where(({ and }) => and({ account_id: accountId, user_name_lower: userName.toLowerCase() }))
    .executeTakeFirst()
}

export interface StoredUser extends Omit<ScimUser, 'createdAt' | 'updatedAt'> {
  readonly accountId: AccountId
  readonly email: string
}

/** @param now Unix milliseconds. */
export async function putUser(db: Kysely<Database>, user: StoredUser, now: number): Promise<void> {
  const columns = {
    user_name: user.userName,
    user_name_lower: user.userName.toLowerCase(),
    email_lower: user.email.toLowerCase(),
    external_id: user.externalId ?? null,
    active: user.active ? (1 as const) : (0 as const),
    resource: JSON.stringify(user.resource),
    updated_at: now,
  }
  await db
    .insertInto('scim_user')
    .values({ account_id: user.accountId, user_id: user.userId, created_at: now, ...columns })
    .onConflict((conflict) => conflict.columns(['account_id', 'user_id']).doUpdateSet(columns))
    .execute()
}

export async function deleteUser(db: Kysely<Database>, accountId: AccountId, userId: UserId): Promise<void> {
  const of = { account_id: accountId, user_id: userId }
  await db
    .deleteFrom('scim_group_member')
    .where(({ and }) => and(of))
    .execute()
  await db
    .deleteFrom('scim_user')
    .where(({ and }) => and(of))
    .execute()
}

export async function listGroups(db: Kysely<Database>, accountId: AccountId, { filter, offset, count }: Window) {
  const [members, others] = [filter.filter(isOfMembers), filter.filter((each) => !isOfMembers(each))]
  const conditions = others.map((each) => condition(each, GROUP_COLUMNS))
  const all = db
    .selectFrom('scim_group')
    .where('account_id', '=', accountId)
    .where((is) =>
      is.and([
        ...conditions,
        ...members.map(({ value }) =>
          is.exists(
            is
              .selectFrom('scim_group_member')
              .select('user_id')
              .where('scim_group_member.account_id', '=', accountId)
              .whereRef('scim_group_member.group_id', '=', 'scim_group.id')
              .where('user_id', '=', String(value) as UserId),
          ),
        ),
      ]),
    )
  const total = await countRows(all)
  const rows = await all.selectAll().orderBy('id').limit(count).offset(offset).execute()
  return { total, rows: rows.map(toGroup) }
}

/** Entra asks whether somebody is in a group. */
function isOfMembers({ attribute }: Comparison): boolean {
  return attribute === 'members' || attribute === 'members.value'
}

export async function findGroup(
  db: Kysely<Database>,
  { accountId, id }: { readonly accountId: AccountId; readonly id: GroupId },
): Promise<ScimGroup | undefined> {
  const row = await db
    .selectFrom('scim_group')
    .selectAll()
    .where(({ and }) => and({ account_id: accountId, id }))
    .executeTakeFirst()
  return row && toGroup(row)
}

export async function groupNamed(db: Kysely<Database>, accountId: AccountId, displayName: string) {
  return db
    .selectFrom('scim_group')
    .select('id')
    .where(({ and }) => and({ account_id: accountId, display_name_lower: displayName.toLowerCase() }))
    .executeTakeFirst()
}

export interface StoredGroup extends Pick<ScimGroup, 'id' | 'displayName' | 'externalId'> {
  readonly accountId: AccountId
  readonly members: readonly UserId[]
}

/** @param now Unix milliseconds. */
export async function putGroup(db: Kysely<Database>, group: StoredGroup, now: number): Promise<void> {
  const { accountId, id, displayName, externalId, members } = group
  const columns = {
    display_name: displayName,
    display_name_lower: displayName.toLowerCase(),
    external_id: externalId ?? null,
    updated_at: now,
  }
  await db
    .insertInto('scim_group')
    .values({ account_id: accountId, id, created_at: now, ...columns })
    .onConflict((conflict) => conflict.columns(['account_id', 'id']).doUpdateSet(columns))
    .execute()
  await db
    .deleteFrom('scim_group_member')
    .where(({ and }) => and({ account_id: accountId, group_id: id }))
    .execute()
  for (let at = 0; at < members.length; at += 1_000) {
    const rows = members.slice(at, at + 1_000).map((user_id) => ({ account_id: accountId, group_id: id, user_id }))
    await db.insertInto('scim_group_member').values(rows).execute()
  }
}

export async function deleteGroup(db: Kysely<Database>, accountId: AccountId, id: GroupId): Promise<void> {
  await db
    .deleteFrom('scim_group_member')
    .where(({ and }) => and({ account_id: accountId, group_id: id }))
    .execute()
  await db
    .deleteFrom('scim_group')
    .where(({ and }) => and({ account_id: accountId, id }))
    .execute()
}

/** With the names of their members, in the order of their IDs. */
export async function membersOfGroups(db: Kysely<Database>, accountId: AccountId, ids: readonly GroupId[]) {
  if (ids.length === 0) return []
  return db
    .selectFrom('scim_group_member')
    .innerJoin('scim_user', (join) =>
      join
        .onRef('scim_user.account_id', '=', 'scim_group_member.account_id')
        .onRef('scim_user.user_id', '=', 'scim_group_member.user_id'),
    )
    .select(['scim_group_member.group_id', 'scim_group_member.user_id', 'scim_user.user_name'])
    .where('scim_group_member.account_id', '=', accountId)
    .where('scim_group_member.group_id', 'in', ids)
    .orderBy('scim_group_member.user_id')
    .execute()
}

export async function groupsOfUsers(db: Kysely<Database>, accountId: AccountId, ids: readonly UserId[]) {
  if (ids.length === 0) return []
  return db
    .selectFrom('scim_group_member')
    .innerJoin('scim_group', (join) =>
      join
        .onRef('scim_group.account_id', '=', 'scim_group_member.account_id')
        .onRef('scim_group.id', '=', 'scim_group_member.group_id'),
    )
    .select(['scim_group_member.user_id', 'scim_group.id', 'scim_group.display_name', 'scim_group.external_id'])
    .where('scim_group_member.account_id', '=', accountId)
    .where('scim_group_member.user_id', 'in', ids)
    .execute()
}

/** What a group of an identity provider means here. */
export interface GroupMapping {
  /** Its name, or its ID at the identity provider. */
  readonly group: string
  /** Null: `role` is one in the account. */
  readonly teamId: TeamId | null
  readonly role: Role | TeamRole
}

export async function mappingsOf(db: Kysely<Database>, accountId: AccountId): Promise<readonly GroupMapping[]> {
  const rows = await db
    .selectFrom('group_mapping')
    .select(['group_name', 'team_id', 'role'])
    .where('account_id', '=', accountId)
    .orderBy('group_name')
    .orderBy('team_id')
    .execute()
  return rows.map(({ group_name: group, team_id, role }) => ({ group, teamId: team_id === '' ? null : team_id, role }))
}

function toUser(row: Selectable<ScimUserTable>): ScimUser {
  return {
    userId: row.user_id,
    userName: row.user_name,
    externalId: row.external_id ?? undefined,
    active: row.active === 1,
    resource: JSON.parse(row.resource) as Resource,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function toGroup(row: Selectable<ScimGroupTable>): ScimGroup {
  const { id, display_name: displayName, external_id, created_at: createdAt, updated_at: updatedAt } = row
  return { id, displayName, externalId: external_id ?? undefined, createdAt, updatedAt }
}
