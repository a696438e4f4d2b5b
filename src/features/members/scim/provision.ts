/**
 * Provisioning: what an identity provider says of people and groups becomes members of the account, their roles, and who is
 * in its teams. Each change is one transaction with the account's members locked.
 */
import type { Kysely, Transaction } from 'kysely'
import { disableWebhooksOf } from '../../../db/lineage.ts'
import type { Database } from '../../../db/schema/schema.ts'
import { ROLES, type Role, TEAM_ROLES, type TeamRole } from '../../../domain/identity/caller.ts'
import type { VouchedIdentity } from '../../../domain/identity/sign-in.ts'
import type { AccountId, GroupId, TeamId, UserId } from '../../../domain/ids.ts'
import type { Requester } from '../../../http/request-origin.ts'
import { isRecord } from '../../../lib/json.ts'
import type { EraseContent, FeatureDeps, WriteAudit } from '../../deps.ts'
import {
  createPerson,
  findMember,
  hasOtherOwner,
  type KnownPerson,
  lockMembers,
  putMember,
  removeMember,
  setRole,
} from '../queries.ts'
import { attributeOf, emailOf, listOf, nameOf, type Resource, readActive, ScimError, textAt } from './resource.ts'
import {
  deleteGroup,
  deleteUser,
  findGroup,
  findUser,
  groupNamed,
  groupsOfUsers,
  mappingsOf,
  membersOfGroups,
  putGroup,
  putUser,
  type ScimGroup,
  type ScimUser,
  userNamed,
} from './store.ts'

/** Role in the account of who is provisioned and has no other by a group. */
const ROLE_OF_PROVISIONED: Role = 'developer'

export interface ProvisionDeps extends Pick<FeatureDeps, 'db' | 'now' | 'ids'> {
  readonly writeAudit: WriteAudit
  readonly eraseContent: EraseContent
  /** Changes who is in a team. Implemented by `features/teams`. */
  readonly teams: TeamMembers
}

export interface TeamMembers {
  put(
    inside: Transaction<Database>,
    member: TeamMembership & { readonly role: TeamRole; readonly byGroup: boolean },
    now: number,
  ): Promise<void>
  remove(inside: Transaction<Database>, member: TeamMembership, now: number): Promise<unknown>
}

interface TeamMembership {
  readonly team: { readonly accountId: AccountId; readonly id: TeamId }
  readonly userId: UserId
}

type Change<Result> = (inside: Transaction<Database>, accountId: AccountId) => Promise<Result>

export function inAccount<Result>(
  { db }: ProvisionDeps,
  requester: Requester,
  change: Change<Result>,
): Promise<Result> {
  const { accountId } = requester.caller
  return db.transaction().execute(async (inside) => {
    await lockMembers(inside, accountId)
    return change(inside, accountId)
  })
}

/** @throws ScimError 409 where the name is taken. */
export function createUser(deps: ProvisionDeps, requester: Requester, resource: Resource): Promise<ScimUser> {
  return inAccount(deps, requester, async (inside, accountId) => {
    const userName = requireText(resource, 'userName')
    await assertUserNameFree(inside, { accountId, userName, userId: undefined })
    const email = emailOf(resource) ?? userName
    const userId =
      (await memberByEmail(inside, accountId, email)) ?? (await newPerson(deps, inside, { email, resource }))
    return saveUser(deps, inside, { requester, userId, resource })
  })
}

/** Replaces a user by what `change` makes of it. @throws ScimError 404 for one that is not provisioned here. */
export function changeUser(
  deps: ProvisionDeps,
  requester: Requester,
  { userId, change }: { readonly userId: UserId; readonly change: (before: Resource) => Resource },
): Promise<ScimUser> {
  return inAccount(deps, requester, async (inside, accountId) => {
    const before = await findUser(inside, { accountId, userId })
    if (before === undefined) throw unknownResource('user')
    const resource = change(before.resource)
    await assertUserNameFree(inside, { accountId, userName: requireText(resource, 'userName'), userId })
    return saveUser(deps, inside, { requester, userId, resource })
  })
}

/** Ends the membership and deletes what was captured of their requests. @throws ScimError 404 for one that is not provisioned here. */
export function removeUser(deps: ProvisionDeps, requester: Requester, userId: UserId): Promise<void> {
  return inAccount(deps, requester, async (inside, accountId) => {
    if ((await findUser(inside, { accountId, userId })) === undefined) throw unknownResource('user')
    await deactivate(deps, inside, { requester, userId })
    await deleteUser(inside, accountId, userId)
    await deps.eraseContent(inside, { audited: requester.audited, userId })
  })
}

interface SavedUser {
  readonly requester: Requester
  readonly userId: UserId
  readonly resource: Resource
}

async function saveUser(deps: ProvisionDeps, inside: Transaction<Database>, saved: SavedUser): Promise<ScimUser> {
  const { requester, userId, resource } = saved
  const { accountId } = requester.caller
  const active = readActive(attributeOf(resource, 'active'))
  const userName = requireText(resource, 'userName')
  const externalId = textAt(resource, 'externalId')
  const email = emailOf(resource) ?? userName
  const kept = { ...withoutSecrets(resource), active }
  await putUser(inside, { accountId, userId, userName, externalId, active, resource: kept, email }, deps.now())
  if (!active) await deactivate(deps, inside, saved)
  else {
    if ((await findMember(inside, { accountId, userId })) === undefined) await activate(deps, inside, saved)
    await applyGroups(deps, inside, { accountId, userId })
  }
  const user = await findUser(inside, { accountId, userId })
  if (user === undefined) throw unknownResource('user')
  return user
}

/** Passwords are never stored: nobody signs in with one. */
function withoutSecrets(resource: Resource): Resource {
  const omitted = new Set(['password', 'id', 'meta', 'groups', 'schemas'])
  return Object.fromEntries(Object.entries(resource).filter(([name]) => !omitted.has(name.toLowerCase())))
}

async function activate(deps: ProvisionDeps, inside: Transaction<Database>, saved: SavedUser): Promise<void> {
  const { requester, userId } = saved
  const { accountId } = requester.caller
  await putMember(inside, { accountId, userId, role: ROLE_OF_PROVISIONED }, deps.now())
  const event = {
    action: 'member.joined',
    subject: userId,
    details: { by: 'scim', role: ROLE_OF_PROVISIONED },
  } as const
  await deps.writeAudit(inside, { ...requester.audited, ...event, result: 'done' })
}

/** Ends the membership, with sessions, tokens and keys. @throws ScimError 409 for the last owner. */
async function deactivate(
  deps: ProvisionDeps,
  inside: Transaction<Database>,
  { requester, userId }: Pick<SavedUser, 'requester' | 'userId'>,
): Promise<void> {
  const { accountId } = requester.caller
  const member = await findMember(inside, { accountId, userId })
  if (member === undefined) return
  if (member.role === 'owner' && !(await hasOtherOwner(inside, { accountId, userId }))) {
    throw new ScimError(409, 'This is the last owner of the account. Make another member an owner first.', 'mutability')
  }
  await removeMember(inside, { accountId, userId }, deps.now())
  const event = { action: 'member.removed', subject: userId, details: { by: 'scim', role: member.role } } as const
  await deps.writeAudit(inside, { ...requester.audited, ...event, result: 'done' })
  await disableWebhooksOf(inside, { accountId, userId }, deps.now())
}

export function createGroup(deps: ProvisionDeps, requester: Requester, resource: Resource): Promise<ScimGroup> {
  return inAccount(deps, requester, (inside) =>
    saveGroup(deps, inside, { requester, id: deps.ids.group(), resource, before: [] }),
  )
}

/** Replaces a group by what `change` makes of it, as JSON with its members. @throws ScimError */
export function changeGroup(
  deps: ProvisionDeps,
  requester: Requester,
  { id, change }: { readonly id: GroupId; readonly change: (before: Resource) => Resource },
): Promise<ScimGroup> {
  return inAccount(deps, requester, async (inside, accountId) => {
    const group = await findGroup(inside, { accountId, id })
    if (group === undefined) throw unknownResource('group')
    const before = (await membersOfGroups(inside, accountId, [id])).map((each) => each.user_id)
    const { displayName, externalId } = group
    const members = before.map((value) => ({ value }))
    const resource = change({ displayName, members, ...(externalId !== undefined && { externalId }) })
    return saveGroup(deps, inside, { requester, id, resource, before })
  })
}

export function removeGroup(deps: ProvisionDeps, requester: Requester, id: GroupId): Promise<void> {
  return inAccount(deps, requester, async (inside, accountId) => {
    if ((await findGroup(inside, { accountId, id })) === undefined) throw unknownResource('group')
    const members = await membersOfGroups(inside, accountId, [id])
    await deleteGroup(inside, accountId, id)
    for (const { user_id: userId } of members) await applyGroups(deps, inside, { accountId, userId })
    const event = { action: 'group.removed', subject: id, details: {} } as const
    await deps.writeAudit(inside, { ...requester.audited, ...event, result: 'done' })
  })
}

interface SavedGroup {
  readonly requester: Requester
  readonly id: GroupId
  readonly resource: Resource
  /** Members until now. */
  readonly before: readonly UserId[]
}

async function saveGroup(deps: ProvisionDeps, inside: Transaction<Database>, saved: SavedGroup): Promise<ScimGroup> {
  const { requester, id, resource, before } = saved
  const { accountId } = requester.caller
  const displayName = requireText(resource, 'displayName')
  const other = await groupNamed(inside, accountId, displayName)
  if (other !== undefined && other.id !== id) {
    throw new ScimError(409, `A group '${displayName}' exists.`, 'uniqueness')
  }
  const members = await knownMembers(inside, accountId, attributeOf(resource, 'members'))
  const externalId = textAt(resource, 'externalId')
  await putGroup(inside, { accountId, id, displayName, externalId, members }, deps.now())
  for (const userId of new Set([...before, ...members])) await applyGroups(deps, inside, { accountId, userId })
  const event = { action: 'group.provisioned', subject: id, details: { name: displayName, members: members.length } }
  await deps.writeAudit(inside, { ...requester.audited, ...event, result: 'done' })
  const group = await findGroup(inside, { accountId, id })
  if (group === undefined) throw unknownResource('group')
  return group
}

/** @throws ScimError 400 for somebody who is not provisioned here. */
async function knownMembers(
  inside: Transaction<Database>,
  accountId: AccountId,
  members: unknown,
): Promise<readonly UserId[]> {
  const ids = listOf(members).map((each) => (isRecord(each) ? each['value'] : each)) as readonly UserId[]
  const unique = [...new Set(ids)]
  for (const userId of unique) {
    const user = typeof userId === 'string' ? await findUser(inside, { accountId, userId }) : undefined
    if (user === undefined) throw new ScimError(400, `No user has the id '${String(userId)}'.`, 'invalidValue')
  }
  return unique
}

/** Brings the roles of a person in line with the groups they are in. Owners keep theirs, and who was added by hand. */
export async function applyGroups(
  { now, teams }: Pick<ProvisionDeps, 'now' | 'teams'>,
  inside: Transaction<Database>,
  {
    accountId,
    userId,
    claimed,
  }: { readonly accountId: AccountId; readonly userId: UserId; readonly claimed?: readonly string[] },
): Promise<void> {
  const member = await findMember(inside, { accountId, userId })
  const mappings = await mappingsOf(inside, accountId)
  if (member === undefined || mappings.length === 0) return
  const groups = claimed ?? (await namesOfGroups(inside, accountId, userId))
  const names = new Set(groups.map((name) => name.toLowerCase()))
  const own = mappings.filter(({ group }) => names.has(group.toLowerCase()))
  const role = strongest(
    ROLES,
    own.filter(({ teamId }) => teamId === null).map((each) => each.role as Role),
  )
  if (role !== undefined && member.role !== 'owner' && member.role !== role) {
    await setRole(inside, { accountId, userId, role }, now())
  }
  const current = await inside
    .selectFrom('team_member')
    .select(['team_id', 'role', 'by_group'])
    .where(({ and }) => and({ account_id: accountId, user_id: userId }))
    .execute()
  const byTeam = Map.groupBy(
    own.filter(({ teamId }) => teamId !== null),
    ({ teamId }) => teamId as TeamId,
  )
  for (const [id, granted] of byTeam) {
    const before = current.find(({ team_id }) => team_id === id)
    const wanted = strongest(
      TEAM_ROLES,
      granted.map((each) => each.role as TeamRole),
    )
    if (wanted === undefined || before?.by_group === 0 || before?.role === wanted) continue
    await teams.put(inside, { team: { accountId, id }, userId, role: wanted, byGroup: true }, now())
  }
  for (const { team_id: id, by_group } of current) {
    if (by_group === 1 && !byTeam.has(id)) await teams.remove(inside, { team: { accountId, id }, userId }, now())
  }
}

async function namesOfGroups(inside: Transaction<Database>, accountId: AccountId, userId: UserId) {
  const groups = await groupsOfUsers(inside, accountId, [userId])
  return groups.flatMap(({ display_name, external_id }) => [
    display_name,
    ...(external_id === null ? [] : [external_id]),
  ])
}

/** @param order The strongest first. */
function strongest<Name extends string>(order: readonly Name[], given: readonly Name[]): Name | undefined {
  return order.find((each) => given.includes(each))
}

async function memberByEmail(
  inside: Transaction<Database>,
  accountId: AccountId,
  email: string,
): Promise<UserId | undefined> {
  const row = await inside
    .selectFrom('member')
    .innerJoin('person', 'person.id', 'member.user_id')
    .leftJoin('scim_user', (join) =>
      join.onRef('scim_user.account_id', '=', 'member.account_id').onRef('scim_user.user_id', '=', 'member.user_id'),
    )
    .select('member.user_id')
    .where(({ and }) => and({ 'member.account_id': accountId, 'member.removed_at': null }))
    .where('scim_user.user_id', 'is', null)
    .where(({ eb, fn }) => eb(fn<string>('lower', ['person.email']), '=', email.toLowerCase()))
    .orderBy('member.created_at')
    .limit(1)
    .executeTakeFirst()
  return row?.user_id
}

async function newPerson(
  deps: ProvisionDeps,
  inside: Transaction<Database>,
  { email, resource }: { readonly email: string; readonly resource: Resource },
): Promise<UserId> {
  return (await createPerson(inside, { email, name: nameOf(resource) ?? email }, deps)).userId
}

interface TakenName {
  readonly accountId: AccountId
  readonly userName: string
  readonly userId: UserId | undefined
}

async function assertUserNameFree(
  inside: Transaction<Database>,
  { accountId, userName, userId }: TakenName,
): Promise<void> {
  const other = await userNamed(inside, accountId, userName)
  if (other === undefined || other.user_id === userId) return
  throw new ScimError(409, `The user name '${userName}' is taken.`, 'uniqueness')
}

function requireText(resource: Resource, name: string): string {
  const text = textAt(resource, name)
  if (text === undefined) throw new ScimError(400, `'${name}' is required.`, 'invalidValue')
  return text
}

/** The same for another account's and for an unknown ID. */
export function unknownResource(kind: 'user' | 'group'): ScimError {
  return new ScimError(404, `No ${kind} has this ID.`)
}

// The first sign-in of somebody whom an identity provider has provisioned by SCIM.

/** Accounts whose provisioned people sign in with an issuer; undefined: the configuration names none. */
export type ProvisionedAccounts = (issuer: string) => ReadonlySet<string> | undefined

/** Accounts that provisioned one address and are looked at. */
const MOST_ACCOUNTS = 100

/**
 * Finds the person that was provisioned with a verified address, and that nobody has signed in as. An account can provision
 * any address: what it provisions counts only where the operator trusts it with people of this issuer, or where the
 * installation has no other account. Undefined where several such accounts provisioned the address: none is preferred.
 */
export async function provisionedPerson(
  db: Kysely<Database>,
  { issuer, email, emailVerified }: Pick<VouchedIdentity, 'issuer' | 'email' | 'emailVerified'>,
  accountsOf: ProvisionedAccounts,
): Promise<KnownPerson | undefined> {
  if (!emailVerified) return undefined
  const trusted = await accountsTrusting(db, issuer, accountsOf)
  const rows = await db
    .selectFrom('scim_user')
    .innerJoin('person', 'person.id', 'scim_user.user_id')
    .leftJoin('identity', 'identity.user_id', 'scim_user.user_id')
    .select(['scim_user.account_id', 'person.id as userId', 'person.email', 'person.name', 'person.disabled_at'])
    .where('scim_user.email_lower', '=', email.toLowerCase())
    .where('scim_user.active', '=', 1)
    .where('identity.user_id', 'is', null)
    .limit(MOST_ACCOUNTS)
    .execute()
  const [row, another] = rows.filter(({ account_id: accountId }) => trusted.has(accountId))
  if (row === undefined || another !== undefined) return undefined
  const { userId, name, disabled_at } = row
  return { userId, email: row.email, name, isDisabled: disabled_at !== null }
}

/** Accounts whose people an issuer vouches for. */
export async function accountsTrusting(
  db: Kysely<Database>,
  issuer: string,
  accountsOf: ProvisionedAccounts,
): Promise<ReadonlySet<string>> {
  return accountsOf(issuer) ?? (await onlyAccount(db))
}

async function onlyAccount(db: Kysely<Database>): Promise<ReadonlySet<string>> {
  const accounts = await db.selectFrom('account').select('id').limit(2).execute()
  return new Set(accounts.length === 1 ? accounts.map(({ id }) => id) : [])
}
