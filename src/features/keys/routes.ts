/** `/keys`: the API keys of an account. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { subjectName } from '../../domain/budget.ts'
import { notFound } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { KeyId, TeamId } from '../../domain/ids.ts'
import { parseOptionalBudgets } from '../../http/fields/budgets.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { requesterOf } from '../../http/request-origin.ts'
import { withoutBody } from '../../http/validation.ts'
import { oneOf } from '../../http/wire-fields.ts'
import type { ListDeps } from '../deps.ts'
import type { ApiKey } from './key.ts'
import { changeKey, issueKey, type ManageDeps, revokeKey, rotateSecret } from './manage.ts'
import { createdBy, findKey, KEY_STATUSES, keyDescriber, listKeys, requestsOfLastDay } from './queries.ts'
import { findTeam, maySee, visibleTeams } from './rules.ts'
import {
  CreatedKeyView,
  DEFAULT_OVERLAP_SECONDS,
  KeyCreate,
  KeyDetailView,
  KeyPatch,
  KeyView,
  parseRights,
  Rotation,
  renderDescribedKey,
} from './shapes.ts'

export interface KeysDeps extends ListDeps, ManageDeps {
  /** Awaited after every change: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
}

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
        description:
          'active: not revoked, expired or disabled. expired: past `expires_at` and not revoked. disabled: neither expired nor revoked.',
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

const rotateSchema = {
  summary: 'Rotate the secret of an API key',
  description:
    'Returns a new secret in `key`, only this once. ID, limits, budgets and history stay. The present secret stays valid for `overlap_seconds`, an earlier one ends.',
  tags,
  params: KeyParams,
  body: Rotation,
  response: { 200: CreatedKeyView },
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
      const { name, disabled } = request.body
      const change = { id, name, disabled, rights: parseRights(request.body, now()), budgets }
      const key = await changeKey(deps, requesterOf(request, callerOf(request)), change)
      await changed()
      return describe(deps, key)
    })
    app.post('/keys/:id/rotate', { config, schema: rotateSchema, preValidation: withoutBody }, async (request) => {
      const { overlap_seconds: overlapSeconds = DEFAULT_OVERLAP_SECONDS } = request.body
      const rotation = { id: request.params.id, overlapSeconds }
      const { key, secret } = await rotateSecret(deps, requesterOf(request, callerOf(request)), rotation)
      await changed()
      return { ...(await describe(deps, key)), key: secret }
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
