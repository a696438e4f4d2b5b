/** What members do to each other. Each decision is made by what everybody is at that moment, one after the other. */
import type { Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { UserId } from '../../domain/ids.ts'
import { type Role, rightsOfRole } from '../../domain/rights.ts'
import type { AuditedRequest } from '../../http/audit-origin.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'
import {
  countOpenInvitations,
  createInvitation,
  type Invitation,
  type InvitationReference,
  revokeInvitation,
} from './invitations.ts'
import { findMember, hasOtherOwner, type Member, removeMember, setRole, takeMembersTurn } from './queries.ts'
import { assertMayGive, assertMayManage, lastOwner, notAManager, roleOfKey } from './rules.ts'

export const MAX_OPEN_INVITATIONS = 1_000

export type ManageDeps = Pick<FeatureDeps, 'db' | 'now' | 'ids'> & { readonly writeAudit: WriteAudit }

/** Who asks, and what the audit log tells of the request. */
export interface Asker {
  readonly caller: Caller
  readonly audited: AuditedRequest
}

export async function changeRole(
  deps: ManageDeps,
  asker: Asker,
  { userId, role }: { readonly userId: UserId; readonly role: Role },
): Promise<Member> {
  const event = { action: 'member.role_changed', subject: userId, details: { role } }
  return decide(deps, { asker, event }, async (inside, actor) => {
    const { accountId } = asker.caller
    const member = await findMember(inside, { accountId, userId })
    if (member === undefined) throw unknownMember()
    assertMayManage(actor, member.role)
    assertMayGive(actor, role)
    if (member.role === role) return member
    if (member.role === 'owner' && !(await hasOtherOwner(inside, { accountId, userId }))) throw lastOwner()
    await setRole(inside, { accountId, userId, role }, deps.now())
    await writeDone(deps, inside, {
      asker,
      event: { ...event, details: { email: member.email, from: member.role, role } },
    })
    return { ...member, role }
  })
}

/** Anybody may leave; others are removed by those who manage members. */
export async function takeOut(deps: ManageDeps, asker: Asker, userId: UserId): Promise<void> {
  const isSelf = asker.caller.userId === userId
  const event = { action: isSelf ? 'member.left' : 'member.removed', subject: userId, details: {} }
  await decide(deps, { asker, event }, async (inside, actor) => {
    const { accountId } = asker.caller
    if (!isSelf && !rightsOfRole(actor).has('members')) throw notAManager()
    const member = await findMember(inside, { accountId, userId })
    if (member === undefined) throw unknownMember()
    if (!isSelf) assertMayManage(actor, member.role)
    if (member.role === 'owner' && !(await hasOtherOwner(inside, { accountId, userId }))) throw lastOwner()
    await removeMember(inside, { accountId, userId }, deps.now())
    const details = { email: member.email, role: member.role }
    await writeDone(deps, inside, { asker, event: { ...event, details } })
  })
}

export async function invite(
  deps: ManageDeps,
  asker: Asker,
  { role, email }: Pick<Invitation, 'role' | 'email'>,
): Promise<{ readonly invitation: Invitation; readonly token: string }> {
  const details = { role, email: email ?? null }
  const event = { action: 'invitation.created', subject: undefined, details }
  return decide(deps, { asker, event }, async (inside, actor) => {
    const { accountId, userId } = asker.caller
    assertMayGive(actor, role)
    if ((await countOpenInvitations(inside, accountId, deps.now())) >= MAX_OPEN_INVITATIONS) throw tooMany()
    const created = await createInvitation(inside, { accountId, role, email, createdBy: userId }, deps)
    await writeDone(deps, inside, { asker, event: { ...event, subject: created.invitation.id } })
    return created
  })
}

export async function withdraw(deps: ManageDeps, asker: Asker, id: InvitationReference['id']): Promise<void> {
  const event = { action: 'invitation.revoked', subject: id, details: {} }
  await decide(deps, { asker, event }, async (inside) => {
    const { accountId } = asker.caller
    if (!(await revokeInvitation(inside, { accountId, id }, deps.now()))) throw unknownInvitation()
    await writeDone(deps, inside, { asker, event })
  })
}

type Told = Pick<AuditEvent, 'action' | 'subject' | 'details'>
interface Asked {
  readonly asker: Asker
  readonly event: Told
}

/** What is refused for want of rights is told to the audit log, too. */
async function decide<Result>(
  { db, writeAudit }: ManageDeps,
  { asker, event }: Asked,
  decision: (inside: Transaction<Database>, actor: Role) => Promise<Result>,
): Promise<Result> {
  const { caller } = asker
  try {
    return await db.transaction().execute(async (inside) => {
      await takeMembersTurn(inside, caller.accountId)
      return decision(inside, await roleNow(inside, caller))
    })
  } catch (error) {
    const isRefusal = error instanceof GatewayError && error.status === 403
    if (isRefusal) await writeAudit(db, { ...asker.audited, ...event, result: 'denied' })
    throw error
  }
}

/** What the caller is at this moment: the request may have been let in before somebody changed it. */
async function roleNow(inside: Transaction<Database>, caller: Caller): Promise<Role> {
  const { kind, accountId, userId } = caller
  if (kind === 'key' || userId === undefined) return roleOfKey(caller)
  const member = await findMember(inside, { accountId, userId })
  if (member === undefined) throw notAManager()
  return member.role
}

function writeDone({ writeAudit }: ManageDeps, inside: Transaction<Database>, { asker, event }: Asked): Promise<void> {
  return writeAudit(inside, { ...asker.audited, ...event, result: 'done' })
}

/** The same for somebody of another account and for somebody who never was. */
function unknownMember(): GatewayError {
  return new GatewayError('not_found', 'No member has this id.')
}

function unknownInvitation(): GatewayError {
  return new GatewayError('not_found', 'No open invitation has this id.')
}

function tooMany(): GatewayError {
  const message = `There are ${MAX_OPEN_INVITATIONS} open invitations. Revoke some that are not needed any more.`
  return new GatewayError('conflict', message)
}
