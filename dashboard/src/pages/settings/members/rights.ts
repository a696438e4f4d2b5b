/** The table of rights in words: what a scope of a key brings, and what each role may do. */

export const ROLES = ['owner', 'admin', 'developer', 'billing'] as const
export type Role = (typeof ROLES)[number]

/** What keys can be limited to, within an account. */
export const SCOPES = [
  'chat',
  'models:read',
  'usage:read',
  'agents:read',
  'agents:write',
  'webhooks',
  'keys',
  'members',
  'teams',
  'scim',
  'billing',
] as const
export type Scope = (typeof SCOPES)[number]

export interface RightWords {
  /** For lists and cells: "Chat". */
  readonly label: string
  /** Completes "It may …". */
  readonly may: string
  readonly roles: readonly Role[]
}

const BUILDERS = ['owner', 'admin', 'developer'] as const
const MANAGERS = ['owner', 'admin'] as const

export const RIGHTS: Readonly<Record<string, RightWords>> = {
  chat: { label: 'Chat', may: 'call models, at the account’s cost', roles: BUILDERS },
  'models:read': { label: 'Models', may: 'list models and prices', roles: ROLES },
  'usage:read': { label: 'Usage', may: 'read usage and requests', roles: ROLES },
  'agents:read': { label: 'Read agents', may: 'read agents and their work', roles: BUILDERS },
  'agents:write': { label: 'Run agents', may: 'start and control agents, at the account’s cost', roles: BUILDERS },
  webhooks: { label: 'Webhooks', may: 'manage webhooks', roles: BUILDERS },
  keys: { label: 'API keys', may: 'create, change and revoke API keys', roles: BUILDERS },
  billing: { label: 'Billing', may: 'read credit and invoices, set budgets', roles: ['owner', 'admin', 'billing'] },
  operator: { label: 'Operator', may: 'administer the whole installation', roles: [] },
  'members:read': { label: 'See members', may: 'see who belongs to the account', roles: ROLES },
  members: { label: 'Members', may: 'invite, change and remove members', roles: MANAGERS },
  'teams:read': { label: 'See teams', may: 'see the teams of the account and who is in them', roles: ROLES },
  teams: {
    label: 'Teams',
    may: 'create, change and archive teams, and decide who is in them',
    roles: MANAGERS,
  },
  scim: { label: 'Provisioning', may: 'provision people and groups from an identity provider', roles: MANAGERS },
  guardrails: { label: 'Guardrails', may: 'set guardrails', roles: MANAGERS },
  content: { label: 'Content', may: 'have prompts and answers captured, and read them', roles: MANAGERS },
  audit: { label: 'Audit log', may: 'read the audit log', roles: MANAGERS },
  devices: {
    label: 'Devices',
    may: 'see and disconnect their own devices; owners and admins also those of others',
    roles: ROLES,
  },
}

/** Rights beyond the scopes: a key has them with full access, the first and last with `members`, too. */
const BEYOND_SCOPES = ['members:read', 'teams:read', 'audit', 'devices', 'guardrails', 'content']

/** What a key with limits never has: whoever it let in, and what it created, would be without them. */
export const DELEGATING_SCOPES: readonly Scope[] = ['keys', 'members', 'teams', 'scim']

/** One that a newer gateway has and this page does not know is called by its own name. */
export function labelOfRight(right: string): string {
  return wordsOf(right)?.label ?? right
}

/** "Call models, at the account’s cost." */
export function sentenceOfRight(right: string): string {
  const may = wordsOf(right)?.may ?? right
  return `${may.charAt(0).toUpperCase()}${may.slice(1)}.`
}

export function isScope(right: string): right is Scope {
  return SCOPES.some((scope) => scope === right)
}

/** Whether somebody with these rights can make keys of full access. */
export function mayGiveAll(rights: ReadonlySet<string>): boolean {
  return [...SCOPES, ...BEYOND_SCOPES].every((right) => rights.has(right))
}

/** The rights that somebody with this role has, in the order of the table. */
export function rightsOfRole(role: Role): readonly string[] {
  return Object.keys(RIGHTS).filter((right) => RIGHTS[right]?.roles.includes(role))
}

const ROLE_NAMES: Readonly<Record<Role, string>> = {
  owner: 'Owner',
  admin: 'Admin',
  developer: 'Developer',
  billing: 'Billing',
}

export const ROLE_SUMMARIES: Readonly<Record<Role, string>> = {
  owner: 'Everything, including adding and removing owners.',
  admin: 'Everything except adding, changing and removing owners.',
  developer: 'Models, agents, webhooks and API keys. No billing, and no members.',
  billing: 'Credit, budgets, invoices and usage. No model calls and no keys.',
}

export function nameOfRole(role: string): string {
  return isRole(role) ? ROLE_NAMES[role] : role
}

export function isRole(role: string): role is Role {
  return ROLES.some((known) => known === role)
}

/** Owners give every role, admins every one but owner, others none. */
export function rolesToGive(own: string): readonly Role[] {
  if (own === 'owner') return ROLES
  return own === 'admin' ? ROLES.filter((role) => role !== 'owner') : []
}

function wordsOf(right: string): RightWords | undefined {
  return Object.hasOwn(RIGHTS, right) ? RIGHTS[right] : undefined
}
