/** Who can grant which role: nobody more than they have, and only owners change owners. */
import { GatewayError } from '../../domain/errors.ts'
import { type Caller, type Right, type Role, rightsOfRole } from '../../domain/identity/caller.ts'
import { limitedKey } from '../../http/caller.ts'

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
export function assertMayManage(actor: Role, target: Role): void {
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
export function lastOwner(): GatewayError {
  const message = 'This is the last owner of the account. Make another member an owner first.'
  return new GatewayError('conflict', message)
}
