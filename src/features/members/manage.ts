/**
 * Changes of members and invitations, decided by the current roles, one at a time per account; and who can grant which
 * role.
 */
import type { Transaction } from 'kysely'
import { disableWebhooksOf } from '../../db/lineage.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import type { BudgetTerms } from '../../domain/budget.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type Caller, type Right, type Role, rightsOfRole } from '../../domain/identity/caller.ts'
import type { AccountId, KeyId, UserId } from '../../domain/ids.ts'
import { assertRight, limitedKey } from '../../http/caller.ts'
import type { Requester } from '../../http/request-origin.ts'
import type { BudgetPort, EraseContent, FeatureDeps, WriteAudit } from '../deps.ts'
import {
  countOpenInvitations,
  createInvitation,
  type Invitation,
  type InvitationReference,
  revokeInvitation,
} from './invitations.ts'
import { findMember, hasOtherOwner, lockMembers, type Member, removeMember, setRole } from './queries.ts'

const MAX_OPEN_INVITATIONS = 1_000

export type ManageDeps = Pick<FeatureDeps, 'db' | 'now' | 'ids'> & {
  readonly writeAudit: WriteAudit
  readonly eraseContent: EraseContent
  readonly budgets: BudgetPort
}

interface MemberChange {
  readonly userId: UserId
  /** Undefined: unchanged. */
  readonly role: Role | undefined
  readonly budgets: readonly BudgetTerms[] | undefined
}

export async function changeMember(
  deps: ManageDeps,
  requester: Requester,
  { userId, role, budgets }: MemberChange,
): Promise<Member> {
  const changed = role === undefined ? undefined : await changeRole(deps, requester, { userId, role })
  if (budgets === undefined && changed !== undefined) return changed
  const { audited } = requester
  const { accountId } = requester.caller
  const event = { action: 'budgets.changed', subject: userId, details: {} }
  return decide(deps, { requester, event }, async (inside, actor) => {
    const member = await findMember(inside, { accountId, userId })
    if (member === undefined) throw unknownMember()
    assertMayManage(actor, member.role)
    const subject = { accountId, level: 'member', id: userId } as const
    if (budgets !== undefined) await deps.budgets.replace(inside, { subject, budgets, audited })
    return member
  })
}

async function changeRole(
  deps: ManageDeps,
  requester: Requester,
  { userId, role }: { readonly userId: UserId; readonly role: Role },
): Promise<Member> {
  const event = { action: 'member.role_changed', subject: userId, details: { role } }
  return decide(deps, { requester, event }, async (inside, actor) => {
    const { accountId } = requester.caller
    assertKeyMayGive(requester.caller, role)
    const member = await findMember(inside, { accountId, userId })
    if (member === undefined) throw unknownMember()
    assertMayManage(actor, member.role)
    assertMayGive(actor, role)
    if (member.role === role) return member
    if (member.role === 'owner' && !(await hasOtherOwner(inside, { accountId, userId }))) throw lastOwner()
    await setRole(inside, { accountId, userId, role }, deps.now())
    await writeDone(deps, inside, {
      requester,
      event: { ...event, details: { email: member.email, from: member.role, role } },
    })
    return { ...member, role }
  })
}

interface Removal {
  readonly userId: UserId
  /** Also deletes what was captured of their requests, which requires the right `content`. */
  readonly erasesContent: boolean
}

/** Removes a member. Every member can leave; removing others requires the right `members`. */
export async function removeFromAccount(
  deps: ManageDeps,
  requester: Requester,
  { userId, erasesContent }: Removal,
): Promise<void> {
  const isSelf = requester.caller.userId === userId
  const event = { action: isSelf ? 'member.left' : 'member.removed', subject: userId, details: {} }
  await decide(deps, { requester, event }, async (inside, actor) => {
    const { accountId } = requester.caller
    if (!isSelf && !requester.caller.scopes.has('members')) throw notAManager(requester.caller)
    if (erasesContent) assertRight(requester.caller, 'content')
    if (!isSelf && !rightsOfRole(actor).has('members')) throw notAManager(requester.caller)
    const member = await findMember(inside, { accountId, userId })
    if (member === undefined) throw unknownMember()
    if (!isSelf) assertMayManage(actor, member.role)
    if (member.role === 'owner' && !(await hasOtherOwner(inside, { accountId, userId }))) throw lastOwner()
    await removeMember(inside, { accountId, userId }, deps.now())
    const details = { email: member.email, role: member.role }
    await writeDone(deps, inside, { requester, event: { ...event, details } })
    if (erasesContent) await deps.eraseContent(inside, { audited: requester.audited, userId })
    for (const id of await disableWebhooksOf(inside, { accountId, userId }, deps.now())) {
      const disabled = { action: 'webhook.disabled', subject: id, details: { reason: 'creator_left' } }
      await writeDone(deps, inside, { requester, event: disabled })
    }
  })
}

export async function invite(
  deps: ManageDeps,
  requester: Requester,
  { role, email }: { readonly role: Role; readonly email?: string | undefined },
): Promise<{ readonly invitation: Invitation; readonly token: string }> {
  const details = { role, email: email ?? null }
  const event = { action: 'invitation.created', subject: undefined, details }
  return decide(deps, { requester, event }, async (inside, actor) => {
    const { accountId, userId } = requester.caller
    assertMayGive(actor, role)
    assertKeyMayGive(requester.caller, role)
    if ((await countOpenInvitations(inside, accountId, deps.now())) >= MAX_OPEN_INVITATIONS) throw tooMany()
    const keyId = requester.caller.kind === 'key' ? requester.caller.keyId : undefined
    const createdBy = keyId === undefined ? userId : await creatorOfKey(inside, { accountId, keyId })
    const created = await createInvitation(inside, { accountId, role, email, createdBy, keyId }, deps)
    await writeDone(deps, inside, { requester, event: { ...event, subject: created.invitation.id } })
    return created
  })
}

export async function revoke(deps: ManageDeps, requester: Requester, id: InvitationReference['id']): Promise<void> {
  const event = { action: 'invitation.revoked', subject: id, details: {} }
  await decide(deps, { requester, event }, async (inside) => {
    const { accountId } = requester.caller
    if (!(await revokeInvitation(inside, { accountId, id }, deps.now()))) throw unknownInvitation()
    await writeDone(deps, inside, { requester, event })
  })
}

type Event = Pick<AuditEvent, 'action' | 'subject' | 'details'>
interface Request {
  readonly requester: Requester
  readonly event: Event
}

/** Runs a decision in a transaction with the members locked. A 403 is written to the audit log, too. */
async function decide<Result>(
  { db, writeAudit }: ManageDeps,
  { requester, event }: Request,
  decision: (inside: Transaction<Database>, actor: Role) => Promise<Result>,
): Promise<Result> {
  const { caller } = requester
  try {
    return await db.transaction().execute(async (inside) => {
      await lockMembers(inside, caller.accountId)
      return decision(inside, await currentRole(inside, caller))
    })
  } catch (error) {
    const isRefusal = error instanceof GatewayError && error.status === 403
    if (isRefusal) await writeAudit(db, { ...requester.audited, ...event, result: 'denied' })
    throw error
  }
}

/** The caller's current role, which may have changed since authentication. */
async function currentRole(inside: Transaction<Database>, caller: Caller): Promise<Role> {
  const { kind, accountId, userId } = caller
  if (kind === 'key' || userId === undefined) return roleOfKey(caller)
  const member = await findMember(inside, { accountId, userId })
  if (member === undefined) throw notAManager()
  return member.role
}

async function creatorOfKey(
  inside: Transaction<Database>,
  { accountId, keyId }: { readonly accountId: AccountId; readonly keyId: KeyId },
): Promise<UserId | undefined> {
  const row = await inside
    .selectFrom('api_key')
    .select('created_by')
    .where(({ and }) => and({ account_id: accountId, id: keyId }))
    .executeTakeFirst()
  return row?.created_by ?? undefined
}

function writeDone(
  { writeAudit }: ManageDeps,
  inside: Transaction<Database>,
  { requester, event }: Request,
): Promise<void> {
  return writeAudit(inside, { ...requester.audited, ...event, result: 'done' })
}

/** The same for a member of another account and for an unknown id. */
function unknownMember(): GatewayError {
  return new GatewayError('not_found', 'No member has this ID.')
}

function unknownInvitation(): GatewayError {
  return new GatewayError('not_found', 'No open invitation has this ID.')
}

function tooMany(): GatewayError {
  const message = `The account has ${MAX_OPEN_INVITATIONS} open invitations, the maximum. Revoke unused ones.`
  return new GatewayError('conflict', message)
}

/* Who can grant which role: nobody more than they have, and only owners change owners. */

const GIVES: Readonly<Record<Role, readonly Role[]>> = {
  owner: ['owner', 'admin', 'developer', 'billing'],
  admin: ['admin', 'developer', 'billing'],
  developer: [],
  billing: [],
}

export function mayGive(giver: Role, role: Role): boolean {
  return GIVES[giver].includes(role)
}

/** The role in which an API key manages members: admin, since admins create keys with full access; owner with `operator`. */
export function roleOfKey({ scopes }: Pick<Caller, 'scopes'>): Role {
  return scopes.has('operator') ? 'owner' : 'admin'
}

/** Whether `rights` include all rights of the role. */
export function coversRole(rights: ReadonlySet<Right>, role: Role): boolean {
  return [...rightsOfRole(role)].every((right) => rights.has(right))
}

/** Throws 403 where a key lacks a right that the role has. */
export function assertKeyMayGive({ kind, scopes }: Pick<Caller, 'kind' | 'scopes'>, role: Role): void {
  if (kind !== 'key' || coversRole(scopes, role)) return
  const missing = [...rightsOfRole(role)].filter((right) => !scopes.has(right))
  const message = `This key cannot grant the role '${role}': it does not have the rights ${missing.join(', ')}.`
  throw new GatewayError('insufficient_scope', message, { param: 'role' })
}

/** Throws 403 where the giver may not give the role. */
export function assertMayGive(giver: Role, role: Role): void {
  if (mayGive(giver, role)) return
  const message = `${role === 'owner' ? 'Only owners appoint owners' : 'Only owners and admins grant roles'}: you cannot grant the role '${role}'.`
  throw new GatewayError('insufficient_scope', message, { param: 'role' })
}

/** Throws 403 where a member of the one role may not change or remove a member of the other. */
function assertMayManage(actor: Role, target: Role): void {
  if (mayGive(actor, target)) return
  const message = target === 'owner' ? 'Only owners change or remove owners.' : NOT_A_MANAGER
  throw new GatewayError('insufficient_scope', message)
}

const NOT_A_MANAGER = "Your role in this account does not have the right 'members'."

/** @param caller For a limited key the error says that it is limited. */
export function notAManager(caller?: Pick<Caller, 'isLimited'>): GatewayError {
  return caller?.isLimited === true ? limitedKey() : new GatewayError('insufficient_scope', NOT_A_MANAGER)
}

/** An account that has an owner keeps one. */
function lastOwner(): GatewayError {
  const message = 'This is the last owner of the account. Make another member an owner first.'
  return new GatewayError('conflict', message)
}
