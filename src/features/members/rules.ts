/** Who may give which role to whom. Nobody gives more than they have, and owners are the business of owners. */
import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Role } from '../../domain/rights.ts'

const GIVES: Readonly<Record<Role, readonly Role[]>> = {
  owner: ['owner', 'admin', 'developer', 'billing'],
  admin: ['admin', 'developer', 'billing'],
  developer: [],
  billing: [],
}

export function mayGive(giver: Role, role: Role): boolean {
  return GIVES[giver].includes(role)
}

/**
 * As whom an API key manages members. Full access to an account is what an admin can give to a key; only the operator's
 * goes beyond that.
 */
export function roleOfKey({ scopes }: Pick<Caller, 'scopes'>): Role {
  return scopes.has('operator') ? 'owner' : 'admin'
}

/** Throws 403 where the giver may not give the role. */
export function assertMayGive(giver: Role, role: Role): void {
  if (mayGive(giver, role)) return
  const message = `${role === 'owner' ? 'Only owners make owners' : 'Only owners and admins give roles'}: you cannot give the role '${role}'.`
  throw new GatewayError('insufficient_scope', message, { param: 'role' })
}

/** Throws 403 where somebody of the one role may not change or remove somebody of the other. */
export function assertMayManage(actor: Role, target: Role): void {
  if (mayGive(actor, target)) return
  const message = target === 'owner' ? 'Only owners change or remove owners.' : NOT_A_MANAGER
  throw new GatewayError('insufficient_scope', message)
}

const NOT_A_MANAGER = "Your role in this account does not have the right 'members'."

export function notAManager(): GatewayError {
  return new GatewayError('insufficient_scope', NOT_A_MANAGER)
}

/** An account that has an owner keeps one. */
export function lastOwner(): GatewayError {
  const message = 'An account needs an owner, and this is its last one. Make somebody else an owner first.'
  return new GatewayError('conflict', message)
}
