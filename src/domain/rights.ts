/**
 * Who may do what: the one table of rights. A route names the right it needs (`config.scope`), an API key or a token has
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
  'billing',
  'operator',
] as const
export type Scope = (typeof SCOPES)[number]

export const ROLES = ['owner', 'admin', 'developer', 'billing'] as const
export type Role = (typeof ROLES)[number]

/** Rights beyond the scopes: a key has them with full access alone, a token never. */
export const MEMBER_RIGHTS = ['members:read', 'members', 'audit', 'devices'] as const
export type Right = Scope | (typeof MEMBER_RIGHTS)[number]

interface RightEntry {
  /** In plain words, for pages and documentation: "It may …". */
  readonly may: string
  readonly roles: readonly Role[]
}

const ALL = ROLES
const BUILDERS = ['owner', 'admin', 'developer'] as const
const MANAGERS = ['owner', 'admin'] as const

export const RIGHTS: Readonly<Record<Right, RightEntry>> = {
  chat: { may: 'ask models, at the cost of the account', roles: BUILDERS },
  'models:read': { may: 'list models and prices', roles: ALL },
  'usage:read': { may: 'read usage and requests', roles: ALL },
  'agents:read': { may: 'read agents and what they did', roles: BUILDERS },
  'agents:write': { may: 'start and steer agents, at the cost of the account', roles: BUILDERS },
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
