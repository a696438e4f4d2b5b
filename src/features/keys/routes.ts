/** `/keys`: the API keys of an account. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { type BudgetStatus, subjectName } from '../../domain/budget.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import { type Caller, SCOPES } from '../../domain/identity/caller.ts'
import type { KeyId, TeamId } from '../../domain/ids.ts'
import { type NanoUsd, usdNumber } from '../../domain/money.ts'
import { dataPolicySchema, readDataPolicy, renderDataPolicy } from '../../http/data-policy.ts'
import { BudgetsInput, BudgetView, parseOptionalBudgets, renderBudget } from '../../http/fields/budgets.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { requesterOf } from '../../http/request-origin.ts'
import { oneOf } from '../../http/wire-fields.ts'
import { ISO_TIME_PATTERN, isoTime, isoTimeOrNull, parseIsoTime } from '../../lib/time.ts'
import type { ListDeps } from '../deps.ts'
import type { ApiKey, KeyRights } from './key.ts'
import { changeKey, issueKey, type ManageDeps, revokeKey } from './manage.ts'
import { findTeam, maySee, visibleTeams } from './of-teams.ts'
import {
  createdBy,
  type DescribedKey,
  findKey,
  KEY_STATUSES,
  keyDescriber,
  listKeys,
  requestsOfLastDay,
} from './queries.ts'
import { parseTagSettings, renderTagSettings, TAG_FIELDS, TAG_VIEWS } from './tags.ts'

export interface KeysDeps extends ListDeps, ManageDeps {
  /** Awaited after every change: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
}

const MAX_BUDGET_USD = 1_000_000_000
const MAX_REQUESTS_PER_MINUTE = 1_000_000_000
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
const Name = Type.String({ minLength: 1, maxLength: 100 })

const CHANGED = { ...RIGHTS, budgets: Type.Optional(BudgetsInput) }
const KeyCreate = Type.Object(
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
const KeyPatch = Type.Object({ name: Type.Optional(Name), ...CHANGED }, { additionalProperties: false })
type KeyBody = Static<typeof KeyPatch>

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
const KeyView = Type.Object(DESCRIBED_FIELDS)

const KeyDetailView = Type.Object({
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

const CreatedKeyView = Type.Object({
  ...DESCRIBED_FIELDS,
  key: Type.String({ description: 'The secret, returned only this once.' }),
})

const KeyRow = Type.Object(KEY_FIELDS)

const KeyParams = Type.Object({ id: Type.Unsafe<KeyId>({ type: 'string' }) })
const config = { scope: 'keys', inTeam: true } as const
const tags = ['Keys']

const listSchema = {
  summary: 'List API keys',
  description: 'Returns the keys of the account, including revoked ones unless `status` excludes them.',
  tags,
  querystring: Type.Object({
    ...PAGE_QUERY,
    status: Type.Optional(
      oneOf([...KEY_STATUSES, 'all'], {
        default: 'all',
        description: 'active: neither revoked nor expired. expired: past `expires_at` and not revoked.',
      }),
    ),
    team_id: Type.Optional(Type.String({ maxLength: 64, description: 'Only keys of this team.' })),
  }),
  response: { 200: pageSchema(KeyView) },
}

const readSchema = {
  summary: 'Get an API key',
  description: 'Also returns revoked keys.',
  tags,
  params: KeyParams,
  response: { 200: KeyDetailView },
}

const createSchema = {
  summary: 'Create an API key',
  description:
    'Returns the secret in `key`, only this once. Requires a role, or a key without budget, models, rate limit and expiry. A key that a key creates never exceeds its parent: it shares the parent’s budget and rate limit, and is revoked with it.',
  tags,
  body: KeyCreate,
  response: { 201: CreatedKeyView },
}

const updateSchema = {
  summary: 'Change an API key',
  description: 'Changes only the fields that are sent. `null` and empty lists remove a limit.',
  tags,
  params: KeyParams,
  body: KeyPatch,
  response: { 200: KeyView },
}

const revokeSchema = {
  summary: 'Revoke an API key',
  description:
    'Takes effect in every process within a second. Also revokes the keys that it created, directly or indirectly, unless `cascade=false`.',
  tags,
  params: KeyParams,
  querystring: Type.Object({
    cascade: Type.Optional(
      oneOf(['true', 'false'], {
        default: 'true',
        description: 'false: the keys that it created stay active, and its limits still apply to them.',
      }),
    ),
  }),
  response: { 204: Type.Null() },
}

export function keysRoutes(deps: KeysDeps): FastifyPluginAsyncTypebox {
  const { now, callerOf, changed } = deps
  return async (app) => {
    addReadRoutes(app, deps)
    app.post('/keys', { config, schema: createSchema }, async (request, reply) => {
      const { name, team_id: teamId } = request.body
      const budgets = parseOptionalBudgets(request.body.budgets)
      const rights = parseRights(request.body, now())
      const requested = { name, teamId: teamId ?? undefined, rights, budgets }
      const { key, secret } = await issueKey(deps, requesterOf(request, callerOf(request)), requested)
      await changed()
      return reply.code(201).send({ ...(await describe(deps, key)), key: secret })
    })
    app.patch('/keys/:id', { config, schema: updateSchema }, async (request) => {
      const { id } = request.params
      const budgets = parseOptionalBudgets(request.body.budgets)
      const change = { id, name: request.body.name, rights: parseRights(request.body, now()), budgets }
      const key = await changeKey(deps, requesterOf(request, callerOf(request)), change)
      await changed()
      return describe(deps, key)
    })
    app.delete('/keys/:id', { config, schema: revokeSchema }, async (request, reply) => {
      const revocation = { ...request.params, cascade: request.query.cascade !== 'false' }
      await revokeKey(deps, requesterOf(request, callerOf(request)), revocation)
      await changed()
      return reply.code(204).send(null)
    })
  }
}

type TypedApp = Parameters<FastifyPluginAsyncTypebox>[0]

function addReadRoutes(app: TypedApp, deps: KeysDeps): void {
  const { db, now, callerOf } = deps
  app.get('/keys', { config, schema: listSchema }, async (request) => {
    const caller = callerOf(request)
    const { accountId } = caller
    const { status = 'all', team_id: teamId } = request.query
    const teams = await teamsToList(db, caller, teamId as TeamId | undefined)
    const filter = status === 'all' ? undefined : { status, now: now() }
    const binding = {
      key: deps.cursorKey,
      account: accountId,
      list: 'keys',
      filter: teams === undefined ? filter?.status : `${status} of ${teams}`,
    }
    const read = async (page: PageRequest) => {
      const keys = await listKeys(db, accountId, { ...page, filter, teams })
      return describeAll(deps, keys)
    }
    return listPage({ query: request.query, binding, read, position: byId, render: (view) => view })
  })
  app.get('/keys/:id', { config, schema: readSchema }, async (request) => {
    const caller = callerOf(request)
    const reference = { accountId: caller.accountId, id: request.params.id }
    const key = await findKey(db, reference)
    if (key === undefined || !maySee(caller, key)) throw notFound('key')
    const [view, created, requests] = await Promise.all([
      describe(deps, key),
      createdBy(db, reference),
      requestsOfLastDay(db, reference, now()),
    ])
    return { ...view, ...created, requests_last_24h: requests }
  })
}

/** Teams whose keys are listed; undefined: all keys of the account. */
async function teamsToList(
  db: KeysDeps['db'],
  caller: Caller,
  requested: TeamId | undefined,
): Promise<readonly TeamId[] | undefined> {
  if (requested === undefined) return visibleTeams(caller)
  if (maySee(caller, { teamId: requested }) && (await findTeam(db, caller, requested)) !== undefined) return [requested]
  throw notFound('team', 'team_id')
}

async function describe(deps: KeysDeps, key: ApiKey): Promise<Static<typeof KeyView>> {
  const [view] = await describeAll(deps, [key])
  if (view === undefined) throw new Error('A key has no description.')
  return view
}

/** @param keys Of one account. */
async function describeAll({ db, now, budgets }: KeysDeps, keys: readonly ApiKey[]) {
  const [first] = keys
  if (first === undefined) return []
  const subjectOf = ({ id }: ApiKey) => ({ level: 'key', id }) as const
  const budgeted = keys.filter(({ hasBudgets }) => hasBudgets === true).map(subjectOf)
  const [describeKey, budgetsOf] = await Promise.all([
    keyDescriber(db, keys, now()),
    budgeted.length === 0 ? undefined : budgets.read(first.accountId, budgeted),
  ])
  return keys.map((key) => renderDescribedKey(describeKey(key), budgetsOf?.get(subjectName(subjectOf(key)))))
}

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
    ...renderTagSettings(key),
  }
}

function renderDescribedKey(key: DescribedKey, budgets: readonly BudgetStatus[] = []): Static<typeof KeyView> {
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
function parseRights(body: KeyBody, now: number): Partial<KeyRights> {
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
