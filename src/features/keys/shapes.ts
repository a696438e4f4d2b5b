/** Bodies and answers of the routes of API keys. */
import { type Static, Type } from 'typebox'
import type { BudgetStatus } from '../../domain/budget.ts'
import { GatewayError } from '../../domain/errors.ts'
import { SCOPES } from '../../domain/identity/caller.ts'
import type { TeamId } from '../../domain/ids.ts'
import { type NanoUsd, usdNumber } from '../../domain/money.ts'
import { BudgetsInput, BudgetView, renderBudget } from '../../http/fields/budgets.ts'
import { parseTagSettings, renderTagSettings, TAG_FIELDS, TAG_VIEWS } from '../../http/fields/tags.ts'
import { dataPolicySchema, oneOf, readDataPolicy, renderDataPolicy } from '../../http/wire-fields.ts'
import { ISO_TIME_PATTERN, isoTime, isoTimeOrNull, parseIsoTime } from '../../lib/time.ts'
import type { ApiKey, KeyRights } from './key.ts'
import type { DescribedKey } from './queries.ts'

const MAX_BUDGET_USD = 1_000_000_000
const MAX_REQUESTS_PER_MINUTE = 1_000_000_000
/** 90 days. */
export const MAX_OVERLAP_SECONDS = 7_776_000
export const DEFAULT_OVERLAP_SECONDS = 86_400
const NANO_PER_USD = 1_000_000_000

const nullable = <Value>(schema: { readonly type: string } & Record<string, unknown>) =>
  Type.Unsafe<Value | null>({ ...schema, type: [schema.type, 'null'] })

const ScopeName = oneOf(SCOPES)

const RIGHTS = {
  scopes: Type.Optional(
    Type.Array(ScopeName, { maxItems: SCOPES.length, uniqueItems: true, description: 'Empty: full access.' }),
  ),
  ip_allowlist: Type.Optional(
    Type.Array(Type.String({ minLength: 2, maxLength: 64, pattern: '^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$' }), {
      maxItems: 100,
      description: 'Addresses and CIDR blocks. An empty list allows every address.',
    }),
  ),
  monthly_budget_usd: Type.Optional(nullable<number>({ type: 'number', minimum: 0, maximum: MAX_BUDGET_USD })),
  requests_per_minute: Type.Optional(
    nullable<number>({ type: 'integer', minimum: 1, maximum: MAX_REQUESTS_PER_MINUTE }),
  ),
  models: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 200, description: 'Empty: all models.' }),
  ),
  data_policy: Type.Optional(dataPolicySchema('of the key and of keys that it creates')),
  expires_at: Type.Optional(
    nullable<string>({
      type: 'string',
      maxLength: 64,
      pattern: ISO_TIME_PATTERN,
      description: 'ISO 8601, in the future. Null: the key does not expire.',
      examples: ['2030-01-01T00:00:00Z'],
    }),
  ),
  ...TAG_FIELDS,
}
const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000]*$' })

const CHANGED = { ...RIGHTS, budgets: Type.Optional(BudgetsInput) }
export const KeyCreate = Type.Object(
  {
    name: Name,
    team_id: Type.Optional(
      Type.Unsafe<TeamId | null>({
        type: ['string', 'null'],
        maxLength: 64,
        description:
          'Team that the key belongs to, whose limits apply to it. Default: that of the key that creates it, or none: it belongs to the account.',
      }),
    ),
    ...CHANGED,
  },
  { additionalProperties: false },
)
export const KeyPatch = Type.Object(
  {
    name: Type.Optional(Name),
    disabled: Type.Optional(
      Type.Boolean({
        description:
          'true: the key and the keys that it created are refused, within a second in every process, until it is false.',
      }),
    ),
    ...CHANGED,
  },
  { additionalProperties: false },
)
type KeyBody = Static<typeof KeyPatch>

export const Rotation = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_OVERLAP_SECONDS,
        default: DEFAULT_OVERLAP_SECONDS,
        description: 'For which the present secret stays valid. 0: it ends at once.',
      }),
    ),
  },
  { additionalProperties: false },
)
const PreviousSecret = Type.Object({
  last4: Type.String({ description: 'Last characters of the secret.' }),
  valid_until: Type.String({ description: 'ISO 8601 UTC.' }),
})

const KEY_FIELDS = {
  id: Type.String(),
  object: Type.Literal('key'),
  name: Type.String(),
  prefix: Type.String({ description: 'First characters of the secret.' }),
  last4: Type.String({ description: 'Last characters of the secret.' }),
  scopes: Type.Array(ScopeName),
  ip_allowlist: Type.Array(Type.String()),
  monthly_budget_usd: nullable<number>({ type: 'number' }),
  requests_per_minute: nullable<number>({ type: 'integer' }),
  models: Type.Array(Type.String()),
  data_policy: dataPolicySchema('of the key and of keys that it creates'),
  created_at: Type.String(),
  last_used_at: nullable<string>({ type: 'string' }),
  expires_at: nullable<string>({ type: 'string' }),
  revoked_at: nullable<string>({ type: 'string' }),
  disabled_at: nullable<string>({ type: 'string', description: 'Since when it is refused. Null: it is enabled.' }),
  previous_secret: Type.Unsafe<Static<typeof PreviousSecret> | null>({
    anyOf: [PreviousSecret, { type: 'null' }],
    description: 'The secret before the last rotation, and until when it is or was valid. Null: none.',
  }),
  ...TAG_VIEWS,
}
const Creator = Type.Object({ user_id: Type.String(), email: Type.String(), name: Type.String() })

const DESCRIBED_FIELDS = {
  ...KEY_FIELDS,
  created_by: Type.Unsafe<Static<typeof Creator> | null>({
    anyOf: [Creator, { type: 'null' }],
    description: 'The person who created the key, whose rights it cannot exceed. Null: no person did.',
  }),
  parent_id: nullable<string>({
    type: 'string',
    description:
      'The key that created this one, whose limits it cannot exceed, and whose budget and rate limit it shares. Null: none.',
  }),
  team_id: nullable<string>({ type: 'string', description: 'The team that it belongs to. Null: to the account.' }),
  spent_usd: nullable<number>({
    type: 'number',
    description:
      'Spending of the key and the keys that it created in this calendar month, UTC. Null: the key has no budget.',
  }),
  resets_at: nullable<string>({
    type: 'string',
    description: 'Time at which the budget resets, ISO 8601. Null: the key has no budget.',
  }),
  budgets: Type.Array(BudgetView, { description: 'Its budgets besides `monthly_budget_usd`.' }),
}
export const KeyView = Type.Object(DESCRIBED_FIELDS)

export const KeyDetailView = Type.Object({
  ...DESCRIBED_FIELDS,
  created_keys: Type.Integer({
    description: 'Number of active keys that it created, directly or indirectly. They are revoked with it.',
  }),
  created_webhooks: Type.Integer({
    description: 'Number of enabled webhooks that it and these keys created. They are disabled when it is revoked.',
  }),
  requests_last_24h: Type.Integer({
    description: 'Number of settled requests in the last 24 hours, rounded up to whole hours.',
  }),
})

export const CreatedKeyView = Type.Object({
  ...DESCRIBED_FIELDS,
  key: Type.String({ description: 'The secret, returned only this once.' }),
})

const KeyRow = Type.Object(KEY_FIELDS)

/** Renders the row of a key. */
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
    data_policy: renderDataPolicy(key.dataPolicy),
    created_at: isoTime(key.createdAt),
    last_used_at: isoTimeOrNull(key.lastUsedAt ?? null),
    expires_at: isoTimeOrNull(key.expiresAt ?? null),
    revoked_at: isoTimeOrNull(key.revokedAt ?? null),
    disabled_at: isoTimeOrNull(key.disabledAt ?? null),
    previous_secret: key.previous === undefined ? null : renderPrevious(key.previous),
    ...renderTagSettings(key),
  }
}

function renderPrevious({ last4, until }: NonNullable<ApiKey['previous']>): Static<typeof PreviousSecret> {
  return { last4, valid_until: isoTime(until) }
}

export function renderDescribedKey(key: DescribedKey, budgets: readonly BudgetStatus[] = []): Static<typeof KeyView> {
  const { creator, spentNanoUsd, resetsAt } = key
  return {
    ...renderKey(key),
    created_by: creator ?? null,
    parent_id: key.parentId ?? null,
    team_id: key.teamId ?? null,
    spent_usd: spentNanoUsd === undefined ? null : usdNumber(spentNanoUsd),
    resets_at: isoTimeOrNull(resetsAt ?? null),
    budgets: budgets.map(renderBudget),
  }
}

/** Reads the rights in a body. Null becomes undefined: no limit. Throws 400 for a past expiry. */
export function parseRights(body: KeyBody, now: number): Partial<KeyRights> {
  return {
    ...(body.scopes === undefined ? {} : { scopes: body.scopes }),
    ...(body.ip_allowlist === undefined ? {} : { ipAllowlist: body.ip_allowlist }),
    ...(body.models === undefined ? {} : { models: body.models }),
    ...(body.data_policy === undefined ? {} : { dataPolicy: readDataPolicy(body.data_policy) }),
    ...(body.requests_per_minute === undefined ? {} : { requestsPerMinute: body.requests_per_minute ?? undefined }),
    ...(body.monthly_budget_usd === undefined ? {} : { monthlyBudgetNanoUsd: parseBudget(body.monthly_budget_usd) }),
    ...(body.expires_at === undefined ? {} : { expiresAt: parseExpiry(body.expires_at, now) }),
    ...parseTagSettings(body),
  }
}

/** Rounds to the nearest nano-dollar. @param usd 0 to a billion. */
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
