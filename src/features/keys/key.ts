/** An API key as this feature speaks of it, and its row. */
import type { Selectable } from 'kysely'
import type { ApiKeyTable } from '../../db/schema.ts'
import { type Right, SCOPES, type Scope } from '../../domain/caller.ts'
import type { AccountId, KeyId, UserId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { MEMBER_RIGHTS } from '../../domain/rights.ts'

/** What a key may do and how much. Empty lists and undefined limit nothing. */
export interface KeyRights {
  readonly scopes: readonly Scope[]
  /** Addresses and CIDR blocks. */
  readonly ipAllowlist: readonly string[]
  readonly monthlyBudgetNanoUsd: NanoUsd | undefined
  readonly requestsPerMinute: number | undefined
  readonly models: readonly string[]
  /** Unix milliseconds. */
  readonly expiresAt: number | undefined
}

/** Times are Unix milliseconds. */
export interface ApiKey extends KeyRights {
  readonly accountId: AccountId
  readonly id: KeyId
  readonly name: string
  readonly prefix: string
  readonly last4: string
  /** The person whose rights bound its own. */
  readonly createdBy: UserId | undefined
  readonly createdAt: number
  readonly lastUsedAt: number | undefined
  readonly revokedAt: number | undefined
}

/** Scopes within an account. */
export const ACCOUNT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== 'operator')
const FULL_RIGHTS: readonly Right[] = [...ACCOUNT_SCOPES, ...MEMBER_RIGHTS]

/**
 * The rights that a key's list stands for: an empty one is full access to the account, and never `operator`; one of all
 * there is, `operator` too, is full access beside it.
 */
export function rightsOfScopes(scopes: readonly Scope[]): ReadonlySet<Right> {
  if (scopes.length === 0) return new Set(FULL_RIGHTS)
  return new Set(scopes.length < SCOPES.length ? scopes : [...FULL_RIGHTS, ...scopes])
}

export function toApiKey(row: Selectable<ApiKeyTable>): ApiKey {
  return {
    accountId: row.account_id,
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    last4: row.last4,
    scopes: JSON.parse(row.scopes) as Scope[],
    ipAllowlist: JSON.parse(row.ip_allowlist) as string[],
    monthlyBudgetNanoUsd: row.monthly_budget_nano_usd ?? undefined,
    requestsPerMinute: row.requests_per_minute ?? undefined,
    models: JSON.parse(row.models) as string[],
    createdBy: row.created_by ?? undefined,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
    expiresAt: row.expires_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
  }
}

/** The columns that hold a key's rights. */
export function rightsColumns(rights: KeyRights) {
  return {
    scopes: JSON.stringify(rights.scopes),
    ip_allowlist: JSON.stringify(rights.ipAllowlist),
    monthly_budget_nano_usd: rights.monthlyBudgetNanoUsd ?? null,
    requests_per_minute: rights.requestsPerMinute ?? null,
    models: JSON.stringify(rights.models),
    expires_at: rights.expiresAt ?? null,
  }
}
