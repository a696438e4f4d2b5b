/**
 * The rights that a caller can grant to a key: never more than the caller's own (KEY-3). And who may see, create and
 * change the keys of a team.
 */

import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { type DataPolicy, isAsStrictAs } from '../../domain/data-policy.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import {
  type Caller,
  DELEGATING_RIGHTS,
  hasTeamRight,
  OF_TEAM_KEYS,
  type Right,
  type Scope,
} from '../../domain/identity/caller.ts'
import type { KeyId, TeamId, UserId } from '../../domain/ids.ts'
import { isWithin, parseAddressRange } from '../../lib/ip-address.ts'
import { ACCOUNT_SCOPES, type ApiKey, isLimited, type KeyRights, rightsOfScopes } from './key.ts'

/** The rights of the caller and, for an API key, the limits in its row. */
export interface Granter {
  readonly caller: Caller
  readonly key: (KeyRights & { readonly id?: KeyId; readonly createdBy?: UserId | undefined }) | undefined
}

/** Rights of a new key: as requested, by default the granter's own. `operator` is never implied. */
export function grantRights(requested: Partial<KeyRights>, { caller, key }: Granter): KeyRights {
  const limits = {
    ipAllowlist: orElse(requested.ipAllowlist, key?.ipAllowlist ?? []),
    models: orElse(requested.models, [...(caller.models ?? [])]),
    monthlyBudgetNanoUsd: requested.monthlyBudgetNanoUsd ?? key?.monthlyBudgetNanoUsd,
    requestsPerMinute: requested.requestsPerMinute ?? caller.requestsPerMinute,
    dataPolicy: requested.dataPolicy ?? key?.dataPolicy,
    expiresAt: requested.expiresAt ?? key?.expiresAt,
    ...(requested.hasBudgets === true ? { hasBudgets: true } : {}),
    ...(requested.tags !== undefined && { tags: requested.tags }),
    ...(requested.requireTags !== undefined && { requireTags: requested.requireTags }),
  }
  const own = ownScopes(caller)
  return { ...limits, scopes: orElse(requested.scopes, isLimited(limits) ? own.filter(isNotDelegating) : own) }
}

function isNotDelegating(scope: Scope): boolean {
  return !DELEGATING_RIGHTS.has(scope)
}

/** Throws 400 for a key with limits that lists `keys` or `members`, which limited keys do not have. */
export function assertConsistent(rights: KeyRights): void {
  const scope = rights.scopes.find((one) => DELEGATING_RIGHTS.has(one))
  if (scope === undefined || !isLimited(rights)) return
  const message = `A key with a budget, models, a rate or an expiry cannot have the scope '${scope}': its limits would not apply to what it creates.`
  throw new GatewayError('invalid_value', message, { param: 'scopes' })
}

/** Throws 403 with `param` if `rights` exceed the granter's. */
export function assertGrantable(rights: KeyRights, { caller, key }: Granter): void {
  for (const right of rightsOfScopes(rights.scopes)) {
    if (!caller.scopes.has(right)) throw beyondScopes(caller, right)
  }
  assertModels(rights.models, caller.models)
  assertAddresses(rights.ipAllowlist, key?.ipAllowlist ?? [])
  assertPolicy(rights.dataPolicy, key?.dataPolicy)
  assertLimit('requests_per_minute', rights.requestsPerMinute, caller.requestsPerMinute)
  assertLimit('monthly_budget_usd', rights.monthlyBudgetNanoUsd, key?.monthlyBudgetNanoUsd)
  assertLimit('expires_at', rights.expiresAt, key?.expiresAt)
}

/** Throws 400 with `param` for an entry that is neither an address nor a CIDR block. */
export function assertAddressList(entries: readonly string[]): void {
  for (const [index, entry] of entries.entries()) {
    if (parseAddressRange(entry) !== undefined) continue
    const message = `'${entry}' is not an IP address or a CIDR block such as 203.0.113.0/24 or 2001:db8::/32.`
    throw new GatewayError('invalid_value', message, { param: `ip_allowlist[${index}]` })
  }
}

function ownScopes({ scopes }: Caller): readonly Scope[] {
  const everything = rightsOfScopes([])
  if ([...everything].every((scope) => scopes.has(scope))) return []
  return [...scopes].filter(isAccountScope)
}

function isAccountScope(right: Right): right is Scope {
  return ACCOUNT_SCOPES.some((scope) => scope === right)
}

function assertModels(models: readonly string[], own: ReadonlySet<string> | undefined): void {
  if (own === undefined) return
  const foreign = models.find((model) => !own.has(model))
  if (models.length > 0 && foreign === undefined) return
  const message = `A key cannot grant more than it has: it does not allow ${foreign === undefined ? 'all models' : `'${foreign}'`}.`
  throw new GatewayError('model_not_allowed', message, { param: 'models' })
}

function assertAddresses(entries: readonly string[], own: readonly string[]): void {
  if (own.length === 0) return
  if (entries.length === 0) throw beyond('ip_allowlist', 'its allowlist does not contain every address')
  const outer = own.map(parseAddressRange).filter((range) => range !== undefined)
  for (const entry of entries) {
    const inner = parseAddressRange(entry)
    if (inner !== undefined && outer.some((range) => isWithin(inner, range))) continue
    throw beyond('ip_allowlist', `its allowlist does not contain '${entry}'`)
  }
}

function assertPolicy(policy: DataPolicy | undefined, own: DataPolicy | undefined): void {
  if (!isAsStrictAs(policy, own)) throw beyond('data_policy', 'its own data policy is stricter')
}

function assertLimit<Amount extends number | bigint>(
  param: string,
  value: Amount | undefined,
  own: Amount | undefined,
): void {
  if (own === undefined || (value !== undefined && value <= own)) return
  throw beyond(param, `its own '${param}' is lower`)
}

function beyondScopes({ kind }: Caller, right: Right): GatewayError {
  if (kind === 'key') return beyond('scopes', `it does not have the scope '${right}'`)
  const message = `A key cannot have more rights than its creator: you do not have the right '${right}'.`
  return new GatewayError('insufficient_scope', message, { param: 'scopes' })
}

function beyond(param: string, reason: string): GatewayError {
  return new GatewayError('insufficient_scope', `A key cannot grant more than it has: ${reason}.`, { param })
}

function orElse<Item>(requested: readonly Item[] | undefined, own: readonly Item[]): readonly Item[] {
  return requested === undefined || requested.length === 0 ? own : requested
}

/* Who may see, create and change the keys of a team. */

/** Teams whose keys a caller sees; undefined: all keys of the account. */
export function visibleTeams({ teamId, teams, scopes }: Caller): readonly TeamId[] | undefined {
  if (teamId !== undefined) return [teamId]
  return scopes.has('keys') ? undefined : [...(teams?.keys() ?? [])]
}

export function maySee(caller: Caller, { teamId }: Pick<ApiKey, 'teamId'>): boolean {
  const visible = visibleTeams(caller)
  return visible === undefined || (teamId !== undefined && visible.includes(teamId))
}

/** Throws 404 for a key that the caller does not see, and 403 for one that only the admins of its team may change. */
export function assertMayChange(caller: Caller, key: Pick<ApiKey, 'teamId' | 'createdBy'>): void {
  if (!maySee(caller, key)) throw notFound('active key')
  const { teamId, createdBy } = key
  if (teamId === undefined || caller.teamId === teamId || hasTeamRight(caller, teamId, 'manage')) return
  if (createdBy !== undefined && createdBy === caller.userId && hasTeamRight(caller, teamId, 'use')) return
  const message = 'Only admins of the team, of the account, and who created it may change a key of a team.'
  throw new GatewayError('insufficient_scope', message)
}

/**
 * The team of a new key: the requested one, or that of the key that creates it, which it cannot leave. Throws 404 for a team
 * that is not there, archived or another account's, and 403 for one that the caller may not use.
 */
export async function teamOfNewKey(
  db: Kysely<Database>,
  caller: Caller,
  requested: TeamId | undefined,
): Promise<TeamId | undefined> {
  if (requested === undefined) {
    if (caller.teamId === undefined && !caller.scopes.has('keys')) throw ofTeamsAlone()
    return caller.teamId
  }
  const isForeign = caller.teamId !== undefined && caller.teamId !== requested
  if (isForeign || (await findTeam(db, caller, requested))?.archived_at !== null) {
    throw notFound('active team', 'team_id')
  }
  if (caller.teamId === requested || hasTeamRight(caller, requested, 'use')) return requested
  const message = 'Only admins and members of a team, and admins of the account, may create keys of the team.'
  throw new GatewayError('insufficient_scope', message, { param: 'team_id' })
}

/** A caller who manages keys only as a member of their team has what keys of a team can have, there. */
export function inTeam(caller: Caller, teamId: TeamId | undefined): Caller {
  if (teamId === undefined || caller.kind === 'key' || caller.scopes.has('keys')) return caller
  return { ...caller, scopes: OF_TEAM_KEYS }
}

/** Undefined for a team that is unknown, or another account's. */
export function findTeam(db: Kysely<Database>, { accountId }: Caller, id: TeamId) {
  return db
    .selectFrom('team')
    .select('archived_at')
    .where(({ and }) => and({ account_id: accountId, id }))
    .executeTakeFirst()
}

function ofTeamsAlone(): GatewayError {
  const message = "Your role in this account does not have the right 'keys'; name one of your teams in `team_id`."
  return new GatewayError('insufficient_scope', message, { param: 'team_id' })
}
