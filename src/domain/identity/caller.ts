import type { DataPolicy } from '../data-policy.ts'
import type { AccountId, KeyId, TeamId, UserId } from '../ids.ts'
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
  /** The policies of the account, the key and its ancestors, which all apply. Undefined if there are none. */
  readonly dataPolicies?: readonly DataPolicy[] | undefined
  /** Team that the requests are of, whose limits apply to them; undefined: the account. */
  readonly teamId?: TeamId | undefined
  /** Requests a minute of all requests of the team; undefined: no limit. */
  readonly teamRequestsPerMinute?: number | undefined
  /** Endpoints that the team allows; undefined: all. */
  readonly endpoints?: ReadonlySet<TeamEndpoint> | undefined
  /** Teams of the user with their role there. Undefined: none, or no user. */
  readonly teams?: ReadonlyMap<TeamId, TeamRole> | undefined
  /** The default tags of its requests, as `key=value`. Undefined if there are none. */
  readonly tags?: readonly string[] | undefined
  /** Keys of tags that its requests must have; undefined: none. */
  readonly requireTags?: readonly string[] | undefined
  /**
   * The version of the account's own provider credentials, which grows with every change. Undefined if it never had
   * any.
   */
  readonly providerCredentials?: number | undefined
  /** The version of the account's guardrails, which grows with every change. Undefined if it never had any. */
  readonly guardrails?: number | undefined
  /** Which requests of the account have prompt and answer stored; undefined: none. */
  readonly contentCapture?: CaptureSettings | undefined
  /** Rights of this credential; full access is expanded. */
  readonly scopes: ReadonlySet<Right>
}

/*
 * The table of rights. A route requires a right (`config.scope`); keys and tokens have rights as scopes, members by
 * their role. `docs/members.md` and the matrix test are generated from it.
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
  'teams',
  'scim',
  'billing',
  'operator',
] as const
export type Scope = (typeof SCOPES)[number]

export const ROLES = ['owner', 'admin', 'developer', 'billing'] as const
export type Role = (typeof ROLES)[number]

/** Rights without a scope: keys have them with full access or by `IMPLIED`, tokens never. */
export const MEMBER_RIGHTS = ['members:read', 'teams:read', 'audit', 'devices', 'guardrails', 'content'] as const
export type Right = Scope | (typeof MEMBER_RIGHTS)[number]

/**
 * Rights that create credentials and members, lift guardrails, and read what others wrote. Limited keys never have them,
 * whatever their scopes.
 */
export const DELEGATING_RIGHTS: ReadonlySet<Right> = new Set<Right>([
  'keys',
  'members',
  'teams',
  'scim',
  'guardrails',
  'content',
])

/** Rights that a scope implies: a key that invites members has the rights of every member. */
export const IMPLIED: Readonly<Partial<Record<Scope, readonly Right[]>>> = {
  members: ['members:read', 'devices'],
  teams: ['teams:read'],
}

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
  'teams:read': { may: 'see the teams of the account and who is in them', roles: ALL },
  teams: { may: 'create, change and archive teams, and decide who is in them', roles: MANAGERS },
  scim: { may: 'provision people and groups from an identity provider', roles: MANAGERS },
  audit: { may: 'read the audit log', roles: MANAGERS },
  guardrails: { may: 'set guardrails', roles: MANAGERS },
  content: { may: 'have prompts and answers captured, and read them', roles: MANAGERS },
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

/*
 * Teams. What a role in the account allows, it allows in every team; the role in a team adds to it, there alone.
 */

export const TEAM_ROLES = ['admin', 'member', 'viewer'] as const
export type TeamRole = (typeof TEAM_ROLES)[number]

/** Endpoints that a team can be limited to. */
export const TEAM_ENDPOINTS = [
  'chat',
  'responses',
  'messages',
  'completions',
  'embeddings',
  'rerank',
  'agents',
] as const
export type TeamEndpoint = (typeof TEAM_ENDPOINTS)[number]

/**
 * The actions in a team. `roles` are the roles in the team; `right` is the right in the account that also allows the
 * action.
 */
export const TEAM_RIGHTS = {
  read: { may: 'see the team, its members and its keys', right: 'teams:read', roles: TEAM_ROLES },
  use: { may: 'create keys of the team, and send requests as the team', right: 'teams', roles: ['admin', 'member'] },
  manage: {
    may: 'rename the team, decide who is in it, and change and revoke its keys',
    right: 'teams',
    roles: ['admin'],
  },
} as const satisfies Record<string, { may: string; right: Right; roles: readonly TeamRole[] }>
export type TeamRight = keyof typeof TEAM_RIGHTS

/** Rights that keys of a team have at most: what concerns the whole account is not among them. */
export const OF_TEAM_KEYS: ReadonlySet<Right> = new Set<Right>([
  'chat',
  'models:read',
  'usage:read',
  'agents:read',
  'agents:write',
  'keys',
  'teams:read',
])

export function hasTeamRight({ scopes, teams }: Caller, teamId: TeamId, right: TeamRight): boolean {
  const { right: ofAccount, roles } = TEAM_RIGHTS[right]
  if (scopes.has(ofAccount)) return true
  const role = teams?.get(teamId)
  return role !== undefined && (roles as readonly TeamRole[]).includes(role)
}

/** The settings of an account for content capture: the requests of which prompt and answer are stored. */
export interface CaptureSettings {
  readonly enabled: boolean
  /** IDs of API keys: only their requests, and those of the keys that they created. */
  readonly keys?: readonly string[] | undefined
  /** IDs of teams: only their requests. Without `keys` and `teams`: all requests of the account. */
  readonly teams?: readonly string[] | undefined
  /** The days for which content is kept. Undefined for the operator's limit. */
  readonly retentionDays?: number | undefined
}

/** Parses the settings. @param text The column of the account. */
export function captureSettings(text: string | null): CaptureSettings {
  return text === null ? { enabled: false } : (JSON.parse(text) as CaptureSettings)
}

/** Undefined if no request is captured, so that requests pay nothing for it. @param text The column of the account. */
export function activeCapture(text: string | null): CaptureSettings | undefined {
  if (text === null) return undefined
  const settings = captureSettings(text)
  return settings.enabled ? settings : undefined
}

interface CapturedCaller {
  readonly keyId: KeyId
  readonly teamId?: TeamId | undefined
  /** The keys that created this one, directly or indirectly. */
  readonly ancestors?: readonly { readonly keyId: KeyId }[] | undefined
}

export function isCaptured({ keys, teams }: CaptureSettings, { keyId, teamId, ancestors }: CapturedCaller): boolean {
  if (keys === undefined && teams === undefined) return true
  if (teamId !== undefined && teams?.includes(teamId) === true) return true
  return keys !== undefined && (keys.includes(keyId) || ancestors?.some((above) => keys.includes(above.keyId)) === true)
}
