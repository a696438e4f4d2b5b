/** How an invitation makes somebody a member, inside a transaction of the caller's. */
import type { Kysely, Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountId, IdSource } from '../../domain/ids.ts'
import type { Role } from '../../domain/rights.ts'
import type { Origin } from '../../domain/sign-in.ts'
import type { WriteAudit } from '../deps.ts'
import { findByToken, findOpen, type Invitation, useUp } from './invitations.ts'
import type { Person } from './persons.ts'
import { countMembers, findMember, putMember, takeMembersTurn } from './queries.ts'
import { mayGive } from './rules.ts'

export const MAX_MEMBERS = 10_000

export interface JoiningDeps {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly ids: Pick<IdSource, 'user'>
  readonly writeAudit: WriteAudit
}

export interface Joining {
  readonly accountId: AccountId
  readonly person: Person
  readonly role: Role
  readonly origin: Origin
  readonly details: Readonly<Record<string, string>>
}

export async function join(deps: JoiningDeps, inside: Transaction<Database>, joining: Joining): Promise<void> {
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
 * The invitation that a token opens now; until the transaction ends, nobody else decides about it. Undefined when it is
 * wrong, used, revoked or too old; also when whoever made it could not make it now: what somebody gave away in time is not
 * to bring them back. And when the account is full.
 */
export async function openInvitation(
  { now }: Pick<JoiningDeps, 'now'>,
  inside: Transaction<Database>,
  token: string,
): Promise<Invitation | undefined> {
  const reference = await findByToken(inside, token)
  if (reference === undefined) return undefined
  const { accountId } = reference
  await takeMembersTurn(inside, accountId)
  const invitation = await findOpen(inside, reference, now())
  if (invitation === undefined || (await countMembers(inside, accountId)) >= MAX_MEMBERS) return undefined
  if (invitation.createdBy === undefined) return invitation
  const maker = await findMember(inside, { accountId, userId: invitation.createdBy })
  return maker !== undefined && mayGive(maker.role, invitation.role) ? invitation : undefined
}

/** Somebody who is a member already stays what they are, and the invitation stays good for somebody else. */
export async function acceptInvitation(
  deps: JoiningDeps,
  inside: Transaction<Database>,
  { invitation, person, origin }: { readonly invitation: Invitation; readonly person: Person; readonly origin: Origin },
): Promise<'joined' | 'member already'> {
  const { accountId, id, role } = invitation
  const { userId } = person
  if ((await findMember(inside, { accountId, userId })) !== undefined) return 'member already'
  await useUp(inside, { accountId, id, userId }, deps.now())
  await join(deps, inside, { accountId, person, role, origin, details: { by: 'invitation', invitation: id } })
  return 'joined'
}
