/**
 * Decides who can sign in, and how people become members. Issuer and subject alone identify a person; access requires a
 * membership, an invitation, or being the first person of the installation.
 */
import type { Kysely, Transaction } from 'kysely'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { findFirstAccount } from '../../db/shared-queries.ts'
import type { Right, Role } from '../../domain/identity/caller.ts'
import type { Arrival, Origin, PeoplePort, VouchedIdentity } from '../../domain/identity/sign-in.ts'
import type { AccountId, IdSource, KeyId, UserId } from '../../domain/ids.ts'
import type { InvitationAnswer, PagePeople } from '../../http/pages/context.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'
import { findByToken, findOpen, type Invitation, markUsed } from './invitations.ts'
import { coversRole, mayGive, roleOfKey } from './manage.ts'
import {
  accountsOf,
  addIdentity,
  countMembers,
  createPerson,
  findMember,
  findPerson,
  firstOwner,
  hasAnyIdentity,
  hasAnyOwner,
  type KnownPerson,
  lockMembers,
  noteVisit,
  type Person,
  putMember,
} from './queries.ts'
import {
  accountsTrusting,
  applyGroups,
  type ProvisionedAccounts,
  provisionedPerson,
  type TeamMembers,
} from './scim/provision.ts'
import { findUser } from './scim/store.ts'

const MAX_MEMBERS = 10_000
/** The owner that a one-time link creates if the account has none. */
const OWNER_OF_LINK = { email: 'owner@localhost', name: 'Owner' }

interface JoiningDeps extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly ids: Pick<IdSource, 'user'>
  readonly writeAudit: WriteAudit
  /** The current rights of a key; undefined: it was revoked, has expired, or its creator is no member any more. */
  readonly rightsOfKey: RightsOfKey
  /** Absent: as without configuration. */
  readonly provisionedAccounts?: ProvisionedAccounts
  /** Absent: groups of identity providers change nothing. */
  readonly teams?: TeamMembers
}

export type RightsOfKey = (
  db: Kysely<Database>,
  key: { readonly accountId: AccountId; readonly keyId: KeyId },
) => Promise<ReadonlySet<Right> | undefined>

/** An invalid, used, revoked or expired token and a full account give the same answer, so that tokens cannot be probed. */
export type People = PeoplePort & PagePeople

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
  const arrival = await admit(deps, inside, visit)
  if (arrival.kind === 'member') await followGroups(deps, inside, { ...visit, userId: arrival.userId })
  return arrival
}

/**
 * Applies the group mappings to the groups that the provider says, in the accounts that it vouches for. Who is provisioned by
 * SCIM there has the groups of SCIM.
 */
async function followGroups(
  deps: JoiningDeps,
  inside: Transaction<Database>,
  { identity: { issuer, groups }, userId }: Visit & { readonly userId: UserId },
): Promise<void> {
  const { teams, now, provisionedAccounts = () => undefined } = deps
  if (groups === undefined || teams === undefined) return
  const trusting = await accountsTrusting(inside, issuer, provisionedAccounts)
  const accounts = (await accountsOf(inside, userId)).map(({ id }) => id).filter((id) => trusting.has(id))
  for (const accountId of accounts.toSorted()) {
    await lockMembers(inside, accountId)
    if ((await findUser(inside, { accountId, userId })) !== undefined) continue
    await applyGroups({ now, teams }, inside, { accountId, userId, claimed: groups })
  }
}

async function admit(deps: JoiningDeps, inside: Transaction<Database>, visit: Visit): Promise<Arrival> {
  const known = await findPerson(inside, visit.identity)
  if (known !== undefined) return arriveKnown(deps, inside, { ...visit, known })
  // Serializes concurrent first sign-ins: one person owns the first account, and nobody is created twice.
  await acquireAdvisoryLock(inside, 'arrivals')
  const meanwhile = await findPerson(inside, visit.identity)
  if (meanwhile !== undefined) return arriveKnown(deps, inside, { ...visit, known: meanwhile })
  return arriveNew(deps, inside, visit)
}

async function arriveKnown(
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
    return { kind: 'member', userId, accountId: invitation.account_id }
  }
  const [account] = await accountsOf(inside, userId)
  return account === undefined
    ? { kind: 'no account', email: identity.email }
    : { kind: 'member', userId, accountId: account.id }
}

/** Signs in an unknown person. Nothing is stored about rejected people. */
async function arriveNew(deps: JoiningDeps, inside: Transaction<Database>, visit: Visit): Promise<Arrival> {
  const { identity, arriving } = visit
  const { invitation: token } = arriving
  const provisioned = await provisionedPerson(inside, identity, deps.provisionedAccounts ?? (() => undefined))
  if (provisioned !== undefined) {
    await addIdentity(inside, { userId: provisioned.userId, identity }, deps.now())
    return arriveKnown(deps, inside, { ...visit, known: provisioned })
  }
  if (token === undefined) return claimFirstAccount(deps, inside, visit)
  const invitation = await openInvitation(deps, inside, token)
  if (invitation === undefined) return { kind: 'no account', email: identity.email }
  const person = await createWithIdentity(deps, inside, identity)
  await acceptInvitation(deps, inside, { invitation, person, origin: arriving })
  return { kind: 'member', userId: person.userId, accountId: invitation.account_id }
}

/** Makes the first identity the owner of the first account, unless an account has an owner already (by a one-time link). */
async function claimFirstAccount(
  deps: JoiningDeps,
  inside: Transaction<Database>,
  { identity, arriving }: Visit,
): Promise<Arrival> {
  const accountId = (await hasAnyIdentity(inside)) ? undefined : await findFirstAccount(inside)
  if (accountId !== undefined) await lockMembers(inside, accountId)
  if (accountId === undefined || (await hasAnyOwner(inside))) return { kind: 'no account', email: identity.email }
  const person = await createWithIdentity(deps, inside, identity)
  await join(deps, inside, { accountId, person, role: 'owner', origin: arriving, details: { by: 'first sign-in' } })
  return { kind: 'member', userId: person.userId, accountId }
}

async function createWithIdentity(
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
  await lockMembers(inside, accountId)
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
): Promise<InvitationAnswer> {
  const invitation = await openInvitation(deps, inside, token)
  const person = await personById(inside, userId)
  if (invitation === undefined || person === undefined) return { kind: 'refused' }
  const kind = await acceptInvitation(deps, inside, { invitation, person, origin })
  const accountId = invitation.account_id
  const member = await findMember(inside, { accountId, userId })
  if (member === undefined) return { kind: 'refused' }
  return { kind, accountId, accountName: await nameOf(inside, accountId), role: member.role }
}

async function personById(inside: Transaction<Database>, userId: UserId): Promise<Person | undefined> {
  return inside
    .selectFrom('person')
    .select(['id as userId', 'email', 'name'])
    .where(({ and }) => and({ id: userId, disabled_at: null }))
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

interface Joining {
  readonly accountId: AccountId
  readonly person: Person
  readonly role: Role
  readonly origin: Origin
  readonly details: Readonly<Record<string, string>>
}

async function join(deps: JoiningDeps, inside: Transaction<Database>, joining: Joining): Promise<void> {
  const { accountId, role, origin, person } = joining
  const { userId } = person
  await putMember(inside, { accountId, userId, role }, deps.now())
  await deps.writeAudit(inside, {
    accountId,
    actor: { kind: 'session', id: userId, name: person.email },
    action: 'member.joined',
    subject: userId,
    result: 'done',
    address: origin.address,
    userAgent: origin.userAgent,
    requestId: origin.requestId,
    details: { role, ...joining.details },
  })
}

/**
 * Finds the invitation of a token, and locks the account's members until the transaction ends. Undefined when the token is
 * wrong, used, revoked or expired, when its creator could not invite any more, and when the account is full.
 */
async function openInvitation(
  deps: Pick<JoiningDeps, 'now' | 'rightsOfKey'>,
  inside: Transaction<Database>,
  token: string,
): Promise<Invitation | undefined> {
  const reference = await findByToken(inside, token)
  if (reference === undefined) return undefined
  const { accountId } = reference
  await lockMembers(inside, accountId)
  const invitation = await findOpen(inside, reference, deps.now())
  if (invitation === undefined || (await countMembers(inside, accountId)) >= MAX_MEMBERS) return undefined
  return (await isStillAllowed(deps, inside, invitation)) ? invitation : undefined
}

/** Whether the creator of an invitation, and the key it was created with, could still create it. */
async function isStillAllowed(
  { rightsOfKey }: Pick<JoiningDeps, 'rightsOfKey'>,
  inside: Transaction<Database>,
  { account_id: accountId, created_by: createdBy, key_id: keyId, role }: Invitation,
): Promise<boolean> {
  if (createdBy !== null) {
    const inviter = await findMember(inside, { accountId, userId: createdBy })
    if (inviter === undefined || !mayGive(inviter.role, role)) return false
  }
  if (keyId === null) return createdBy !== null // created with a key by an earlier release, which did not store the key
  const rights = await rightsOfKey(inside, { accountId, keyId })
  if (rights === undefined || !rights.has('members') || !coversRole(rights, role)) return false
  return mayGive(roleOfKey({ scopes: rights }), role)
}

/** Uses an invitation. A person who is a member already keeps the role, and the invitation stays valid. */
async function acceptInvitation(
  deps: JoiningDeps,
  inside: Transaction<Database>,
  { invitation, person, origin }: { readonly invitation: Invitation; readonly person: Person; readonly origin: Origin },
): Promise<'joined' | 'member already'> {
  const { account_id: accountId, id, role } = invitation
  const { userId } = person
  if ((await findMember(inside, { accountId, userId })) !== undefined) return 'member already'
  await markUsed(inside, { accountId, id, userId }, deps.now())
  await join(deps, inside, { accountId, person, role, origin, details: { by: 'invitation', invitation: id } })
  return 'joined'
}
