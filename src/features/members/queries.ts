/** Rows of members: who belongs to an account, and as what. Those who were removed are in no answer. */
import type { Kysely, Transaction } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database } from '../../db/schema.ts'
import { takeTurn } from '../../db/turn.ts'
import type { AccountId, UserId } from '../../domain/ids.ts'
import type { Role } from '../../domain/rights.ts'

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

/** What decides by who the members of an account are has to be called first in its transaction. */
export function takeMembersTurn(inside: Transaction<Database>, accountId: AccountId): Promise<void> {
  return takeTurn(inside, `members of ${accountId}`)
}

/** Where in the order of a list a member is: when they joined, and who they are. */
export function positionOf({ createdAt, userId }: Pick<Member, 'createdAt' | 'userId'>): string {
  return `${createdAt} ${userId}`
}

export interface MemberPage {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** `positionOf` the last one of the page before; undefined: from the start. */
  readonly after: string | undefined
}

/** By when they joined. */
export async function listMembers(
  db: Kysely<Database>,
  accountId: AccountId,
  { limit, order, after }: MemberPage,
): Promise<readonly Member[]> {
  const rows = await membersOf(db, accountId)
    .$if(after !== undefined, (query) => {
      const [joinedAt, userId = ''] = (after ?? '').split(' ')
      const comparison = order === 'asc' ? '>' : '<'
      return query.where(({ eb, refTuple, tuple }) =>
        eb(
          refTuple('member.created_at', 'member.user_id'),
          comparison,
          tuple(Number(joinedAt), userId as UserId), // it comes out of a signed cursor
        ),
      )
    })
    .orderBy('member.created_at', order)
    .orderBy('member.user_id', order)
    .limit(limit)
    .execute()
  return rows.map(toMember)
}

/** Undefined for somebody who is unknown, another account's, or removed. */
export async function findMember(db: Kysely<Database>, { accountId, userId }: Membership): Promise<Member | undefined> {
  const row = await membersOf(db, accountId).where('member.user_id', '=', userId).executeTakeFirst()
  return row === undefined ? undefined : toMember(row)
}

/** The one who has been owner for longest, of those who can sign in. */
export async function firstOwner(db: Kysely<Database>, accountId: AccountId): Promise<UserId | undefined> {
  const row = await membersOf(db, accountId)
    .where('member.role', '=', 'owner')
    .where('person.disabled_at', 'is', null)
    .orderBy('member.created_at')
    .orderBy('member.user_id')
    .limit(1)
    .executeTakeFirst()
  return row?.user_id
}

/** Whether somebody else is an owner who can sign in. */
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
  const { count } = await db
    .selectFrom('member')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .where('removed_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Also brings back somebody who was removed, as what they are now. */
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
    .where('account_id', '=', accountId)
    .where('user_id', '=', userId)
    .execute()
  // Their keys can do what they can do: whoever knows one by heart is to look again.
  await keysMadeBy(db, { accountId, userId })
    .set({ changed_at: nextChangedAt('api_key', now) })
    .execute()
}

function keysMadeBy(db: Kysely<Database>, { accountId, userId }: Membership) {
  return db
    .updateTable('api_key')
    .where('account_id', '=', accountId)
    .where('created_by', '=', userId)
    .where('revoked_at', 'is', null)
}

/**
 * Takes somebody out of an account, and with that ends their sessions in it, disconnects their devices from it and revokes
 * the API keys they made: if they come back one day, those stay gone.
 */
export async function removeMember(
  db: Kysely<Database>,
  { accountId, userId }: Membership,
  now: number,
): Promise<void> {
  await db
    .updateTable('member')
    .set({ removed_at: now, changed_at: nextChangedAt('member', now) })
    .where('account_id', '=', accountId)
    .where('user_id', '=', userId)
    .execute()
  await db
    .updateTable('session')
    .set({ ended_at: now, changed_at: nextChangedAt('session', now) })
    .where('user_id', '=', userId)
    .where('account_id', '=', accountId)
    .where('ended_at', 'is', null)
    .execute()
  await db
    .updateTable('device')
    .set({ revoked_at: now, changed_at: nextChangedAt('device', now) })
    .where('account_id', '=', accountId)
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
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
    .where('member.account_id', '=', accountId)
    .where('member.removed_at', 'is', null)
}

type MemberRow = Awaited<ReturnType<ReturnType<typeof membersOf>['execute']>>[number]

function toMember(row: MemberRow): Member {
  return { userId: row.user_id, email: row.email, name: row.name, role: row.role, createdAt: row.created_at }
}
