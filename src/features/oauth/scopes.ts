/** Scopes that a device may request: never keys, billing, members or the installation (DEV-4). */
import { type Role, rightsOfRole, type Scope } from '../../domain/identity/caller.ts'

/** What `api` stands for. */
export const API_SCOPES: readonly Scope[] = [
  'chat',
  'models:read',
  'usage:read',
  'agents:read',
  'agents:write',
  'webhooks',
]
/** Brings a refresh token. */
export const OFFLINE = 'offline_access'
export const SUPPORTED_SCOPES: readonly string[] = ['api', ...API_SCOPES, OFFLINE]

export interface RequestedScopes {
  /** In the order of `API_SCOPES`, each once. */
  readonly rights: readonly Scope[]
  readonly offline: boolean
}

/** @param text Names with spaces between. @returns undefined when one of them is unsupported. */
export function parseScopes(text: string): RequestedScopes | undefined {
  const names = new Set(text.split(' ').filter((name) => name !== ''))
  for (const name of names) if (!SUPPORTED_SCOPES.includes(name)) return undefined
  const offline = names.delete(OFFLINE)
  const all = names.size === 0 || names.has('api')
  return { rights: API_SCOPES.filter((scope) => all || names.has(scope)), offline }
}

/** The scopes that a member of this role can give: never more than the role's rights. */
export function inRole(scopes: readonly Scope[], role: Role): readonly Scope[] {
  const rights = rightsOfRole(role)
  return scopes.filter((scope) => rights.has(scope))
}

/** Reads the scopes of a row. */
export function readScopes(json: string): readonly Scope[] {
  return JSON.parse(json) as Scope[] // written from `RequestedScopes`
}

export function scopeText(rights: readonly Scope[], offline: boolean): string {
  return (offline ? [...rights, OFFLINE] : rights).join(' ')
}
