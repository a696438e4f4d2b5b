/** Rows of people, and under what identity providers know them. */
import type { Kysely } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database } from '../../db/schema.ts'
import type { AccountId, IdSource, UserId } from '../../domain/ids.ts'
import type { Role } from '../../domain/rights.ts'
import type { VouchedIdentity } from '../../domain/sign-in.ts'

const MAX_NAME_LENGTH = 200
/** RFC 5321: 64 before the sign, 255 after it. */
const MAX_EMAIL_LENGTH = 320
/** Of one person, in a list of them. */
const MAX_ACCOUNTS = 1_000

export interface Person {
  readonly userId: UserId
  readonly email: string
  readonly name: string
}
export interface KnownPerson extends Person {
  readonly isDisabled: boolean
}

/** An account that somebody belongs to. */
export interface AccountOfPerson {
  readonly id: AccountId
  readonly name: string
  readonly role: Role
}

/** By issuer and subject alone: an e-mail address says nothing about who somebody is. */
export async function findPerson(
  db: Kysely<Database>,
  { issuer, subject }: Pick<VouchedIdentity, 'issuer' | 'subject'>,
): Promise<KnownPerson | undefined> {
  const row = await db
    .selectFrom('identity')
    .innerJoin('person', 'person.id', 'identity.user_id')
    .select(['person.id', 'person.email', 'person.name', 'person.disabled_at'])
    .where('identity.issuer', '=', issuer)
    .where('identity.subject', '=', subject)
    .executeTakeFirst()
  if (row === undefined) return undefined
  return { userId: row.id, email: row.email, name: row.name, isDisabled: row.disabled_at !== null }
}

export async function hasAnyIdentity(db: Kysely<Database>): Promise<boolean> {
  const row = await db.selectFrom('identity').select('user_id').limit(1).executeTakeFirst()
  return row !== undefined
}

interface Born {
  readonly now: () => number
  readonly ids: Pick<IdSource, 'user'>
}

export async function createPerson(
  db: Kysely<Database>,
  { email, name }: Pick<Person, 'email' | 'name'>,
  { now, ids }: Born,
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

/** Notes that somebody was here, and what their provider calls them now. */
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
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
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
    .where('member.user_id', '=', userId)
    .where('member.removed_at', 'is', null)
    .orderBy('member.created_at')
    .orderBy('account.id')
    .limit(MAX_ACCOUNTS)
    .execute()
}

/** What a provider says is shown on pages and in terminals, so nothing in it may steer them. */
function labelsOf({ email, name }: Pick<Person, 'email' | 'name'>): Pick<Person, 'email' | 'name'> {
  const label = plain(email).slice(0, MAX_EMAIL_LENGTH) || 'unknown'
  return { email: label, name: plain(name).slice(0, MAX_NAME_LENGTH) || label }
}

function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '').trim()
}
