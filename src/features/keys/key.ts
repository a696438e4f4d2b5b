/** An API key: rights and limits, row, and the form of its secret (docs/keys.md). */
import type { Selectable } from 'kysely'
import type { ApiKeyTable } from '../../db/schema/schema.ts'
import { type DataPolicy, policyOf, policyText } from '../../domain/data-policy.ts'
import {
  DELEGATING_RIGHTS,
  IMPLIED,
  MEMBER_RIGHTS,
  type Right,
  SCOPES,
  type Scope,
} from '../../domain/identity/caller.ts'
import { secretForm } from '../../domain/identity/credential.ts'
import type { AccountId, KeyId, TeamId, UserId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { readTagColumns, type TagSettings, tagColumns } from '../../http/fields/tags.ts'

/** Rights and limits of a key. Empty lists and undefined mean no limit. */
export interface KeyRights extends TagSettings {
  readonly scopes: readonly Scope[]
  /** Addresses and CIDR blocks. */
  readonly ipAllowlist: readonly string[]
  readonly monthlyBudgetNanoUsd: NanoUsd | undefined
  readonly requestsPerMinute: number | undefined
  readonly models: readonly string[]
  /** Undefined: none of its own. */
  readonly dataPolicy: DataPolicy | undefined
  /** Unix milliseconds. */
  readonly expiresAt: number | undefined
  /** It has budgets of its own, which `BudgetPort` has. */
  readonly hasBudgets?: boolean | undefined
}

/** Times are Unix milliseconds. */
export interface ApiKey extends KeyRights {
  readonly accountId: AccountId
  readonly id: KeyId
  readonly name: string
  readonly prefix: string
  readonly last4: string
  /** The person whose rights it cannot exceed. */
  readonly createdBy: UserId | undefined
  /** The key that created it, whose limits apply to it. */
  readonly parentId: KeyId | undefined
  /** Undefined: it belongs to the account. */
  readonly teamId: TeamId | undefined
  readonly createdAt: number
  readonly lastUsedAt: number | undefined
  readonly revokedAt: number | undefined
  /** Refused from this time until it is enabled again. */
  readonly disabledAt: number | undefined
  /** The secret before the last rotation; it may have expired. */
  readonly previous: { readonly last4: string; readonly until: number } | undefined
}

/** Scopes within an account. */
export const ACCOUNT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== 'operator')
const FULL_RIGHTS: readonly Right[] = [...ACCOUNT_SCOPES, ...MEMBER_RIGHTS]

/**
 * Returns the rights of a list of scopes. An empty list is full access to the account without `operator`; a list of all
 * scopes, including `operator`, is full access and `operator`.
 */
export function rightsOfScopes(scopes: readonly Scope[]): ReadonlySet<Right> {
  if (scopes.length === 0) return new Set(FULL_RIGHTS)
  if (scopes.length === SCOPES.length) return new Set([...FULL_RIGHTS, ...scopes])
  return new Set(scopes.flatMap((scope): readonly Right[] => [scope, ...(IMPLIED[scope] ?? [])]))
}

type Limits = Pick<KeyRights, 'monthlyBudgetNanoUsd' | 'requestsPerMinute' | 'models' | 'expiresAt' | 'hasBudgets'>

/** Whether a key has a budget, models, a rate or an expiry, so that it cannot manage keys or members. */
export function isLimited({ monthlyBudgetNanoUsd, requestsPerMinute, models, expiresAt, hasBudgets }: Limits): boolean {
  const limits = [monthlyBudgetNanoUsd, requestsPerMinute, expiresAt]
  return hasBudgets === true || models.length > 0 || limits.some((limit) => limit !== undefined)
}

/** Returns the rights of a limited key: it cannot create keys or members, which would not have its limits. */
export function withoutDelegation(rights: ReadonlySet<Right>): ReadonlySet<Right> {
  return new Set([...rights].filter((right) => !DELEGATING_RIGHTS.has(right)))
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
    dataPolicy: policyOf(row.data_policy),
    ...readTagColumns(row),
    createdBy: row.created_by ?? undefined,
    parentId: row.parent_id ?? undefined,
    teamId: row.team_id ?? undefined,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
    expiresAt: row.expires_at ?? undefined,
    hasBudgets: row.has_budgets === 1,
    revokedAt: row.revoked_at ?? undefined,
    disabledAt: row.disabled_at ?? undefined,
    previous: previousOf(row),
  }
}

function previousOf({ previous_last4: last4, previous_until: until }: Selectable<ApiKeyTable>): ApiKey['previous'] {
  return last4 === null || until === null ? undefined : { last4, until }
}

/** The columns that hold a key's rights. */
export function rightsColumns(rights: KeyRights) {
  return {
    scopes: JSON.stringify(rights.scopes),
    ip_allowlist: JSON.stringify(rights.ipAllowlist),
    monthly_budget_nano_usd: rights.monthlyBudgetNanoUsd ?? null,
    requests_per_minute: rights.requestsPerMinute ?? null,
    models: JSON.stringify(rights.models),
    data_policy: policyText(rights.dataPolicy),
    expires_at: rights.expiresAt ?? null,
    ...tagColumns(rights),
  }
}

export const keyForm = secretForm('tp_')

/** Keys of other gateways (LiteLLM, One API), which `turnpike import` stores by their hash. They have no checksum. */
const IMPORTED_FORM = /^sk-[\w-]{1,200}$/

/** Whether a text has the form of a key; it may never have been issued. */
export function isKeyForm(secret: string): boolean {
  return keyForm.isWellFormed(secret) || IMPORTED_FORM.test(secret)
}
