import type { AccountId, KeyId, UserId } from '../ids.ts'
import type { NanoUsd } from '../money.ts'

/** What a key may spend in a calendar month, UTC; undefined: no budget of its own. */
export interface KeyBudget {
  readonly keyId: KeyId
  readonly nanoUsd: NanoUsd | undefined
}

/** Who makes a request, as far as any part of Turnpike needs to know. */
export interface Caller {
  /** An API key, an access token of a connected device, or a person's session in the dashboard. */
  readonly kind: 'key' | 'token' | 'session'
  readonly accountId: AccountId
  /** What usage is booked on: the key; the device's id of a token; the user's id of a session. */
  readonly keyId: KeyId
  /** Who is behind a token or a session. */
  readonly userId: UserId | undefined
  /** That person's role in the account, as it is now. */
  readonly role: Role | undefined
  readonly plan: string
  /** Model IDs this credential may use; undefined: all. */
  readonly models: ReadonlySet<string> | undefined
  /** Requests a minute of this key and of the keys above it; undefined: the plan's alone. */
  readonly requestsPerMinute: number | undefined
  /** Whose requests these are counted among: the topmost limited key above this one. Undefined: `keyId`. */
  readonly rateKeyId?: KeyId | undefined
  /** What this key may spend in a calendar month, UTC, beside the account's own budget; undefined: no budget of its own. */
  readonly monthlyBudgetNanoUsd: NanoUsd | undefined
  /** The keys above this one, the nearest first: what it spends counts against their budgets, too. Undefined: none. */
  readonly ancestors?: readonly KeyBudget[] | undefined
  /** The key, or one above it, has a budget, models, a rate or an expiry: it cannot manage keys or members. */
  readonly isLimited?: boolean | undefined
  /** Rights of this credential; full access is already spelled out here. */
  readonly scopes: ReadonlySet<Right>
}

/*
 * Rights: the one table. A route names the right it needs (`config.scope`), an API key or a token has
 * some of them as scopes, a member has those of the role. `docs/members.md` and the matrix test are made from it.
 */

/** What keys and tokens can be limited to. `operator` is beyond the account: never implied by an empty list. */
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

/** Rights beyond the scopes: a key has them with full access, or with what implies them (`IMPLIED`); a token never. */
export const MEMBER_RIGHTS = ['members:read', 'audit', 'devices'] as const
export type Right = Scope | (typeof MEMBER_RIGHTS)[number]

interface RightEntry {
  /** In plain words, for pages and documentation: "It may …". */
  readonly may: string
  readonly roles: readonly Role[]
}

/** What makes credentials and members. A key that is limited in any way never has these, whatever its scopes say. */
export const DELEGATING_RIGHTS: ReadonlySet<Right> = new Set<Right>(['keys', 'members'])

/** Rights without a scope of their own that a scope brings: what every member has, a key that invites them has as well. */
export const IMPLIED: Readonly<Partial<Record<Scope, readonly Right[]>>> = { members: ['members:read', 'devices'] }

const ALL = ROLES
const BUILDERS = ['owner', 'admin', 'developer'] as const
const MANAGERS = ['owner', 'admin'] as const

export const RIGHTS: Readonly<Record<Right, RightEntry>> = {
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

/** What a member of this role may do; `operator` comes only with the first account's owner. */
export function rightsOfRole(role: Role, { operator = false } = {}): ReadonlySet<Right> {
  const rights = ROLE_RIGHTS.get(role) ?? new Set()
  return operator ? new Set([...rights, 'operator']) : rights
}

function rightsWith(role: Role): ReadonlySet<Right> {
  // (`Object.keys` forgets whose keys they are)
  return new Set((Object.keys(RIGHTS) as Right[]).filter((right) => RIGHTS[right].roles.includes(role)))
}
