import type { DataPolicy } from '../data-policy.ts'
import type { AccountId, KeyId, UserId } from '../ids.ts'
import type { NanoUsd } from '../money.ts'

/** Monthly budget of a key (calendar month, UTC); undefined: none of its own. */
export interface KeyBudget {
  readonly keyId: KeyId
  readonly nanoUsd: NanoUsd | undefined
}

/** The authenticated client of a request. */
export interface Caller {
  /** An API key, an access token of a connected device, or a person's session in the dashboard. */
  readonly kind: 'key' | 'token' | 'session'
  readonly accountId: AccountId
  /** ID under which usage is recorded: of the key, of the device of a token, of the user of a session. */
  readonly keyId: KeyId
  /** The user of a token or session. */
  readonly userId: UserId | undefined
  /** Current role of the user in the account. */
  readonly role: Role | undefined
  readonly plan: string
  /** Model IDs this credential may use; undefined: all. */
  readonly models: ReadonlySet<string> | undefined
  /** Requests a minute of this key and its ancestors; undefined: only the plan limits them. */
  readonly requestsPerMinute: number | undefined
  /** Key whose rate limit counts the requests: the topmost limited ancestor. Undefined: `keyId`. */
  readonly rateKeyId?: KeyId | undefined
  /** Budget of this key (calendar month, UTC), besides that of the account; undefined: none. */
  readonly monthlyBudgetNanoUsd: NanoUsd | undefined
  /** Ancestors, the nearest first: usage also counts against their budgets. Undefined: none. */
  readonly ancestors?: readonly KeyBudget[] | undefined
  /** The key or an ancestor has a budget, models, a rate or an expiry: it cannot manage keys or members. */
  readonly isLimited?: boolean | undefined
  /** Of the account, the key and its ancestors: all apply. Undefined: none. */
  readonly dataPolicies?: readonly DataPolicy[] | undefined
  /** Version of the account's own provider credentials, which grows with every change; undefined: it never had any. */
  readonly providerCredentials?: number | undefined
  /** Rights of this credential; full access is expanded. */
  readonly scopes: ReadonlySet<Right>
}

/*
 * The table of rights. A route requires a right (`config.scope`); keys and tokens have rights as scopes, members by their
 * role. `docs/members.md` and the matrix test are generated from it.
 */

/** Scopes of keys and tokens. `operator` exceeds the account: an empty list does not imply it. */
export const SCOPES = [
  'chat',
  'models:read',
  'usage:read',
  'agents:read',
  'agents:write',
  'webhooks',
  'keys',
  'members',
  'billing',
  'operator',
] as const
export type Scope = (typeof SCOPES)[number]

export const ROLES = ['owner', 'admin', 'developer', 'billing'] as const
export type Role = (typeof ROLES)[number]

/** Rights without a scope: keys have them with full access or by `IMPLIED`, tokens never. */
export const MEMBER_RIGHTS = ['members:read', 'audit', 'devices'] as const
export type Right = Scope | (typeof MEMBER_RIGHTS)[number]

/** Rights that create credentials and members. Limited keys never have them, whatever their scopes. */
export const DELEGATING_RIGHTS: ReadonlySet<Right> = new Set<Right>(['keys', 'members'])

/** Rights that a scope implies: a key that invites members has the rights of every member. */
export const IMPLIED: Readonly<Partial<Record<Scope, readonly Right[]>>> = { members: ['members:read', 'devices'] }

const ALL = ROLES
const BUILDERS = ['owner', 'admin', 'developer'] as const
const MANAGERS = ['owner', 'admin'] as const

/** `may` continues "It can", for pages and documentation. */
export const RIGHTS: Readonly<Record<Right, { readonly may: string; readonly roles: readonly Role[] }>> = {
  chat: { may: 'call models, at the account’s cost', roles: BUILDERS },
  'models:read': { may: 'list models and prices', roles: ALL },
  'usage:read': { may: 'read usage and requests', roles: ALL },
  'agents:read': { may: 'read agents and their work', roles: BUILDERS },
  'agents:write': { may: 'start and control agents, at the account’s cost', roles: BUILDERS },
  webhooks: { may: 'manage webhooks', roles: BUILDERS },
  keys: { may: 'create, change and revoke API keys', roles: BUILDERS },
  billing: { may: 'read credit and invoices, set budgets', roles: ['owner', 'admin', 'billing'] },
  operator: { may: 'administer the whole installation', roles: [] },
  'members:read': { may: 'see who belongs to the account', roles: ALL },
  members: { may: 'invite, change and remove members', roles: MANAGERS },
  audit: { may: 'read the audit log', roles: MANAGERS },
  devices: { may: 'see and disconnect their own devices; owners and admins also those of others', roles: ALL },
}

const ROLE_RIGHTS = new Map(ROLES.map((role) => [role, rightsWith(role)]))

/** Returns the rights of a role; only the owner of the first account has `operator`. */
export function rightsOfRole(role: Role, { operator = false } = {}): ReadonlySet<Right> {
  const rights = ROLE_RIGHTS.get(role) ?? new Set()
  return operator ? new Set([...rights, 'operator']) : rights
}

function rightsWith(role: Role): ReadonlySet<Right> {
  return new Set((Object.keys(RIGHTS) as Right[]).filter((right) => RIGHTS[right].roles.includes(role)))
}
