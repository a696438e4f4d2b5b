/** Keys on the wire. */
import { type Static, Type } from 'typebox'
import { SCOPES, type Scope } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type NanoUsd, usdNumber } from '../../domain/money.ts'
import { parseIsoTime } from '../../lib/iso-time.ts'
import type { DescribedKey } from './described.ts'
import type { ApiKey, KeyRights } from './key.ts'

const MAX_BUDGET_USD = 1_000_000_000
const MAX_REQUESTS_PER_MINUTE = 1_000_000_000
const NANO_PER_USD = 1_000_000_000

const nullable = <Value>(schema: { readonly type: string } & Record<string, unknown>) =>
  Type.Unsafe<Value | null>({ ...schema, type: [schema.type, 'null'] })

const ScopeName = Type.Unsafe<Scope>({ type: 'string', enum: [...SCOPES] })

const RIGHTS = {
  scopes: Type.Optional(
    Type.Array(ScopeName, { maxItems: SCOPES.length, uniqueItems: true, description: 'Empty: full access.' }),
  ),
  ip_allowlist: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      maxItems: 100,
      description: 'Addresses and CIDR blocks; empty: from anywhere.',
    }),
  ),
  monthly_budget_usd: Type.Optional(nullable<number>({ type: 'number', minimum: 0, maximum: MAX_BUDGET_USD })),
  requests_per_minute: Type.Optional(
    nullable<number>({ type: 'integer', minimum: 1, maximum: MAX_REQUESTS_PER_MINUTE }),
  ),
  models: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 200, description: 'Empty: all.' }),
  ),
  expires_at: Type.Optional(nullable<string>({ type: 'string', maxLength: 64, description: 'ISO 8601.' })),
}
const Name = Type.String({ minLength: 1, maxLength: 100 })

export const KeyCreate = Type.Object({ name: Name, ...RIGHTS }, { additionalProperties: false })
export const KeyPatch = Type.Object({ name: Type.Optional(Name), ...RIGHTS }, { additionalProperties: false })
type KeyBody = Static<typeof KeyPatch>

const KEY_FIELDS = {
  id: Type.String(),
  object: Type.Literal('key'),
  name: Type.String(),
  prefix: Type.String({ description: 'What the secret starts with.' }),
  last4: Type.String({ description: 'What it ends with.' }),
  scopes: Type.Array(ScopeName),
  ip_allowlist: Type.Array(Type.String()),
  monthly_budget_usd: nullable<number>({ type: 'number' }),
  requests_per_minute: nullable<number>({ type: 'integer' }),
  models: Type.Array(Type.String()),
  created_at: Type.String(),
  last_used_at: nullable<string>({ type: 'string' }),
  expires_at: nullable<string>({ type: 'string' }),
  revoked_at: nullable<string>({ type: 'string' }),
}
const Creator = Type.Object({ user_id: Type.String(), email: Type.String(), name: Type.String() })
const DESCRIBED_FIELDS = {
  ...KEY_FIELDS,
  created_by: Type.Unsafe<Static<typeof Creator> | null>({
    anyOf: [Creator, { type: 'null' }],
    description: 'The person who made it, and whose rights bound its own. Null: it is nobody’s.',
  }),
  spent_usd: nullable<number>({
    type: 'number',
    description: 'Of the budget, in this calendar month, UTC. Null: it has none.',
  }),
  resets_at: nullable<string>({
    type: 'string',
    description: 'ISO 8601: when the budget begins anew. Null: it has none.',
  }),
}
export const KeyView = Type.Object(DESCRIBED_FIELDS)
export const KeyDetailView = Type.Object({
  ...DESCRIBED_FIELDS,
  requests_last_24h: Type.Integer({ description: 'Settled ones; counted by the hour, the begun one before included.' }),
})
export const CreatedKeyView = Type.Object({
  ...DESCRIBED_FIELDS,
  key: Type.String({ description: 'The secret, shown this once.' }),
})

const KeyRow = Type.Object(KEY_FIELDS)

/** What is in the key's own row. */
export function renderKey(key: ApiKey): Static<typeof KeyRow> {
  return {
    id: key.id,
    object: 'key',
    name: key.name,
    prefix: key.prefix,
    last4: key.last4,
    scopes: [...key.scopes],
    ip_allowlist: [...key.ipAllowlist],
    monthly_budget_usd: key.monthlyBudgetNanoUsd === undefined ? null : usdNumber(key.monthlyBudgetNanoUsd),
    requests_per_minute: key.requestsPerMinute ?? null,
    models: [...key.models],
    created_at: renderTime(key.createdAt),
    last_used_at: key.lastUsedAt === undefined ? null : renderTime(key.lastUsedAt),
    expires_at: key.expiresAt === undefined ? null : renderTime(key.expiresAt),
    revoked_at: key.revokedAt === undefined ? null : renderTime(key.revokedAt),
  }
}

export function renderDescribedKey(key: DescribedKey): Static<typeof KeyView> {
  const { creator, spentNanoUsd, resetsAt } = key
  return {
    ...renderKey(key),
    created_by: creator === undefined ? null : { user_id: creator.userId, email: creator.email, name: creator.name },
    spent_usd: spentNanoUsd === undefined ? null : usdNumber(spentNanoUsd),
    resets_at: resetsAt === undefined ? null : renderTime(resetsAt),
  }
}

/** The rights that a body names; null, where it is allowed, is undefined: no limit. Throws 400 for a past expiry. */
export function parseRights(body: KeyBody, now: number): Partial<KeyRights> {
  return {
    ...(body.scopes === undefined ? {} : { scopes: body.scopes }),
    ...(body.ip_allowlist === undefined ? {} : { ipAllowlist: body.ip_allowlist }),
    ...(body.models === undefined ? {} : { models: body.models }),
    ...(body.requests_per_minute === undefined ? {} : { requestsPerMinute: body.requests_per_minute ?? undefined }),
    ...(body.monthly_budget_usd === undefined ? {} : { monthlyBudgetNanoUsd: parseBudget(body.monthly_budget_usd) }),
    ...(body.expires_at === undefined ? {} : { expiresAt: parseExpiry(body.expires_at, now) }),
  }
}

/** To the nearest nano-dollar. @param usd 0 to a billion. */
export function nanoUsdOf(usd: number): NanoUsd {
  const dollars = Math.trunc(usd)
  return BigInt(dollars) * BigInt(NANO_PER_USD) + BigInt(Math.round((usd - dollars) * NANO_PER_USD))
}

function parseBudget(usd: number | null): NanoUsd | undefined {
  return usd === null ? undefined : nanoUsdOf(usd)
}

function parseExpiry(text: string | null, now: number): number | undefined {
  if (text === null) return undefined
  const time = parseIsoTime(text)
  if (time === undefined) {
    throw new GatewayError('invalid_value', "'expires_at' must be an ISO 8601 time.", { param: 'expires_at' })
  }
  if (time > now) return time
  throw new GatewayError('out_of_range', "'expires_at' must be in the future.", { param: 'expires_at' })
}

function renderTime(ms: number): string {
  return new Date(ms).toISOString()
}
