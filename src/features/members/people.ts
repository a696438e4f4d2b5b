/**
 * Who comes in. An identity provider's word for who somebody is leads to one person, by issuer and subject alone; whether
 * that person may come in is decided here, by their memberships, an invitation, or being the very first.
 */
import type { Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { takeTurn } from '../../db/turn.ts'
import type { AccountId, UserId } from '../../domain/ids.ts'
import type { Role } from '../../domain/rights.ts'
import type { Arrival, Origin, PeoplePort, VouchedIdentity } from '../../domain/sign-in.ts'
import { acceptInvitation, type JoiningDeps, join, openInvitation } from './joining.ts'
import {
  type AccountOfPerson,
  accountsOf,
  addIdentity,
  createPerson,
  findPerson,
  hasAnyIdentity,
  type KnownPerson,
  noteVisit,
  type Person,
} from './persons.ts'
import { findMember, firstOwner, takeMembersTurn } from './queries.ts'

/** Whoever the one-time link signs in where an account has no owner. */
const OWNER_OF_LINK = { email: 'owner@localhost', name: 'Owner' }

export type Acceptance =
  | {
      readonly kind: 'joined' | 'member already'
      readonly accountId: AccountId
      readonly accountName: string
      readonly role: Role
    }
  /** Wrong, used, revoked or too old, or the account is full: which of them is nobody's business. */
  | { readonly kind: 'refused' }

export interface People extends PeoplePort {
  /** Accepts an invitation for somebody who is signed in. */
  accept(token: string, who: { readonly userId: UserId; readonly origin: Origin }): Promise<Acceptance>
  /** The accounts that somebody can act in, by when they joined. */
  accountsOf(userId: UserId): Promise<readonly AccountOfPerson[]>
}

type Arriving = Origin & { readonly invitation: string | undefined }

export function createPeople(deps: JoiningDeps): People {
  const { db } = deps
  return {
    arrive: (identity, arriving) => db.transaction().execute((inside) => arrive(deps, inside, { identity, arriving })),
    ownerOf: (accountId, origin) => db.transaction().execute((inside) => ownerOf(deps, inside, { accountId, origin })),
    accept: (token, who) => db.transaction().execute((inside) => accept(deps, inside, { token, ...who })),
    accountsOf: (userId) => accountsOf(db, userId),
  }
}

interface Visit {
  readonly identity: VouchedIdentity
  readonly arriving: Arriving
}

async function arrive(deps: JoiningDeps, inside: Transaction<Database>, visit: Visit): Promise<Arrival> {
  const known = await findPerson(inside, visit.identity)
  if (known !== undefined) return letIn(deps, inside, { ...visit, known })
  // Of two who come at the same time one is the first; and one person who comes twice at once is made once.
  await takeTurn(inside, 'arrivals')
  const meanwhile = await findPerson(inside, visit.identity)
  if (meanwhile !== undefined) return letIn(deps, inside, { ...visit, known: meanwhile })
  return meet(deps, inside, visit)
}

async function letIn(
  deps: JoiningDeps,
  inside: Transaction<Database>,
  { known, identity, arriving }: Visit & { readonly known: KnownPerson },
): Promise<Arrival> {
  const { userId } = known
  if (known.isDisabled) return { kind: 'disabled' }
  await noteVisit(inside, { person: known, identity }, deps.now())
  const { invitation: token } = arriving
  const invitation = token === undefined ? undefined : await openInvitation(deps, inside, token)
  if (invitation !== undefined) {
    await acceptInvitation(deps, inside, { invitation, person: known, origin: arriving })
    return { kind: 'member', userId, accountId: invitation.accountId }
  }
  const [account] = await accountsOf(inside, userId)
  return account === undefined
    ? { kind: 'no account', email: identity.email }
    : { kind: 'member', userId, accountId: account.id }
}

/** Somebody new. Of strangers who may not come in nothing is kept. */
async function meet(deps: JoiningDeps, inside: Transaction<Database>, visit: Visit): Promise<Arrival> {
  const { identity, arriving } = visit
  const { invitation: token } = arriving
  if (token === undefined) return beFirst(deps, inside, visit)
  const invitation = await openInvitation(deps, inside, token)
  if (invitation === undefined) return { kind: 'no account', email: identity.email }
  const person = await makePerson(deps, inside, identity)
  await acceptInvitation(deps, inside, { invitation, person, origin: arriving })
  return { kind: 'member', userId: person.userId, accountId: invitation.accountId }
}

/** The first whom an identity provider has vouched for owns the first account, whoever a one-time link has let in before. */
async function beFirst(
  deps: JoiningDeps,
  inside: Transaction<Database>,
  { identity, arriving }: Visit,
): Promise<Arrival> {
  const accountId = (await hasAnyIdentity(inside)) ? undefined : await firstAccount(inside)
  if (accountId === undefined) return { kind: 'no account', email: identity.email }
  await takeMembersTurn(inside, accountId)
  const person = await makePerson(deps, inside, identity)
  await join(deps, inside, { accountId, person, role: 'owner', origin: arriving, details: { by: 'first sign-in' } })
  return { kind: 'member', userId: person.userId, accountId }
}

async function makePerson(
  deps: JoiningDeps,
  inside: Transaction<Database>,
  identity: VouchedIdentity,
): Promise<Person> {
  const person = await createPerson(inside, identity, deps)
  await addIdentity(inside, { userId: person.userId, identity }, deps.now())
  return person
}

async function ownerOf(
  deps: JoiningDeps,
  inside: Transaction<Database>,
  { accountId, origin }: { readonly accountId: AccountId; readonly origin: Origin },
): Promise<Arrival> {
  await takeMembersTurn(inside, accountId)
  const owner = await firstOwner(inside, accountId)
  if (owner !== undefined) return { kind: 'member', userId: owner, accountId }
  const person = await createPerson(inside, OWNER_OF_LINK, deps)
  await join(deps, inside, { accountId, person, role: 'owner', origin, details: { by: 'one-time link' } })
  return { kind: 'member', userId: person.userId, accountId }
}

interface Accepting {
  readonly token: string
  readonly userId: UserId
  readonly origin: Origin
}

async function accept(
  deps: JoiningDeps,
  inside: Transaction<Database>,
  { token, userId, origin }: Accepting,
): Promise<Acceptance> {
  const invitation = await openInvitation(deps, inside, token)
  const person = await personById(inside, userId)
  if (invitation === undefined || person === undefined) return { kind: 'refused' }
  const kind = await acceptInvitation(deps, inside, { invitation, person, origin })
  const { accountId } = invitation
  const member = await findMember(inside, { accountId, userId })
  if (member === undefined) return { kind: 'refused' }
  return { kind, accountId, accountName: await nameOf(inside, accountId), role: member.role }
}

async function personById(inside: Transaction<Database>, userId: UserId): Promise<Person | undefined> {
  return inside
    .selectFrom('person')
    .select(['id as userId', 'email', 'name'])
    .where('id', '=', userId)
    .where('disabled_at', 'is', null)
    .executeTakeFirst()
}

async function nameOf(inside: Transaction<Database>, accountId: AccountId): Promise<string> {
  const { name } = await inside
    .selectFrom('account')
    .select('name')
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow()
  return name
}

async function firstAccount(inside: Transaction<Database>): Promise<AccountId | undefined> {
  const row = await inside.selectFrom('setting').select('value').where('key', '=', 'first_account').executeTakeFirst()
  return row?.value as AccountId | undefined // as the key says
}
