/** Rows of members and people, and the identities under which providers know them. Removed members are never returned. */
import type { Kysely, Transaction } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { countRows } from '../../db/shared-queries.ts'
import type { Role } from '../../domain/identity/caller.ts'
import type { VouchedIdentity } from '../../domain/identity/sign-in.ts'
import type { AccountId, IdSource, UserId } from '../../domain/ids.ts'
import type { PageRequest } from '../../http/page.ts'
import type { Membership as AccountOfPerson } from '../../http/pages/layout.ts'

const MAX_NAME_LENGTH = 200
/** RFC 5321: 64 before the sign, 255 after it. */
const MAX_EMAIL_LENGTH = 320
/** Accounts of one person that are listed. */
const MAX_ACCOUNTS = 1_000

export interface Membership {
  readonly accountId: AccountId
  readonly userId: UserId
}

/** `createdAt` is when they joined, in Unix milliseconds. */
export interface Member {
  readonly userId: UserId
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly createdAt: number
}

/** Locks the members of an account for the transaction. Called first by every decision that depends on them. */
export function lockMembers(inside: Transaction<Database>, accountId: AccountId): Promise<void> {
  return acquireAdvisoryLock(inside, `members of ${accountId}`)
}

/** The position of a member in a list: time of joining, and id. */
export function positionOf({ createdAt, userId }: Pick<Member, 'createdAt' | 'userId'>): string {
  return `${createdAt} ${userId}`
}

/** By when they joined. The page starts after a `positionOf`. */
export async function listMembers(
  db: Kysely<Database>,
  accountId: AccountId,
  { limit, order, after }: PageRequest,
): Promise<readonly Member[]> {
  const rows = await membersOf(db, accountId)
    .$if(after !== undefined, (query) => {
      const [joinedAt, userId = ''] = (after ?? '').split(' ')
      const comparison = order === 'asc' ? '>' : '<'
      return query.where(({ eb, refTuple, tuple }) =>
        eb(
          refTuple('member.created_at', 'member.user_id'),
          comparison,
          tuple(Number(joinedAt), userId as UserId), // from a signed cursor
        ),
      )
    })
    .orderBy('member.created_at', order)
    .orderBy('member.user_id', order)
    .limit(limit)
    .execute()
  return rows.map(toMember)
}

/** Undefined for a person who is unknown, another account's, or removed. */
export async function findMember(db: Kysely<Database>, { accountId, userId }: Membership): Promise<Member | undefined> {
  const row = await membersOf(db, accountId).where('member.user_id', '=', userId).executeTakeFirst()
  return row === undefined ? undefined : toMember(row)
}

/** The one who has been owner for longest, of those who can sign in. */
export async function firstOwner(db: Kysely<Database>, accountId: AccountId): Promise<UserId | undefined> {
  const row = await membersOf(db, accountId)
    .where(({ and }) => and({ 'member.role': 'owner', 'person.disabled_at': null }))
    .orderBy('member.created_at')
    .orderBy('member.user_id')
    .limit(1)
    .executeTakeFirst()
  return row?.user_id
}

/** Whether any account of the installation has an owner, who may be disabled. */
export async function hasAnyOwner(db: Kysely<Database>): Promise<boolean> {
  const row = await db
    .selectFrom('member')
    .select('user_id')
    .where(({ and }) => and({ role: 'owner', removed_at: null }))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Whether another owner can sign in. */
export async function hasOtherOwner(db: Kysely<Database>, { accountId, userId }: Membership): Promise<boolean> {
  const other = await membersOf(db, accountId)
    .where('member.role', '=', 'owner')
    .where('member.user_id', '<>', userId)
    .where('person.disabled_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return other !== undefined
}

export async function countMembers(db: Kysely<Database>, accountId: AccountId): Promise<number> {
  return countRows(db.selectFrom('member').where(({ and }) => and({ account_id: accountId, removed_at: null })))
}

/** Adds a member, or restores a removed one in the new role. */
export async function putMember(
  db: Kysely<Database>,
  { accountId, userId, role }: Membership & { readonly role: Role },
  now: number,
): Promise<void> {
  const changed = { role, created_at: now, removed_at: null, changed_at: nextChangedAt('member', now) }
  await db
    .insertInto('member')
    .values({ account_id: accountId, user_id: userId, ...changed })
    .onConflict((conflict) => conflict.columns(['account_id', 'user_id']).doUpdateSet(changed))
    .execute()
}

export async function setRole(
  db: Kysely<Database>,
  { accountId, userId, role }: Membership & { readonly role: Role },
  now: number,
): Promise<void> {
  await db
    .updateTable('member')
    .set({ role, changed_at: nextChangedAt('member', now) })
    .where(({ and }) => and({ account_id: accountId, user_id: userId }))
    .execute()
  // Keys have at most their creator's rights: this evicts them from every cache.
  await keysMadeBy(db, { accountId, userId })
    .set({ changed_at: nextChangedAt('api_key', now) })
    .execute()
}

function keysMadeBy(db: Kysely<Database>, { accountId, userId }: Membership) {
  return db
    .updateTable('api_key')
    .where(({ and }) => and({ account_id: accountId, created_by: userId, revoked_at: null }))
}

/** Removes a member, ends their sessions and devices in the account, and revokes the API keys that they created for good. */
export async function removeMember(
  db: Kysely<Database>,
  { accountId, userId }: Membership,
  now: number,
): Promise<void> {
  await db
    .updateTable('member')
    .set({ removed_at: now, changed_at: nextChangedAt('member', now) })
    .where(({ and }) => and({ account_id: accountId, user_id: userId }))
    .execute()
  await db
    .updateTable('session')
    .set({ ended_at: now, changed_at: nextChangedAt('session', now) })
    .where(({ and }) => and({ user_id: userId, account_id: accountId, ended_at: null }))
    .execute()
  await db
    .updateTable('device')
    .set({ revoked_at: now, changed_at: nextChangedAt('device', now) })
    .where(({ and }) => and({ account_id: accountId, user_id: userId, revoked_at: null }))
    .execute()
  await db
    .deleteFrom('team_member')
    .where(({ and }) => and({ account_id: accountId, user_id: userId }))
    .execute()
  await keysMadeBy(db, { accountId, userId })
    .set({ revoked_at: now, changed_at: nextChangedAt('api_key', now) })
    .execute()
}

function membersOf(db: Kysely<Database>, accountId: AccountId) {
  return db
    .selectFrom('member')
    .innerJoin('person', 'person.id', 'member.user_id')
    .select(['member.user_id', 'member.role', 'member.created_at', 'person.email', 'person.name'])
    .where(({ and }) => and({ 'member.account_id': accountId, 'member.removed_at': null }))
}

type MemberRow = Awaited<ReturnType<ReturnType<typeof membersOf>['execute']>>[number]

function toMember(row: MemberRow): Member {
  return { userId: row.user_id, email: row.email, name: row.name, role: row.role, createdAt: row.created_at }
}

export interface Person {
  readonly userId: UserId
  readonly email: string
  readonly name: string
}

export interface KnownPerson extends Person {
  readonly isDisabled: boolean
}

/** Finds a person by issuer and subject alone; an e-mail address identifies nobody. */
export async function findPerson(
  db: Kysely<Database>,
  { issuer, subject }: Pick<VouchedIdentity, 'issuer' | 'subject'>,
): Promise<KnownPerson | undefined> {
  const row = await db
    .selectFrom('identity')
    .innerJoin('person', 'person.id', 'identity.user_id')
    .select(['person.id', 'person.email', 'person.name', 'person.disabled_at'])
    .where(({ and }) => and({ 'identity.issuer': issuer, 'identity.subject': subject }))
    .executeTakeFirst()
  if (row === undefined) return undefined
  return { userId: row.id, email: row.email, name: row.name, isDisabled: row.disabled_at !== null }
}

export async function hasAnyIdentity(db: Kysely<Database>): Promise<boolean> {
  const row = await db.selectFrom('identity').select('user_id').limit(1).executeTakeFirst()
  return row !== undefined
}

interface CreationDeps {
  readonly now: () => number
  readonly ids: Pick<IdSource, 'user'>
}

export async function createPerson(
  db: Kysely<Database>,
  { email, name }: Pick<Person, 'email' | 'name'>,
  { now, ids }: CreationDeps,
): Promise<Person> {
  const time = now()
  const person = { userId: ids.user(), ...labelsOf({ email, name }) }
  await db
    .insertInto('person')
    .values({
      id: person.userId,
      email: person.email,
      name: person.name,
      created_at: time,
      changed_at: nextChangedAt('person', time),
    })
    .execute()
  return person
}

export async function addIdentity(
  db: Kysely<Database>,
  { userId, identity }: { readonly userId: UserId; readonly identity: VouchedIdentity },
  now: number,
): Promise<void> {
  const { issuer, subject, email } = identity
  await db
    .insertInto('identity')
    .values({ issuer, subject, user_id: userId, email, created_at: now, last_used_at: now })
    .execute()
}

/** Records a sign-in, and the name and address that the provider sent. */
export async function noteVisit(
  db: Kysely<Database>,
  { person, identity }: { readonly person: Person; readonly identity: VouchedIdentity },
  now: number,
): Promise<void> {
  const { issuer, subject } = identity
  const { email, name } = labelsOf(identity)
  await db
    .updateTable('identity')
    .set({ last_used_at: now, email })
    .where(({ and }) => and({ issuer, subject }))
    .execute()
  if (person.email === email && person.name === name) return
  await db
    .updateTable('person')
    .set({ email, name, changed_at: nextChangedAt('person', now) })
    .where('id', '=', person.userId)
    .execute()
}

/** By when they joined. */
export async function accountsOf(db: Kysely<Database>, userId: UserId): Promise<readonly AccountOfPerson[]> {
  return db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.account_id')
    .select(['account.id', 'account.name', 'member.role'])
    .where(({ and }) => and({ 'member.user_id': userId, 'member.removed_at': null }))
    .orderBy('member.created_at')
    .orderBy('account.id')
    .limit(MAX_ACCOUNTS)
    .execute()
}

/** Removes control characters: what a provider sends is shown on pages and in terminals. */
function labelsOf({ email, name }: Pick<Person, 'email' | 'name'>): Pick<Person, 'email' | 'name'> {
  const label = withoutControls(email).slice(0, MAX_EMAIL_LENGTH) || 'unknown'
  return { email: label, name: withoutControls(name).slice(0, MAX_NAME_LENGTH) || label }
}

function withoutControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '').trim()
}
