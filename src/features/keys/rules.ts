/** What a caller may give to a key. Nobody can make one, or make of one, that is stronger than themselves (KEY-3). */
import type { Caller, Right, Scope } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { UserId } from '../../domain/ids.ts'
import { isWithin, parseAddressRange } from '../../lib/address-ranges.ts'
import { ACCOUNT_SCOPES, type KeyRights, rightsOfScopes } from './key.ts'

/** Who gives: the caller's rights and, for an API key, the limits in its row. */
export interface Granter {
  readonly caller: Caller
  readonly key: (KeyRights & { readonly createdBy?: UserId | undefined }) | undefined
}

/** Rights for a new key: what was asked for, and where nothing was, the granter's own. `operator` is never implied. */
export function grantRights(asked: Partial<KeyRights>, { caller, key }: Granter): KeyRights {
  return {
    scopes: orElse(asked.scopes, ownScopes(caller)),
    ipAllowlist: orElse(asked.ipAllowlist, key?.ipAllowlist ?? []),
    models: orElse(asked.models, [...(caller.models ?? [])]),
    monthlyBudgetNanoUsd: asked.monthlyBudgetNanoUsd ?? key?.monthlyBudgetNanoUsd,
    requestsPerMinute: asked.requestsPerMinute ?? caller.requestsPerMinute,
    expiresAt: asked.expiresAt ?? key?.expiresAt,
  }
}

/** Throws 403 with `param` when anything in `rights` goes beyond the granter's. */
export function assertGrantable(rights: KeyRights, { caller, key }: Granter): void {
  for (const right of rightsOfScopes(rights.scopes)) {
    if (!caller.scopes.has(right)) throw beyondScopes(caller, right)
  }
  assertModels(rights.models, caller.models)
  assertAddresses(rights.ipAllowlist, key?.ipAllowlist ?? [])
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
  const message = `A key cannot give more than it has: it may not use ${foreign === undefined ? 'all models' : `'${foreign}'`}.`
  throw new GatewayError('model_not_allowed', message, { param: 'models' })
}

function assertAddresses(entries: readonly string[], own: readonly string[]): void {
  if (own.length === 0) return
  if (entries.length === 0) throw beyond('ip_allowlist', 'it may not be used from everywhere')
  const outer = own.map(parseAddressRange).filter((range) => range !== undefined)
  for (const entry of entries) {
    const inner = parseAddressRange(entry)
    if (inner !== undefined && outer.some((range) => isWithin(inner, range))) continue
    throw beyond('ip_allowlist', `it may not be used from '${entry}'`)
  }
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
  const message = `A key cannot be given more than its maker has: you do not have the right '${right}'.`
  return new GatewayError('insufficient_scope', message, { param: 'scopes' })
}

function beyond(param: string, reason: string): GatewayError {
  return new GatewayError('insufficient_scope', `A key cannot give more than it has: ${reason}.`, { param })
}

function orElse<Item>(asked: readonly Item[] | undefined, own: readonly Item[]): readonly Item[] {
  return asked === undefined || asked.length === 0 ? own : asked
}
