/** `/guardrails`: rules of an account about what its prompts and answers may contain. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { Database, GuardrailTable } from '../../db/schema/schema.ts'
import { assertKnown } from '../../db/shared-queries.ts'
import { GatewayError } from '../../domain/errors.ts'
import { compileMatchers, DEFAULT_REPLACEMENT, DEFAULT_WINDOW, MAX_WINDOW } from '../../domain/guardrails/matcher.ts'
import {
  GUARDRAIL_ACTIONS,
  GUARDRAIL_SIDES,
  type GuardrailRule,
  HOOK_STAGES,
  PII_TYPES,
} from '../../domain/guardrails/rule.ts'
import type { AccountId, GuardrailId } from '../../domain/ids.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { type Requester, requesterOf } from '../../http/request-origin.ts'
import { isoTime, nullable, oneOf } from '../../http/wire-fields.ts'
import { TARGET_PATTERN } from '../../lib/ip-address.ts'
import { checkTarget, checkTargetAddresses } from '../../net/guarded-agent.ts'
import type { ListDeps, WriteAudit } from '../deps.ts'
import { countGuardrails, type GuardrailReference, listGuardrails, raiseVersion, requireGuardrail } from './active.ts'

export interface GuardrailsDeps extends ListDeps {
  readonly writeAudit: WriteAudit
  /** Awaited after every change: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
  readonly allowPrivateNetworks: () => boolean
  /** The secret that the account's hooks verify signatures with. */
  readonly secretOf: (accountId: AccountId) => string
}

/** Guardrails of an account. */
export const MAX_GUARDRAILS = 50
/** Rules of a guardrail. */
export const MAX_RULES = 20
export const MAX_PATTERN_LENGTH = 1_000
export const MAX_WORDS = 500
const MAX_REFERENCES = 1_000
const DEFAULT_HOOK_TIMEOUT_MS = 2_000
export const MAX_HOOK_TIMEOUT_MS = 30_000

const options = { additionalProperties: false } as const
/** At least one of the fields. */
const oneOfFields = (...names: readonly string[]) => ({
  ...options,
  anyOf: names.map((name) => ({ required: [name] })),
})
const Action = oneOf(GUARDRAIL_ACTIONS, {
  description: '`mask` replaces what is found; `block` rejects the request, or ends its answer.',
})
const Block = Type.Optional(Type.Literal('block'))
const AppliesTo = Type.Optional(
  Type.Array(oneOf(GUARDRAIL_SIDES, {}), { minItems: 1, maxItems: 2, description: 'Default: both.' }),
)
const Rule = Type.Union([
  Type.Object({ kind: Type.Literal('secrets'), action: Action, applies_to: AppliesTo }, options),
  Type.Object(
    {
      kind: Type.Literal('pii'),
      action: Action,
      applies_to: AppliesTo,
      types: Type.Optional(
        Type.Array(oneOf(PII_TYPES, {}), { minItems: 1, maxItems: 6, description: 'Default: all but `ip_address`.' }),
      ),
    },
    options,
  ),
  Type.Object(
    {
      kind: Type.Literal('regex'),
      action: Action,
      applies_to: AppliesTo,
      pattern: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: MAX_PATTERN_LENGTH,
          description: 'RE2 syntax, which takes linear time.',
        }),
      ),
      words: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
          minItems: 1,
          maxItems: MAX_WORDS,
          description: 'Whole words or phrases.',
        }),
      ),
      ignore_case: Type.Optional(Type.Boolean({ description: 'Default: words ignore case, patterns do not.' })),
      replacement: Type.Optional(Type.String({ maxLength: 100, description: `Default: ${DEFAULT_REPLACEMENT}` })),
      window: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MAX_WINDOW,
          description: `Characters of a streamed answer that are withheld, so that a match of \`pattern\` that arrives in pieces is found; at least the longest match. Default: ${DEFAULT_WINDOW}.`,
        }),
      ),
    },
    oneOfFields('pattern', 'words'),
  ),
  Type.Object(
    {
      kind: Type.Literal('max_prompt'),
      action: Block,
      max_characters: Type.Optional(Type.Integer({ minimum: 1, description: 'Of all texts of the prompt.' })),
      max_tokens: Type.Optional(Type.Integer({ minimum: 1, description: 'As the gateway estimates them.' })),
    },
    oneOfFields('max_characters', 'max_tokens'),
  ),
  Type.Object(
    {
      kind: Type.Literal('tools'),
      action: Block,
      allowed: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
        maxItems: 500,
        description: 'Names of the only tools that requests may have; empty: none.',
      }),
    },
    options,
  ),
  Type.Object(
    {
      kind: Type.Literal('http'),
      action: Type.Optional(Action),
      url: Type.String({ minLength: 1, maxLength: 2_048, pattern: TARGET_PATTERN }),
      stages: Type.Optional(
        Type.Array(oneOf(HOOK_STAGES, {}), {
          minItems: 1,
          maxItems: 3,
          description:
            '`pre`: prompts. `post`: whole answers, which are withheld until the hook has answered. `stream`: answers, piece by piece. Default: `pre`.',
        }),
      ),
      timeout_ms: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_HOOK_TIMEOUT_MS, description: `Default: ${DEFAULT_HOOK_TIMEOUT_MS}.` }),
      ),
      fail: Type.Optional(
        oneOf(['open', 'closed'], {
          description:
            'What happens where the hook does not answer in time: `open` lets pass, `closed` (default) blocks.',
        }),
      ),
    },
    options,
  ),
])

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000]*$', description: 'Errors name it.' })
const Rules = Type.Array(Rule, { minItems: 1, maxItems: MAX_RULES })
const References = Type.Unsafe<readonly string[] | null>({
  anyOf: [{ type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MAX_REFERENCES }, { type: 'null' }],
  description:
    'IDs: only for the requests of these keys, with those of the keys that they created, and of these teams. Null for both: for the whole account.',
})
const Of = { teams: Type.Optional(References), keys: Type.Optional(References) }
const Enabled = Type.Optional(Type.Boolean({ description: 'Default: true.' }))
const GuardrailCreate = Type.Object({ name: Name, rules: Rules, ...Of, enabled: Enabled }, options)
const GuardrailPatch = Type.Object(
  { name: Type.Optional(Name), rules: Type.Optional(Rules), ...Of, enabled: Enabled },
  options,
)
const GuardrailView = Type.Object({
  id: Type.String(),
  object: Type.Literal('guardrail'),
  name: Name,
  rules: Rules,
  teams: References,
  keys: References,
  enabled: Type.Boolean(),
  signing_secret: nullable<string>(
    'string',
    'Verifies the signature of calls to the account’s hooks, as of webhooks. Null: no rule has a hook.',
  ),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
  updated_at: Type.String({ description: 'ISO 8601 UTC.' }),
})

const config = { scope: 'guardrails' } as const
const tags = ['Guardrails']
const params = Type.Object({ id: Type.Unsafe<GuardrailId>({ type: 'string' }) })
const listSchema = {
  summary: 'List guardrails',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(GuardrailView) },
}
const readSchema = { summary: 'Get a guardrail', tags, params, response: { 200: GuardrailView } }
const createSchema = {
  summary: 'Create a guardrail',
  description:
    'Applies to every request of the account, or of `keys`, within a second, in all processes. A blocked request gets 400 `content_blocked` and is not charged; a blocked answer ends with that error and is charged for what its provider delivered.',
  tags,
  body: GuardrailCreate,
  response: { 201: GuardrailView },
}
const updateSchema = {
  summary: 'Change a guardrail',
  description: 'Changes only the fields that are sent; `rules` replaces all rules.',
  tags,
  params,
  body: GuardrailPatch,
  response: { 200: GuardrailView },
}
const removeSchema = { summary: 'Delete a guardrail', tags, params, response: { 204: Type.Null() } }

export function guardrailsRoutes(deps: GuardrailsDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, cursorKey } = deps
  const render = (row: GuardrailTable) => renderGuardrail(deps, row)
  return async (app) => {
    app.get('/guardrails', { config, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding = { key: cursorKey, account: accountId, list: 'guardrails' }
      const read = (page: PageRequest<GuardrailId>) => listGuardrails(db, accountId, page)
      return listPage({ query: request.query, binding, read, position: byId, render })
    })
    app.get('/guardrails/:id', { config, schema: readSchema }, async (request) => {
      const { accountId } = callerOf(request)
      return render(await requireGuardrail(db, { accountId, id: request.params.id }))
    })
    app.post('/guardrails', { config, schema: createSchema }, async (request, reply) => {
      const row = await createGuardrail(deps, requesterOf(request, callerOf(request)), request.body)
      return reply.code(201).send(render(row))
    })
    app.patch('/guardrails/:id', { config, schema: updateSchema }, async (request) => {
      const change = { id: request.params.id, ...request.body }
      return render(await changeGuardrail(deps, requesterOf(request, callerOf(request)), change))
    })
    app.delete('/guardrails/:id', { config, schema: removeSchema }, async (request, reply) => {
      await removeGuardrail(deps, requesterOf(request, callerOf(request)), request.params.id)
      return reply.code(204).send(null)
    })
  }
}

type Change = Static<typeof GuardrailPatch>

async function createGuardrail(
  deps: GuardrailsDeps,
  requester: Requester,
  { name, rules, teams, keys, enabled = true }: Static<typeof GuardrailCreate>,
): Promise<GuardrailTable> {
  const { accountId, userId } = requester.caller
  const at = deps.now()
  const row: GuardrailTable = {
    account_id: accountId,
    id: deps.ids.guardrail(),
    name,
    rules: await storedRules(deps, rules),
    teams: storedIds(teams),
    keys: storedIds(keys),
    enabled: enabled ? 1 : 0,
    created_by: userId ?? null,
    created_at: at,
    updated_at: at,
  }
  return change(deps, requester, 'created', async (inside) => {
    if ((await countGuardrails(inside, accountId)) >= MAX_GUARDRAILS) {
      throw new GatewayError('conflict', `An account has at most ${MAX_GUARDRAILS} guardrails. Delete one.`)
    }
    await assertKnown(inside, accountId, { teams, keys })
    await inside.insertInto('guardrail').values(row).execute()
    return row
  })
}

async function changeGuardrail(
  deps: GuardrailsDeps,
  requester: Requester,
  { id, name, rules, teams, keys, enabled }: Change & { readonly id: GuardrailId },
): Promise<GuardrailTable> {
  const reference = { accountId: requester.caller.accountId, id }
  const before = await requireGuardrail(deps.db, reference)
  const fields = {
    ...(name !== undefined && { name }),
    ...(rules !== undefined && { rules: await storedRules(deps, rules) }),
    ...(teams !== undefined && { teams: storedIds(teams) }),
    ...(keys !== undefined && { keys: storedIds(keys) }),
    ...(enabled !== undefined && { enabled: enabled ? (1 as const) : (0 as const) }),
  }
  if (Object.keys(fields).length === 0) return before
  return change(deps, requester, 'changed', async (inside) => {
    const row = { ...(await requireGuardrail(inside, reference)), ...fields, updated_at: deps.now() }
    await assertKnown(inside, reference.accountId, { teams, keys })
    await ofId(inside.updateTable('guardrail').set({ ...fields, updated_at: row.updated_at }), reference).execute()
    return row
  })
}

async function removeGuardrail(deps: GuardrailsDeps, requester: Requester, id: GuardrailId): Promise<void> {
  const reference = { accountId: requester.caller.accountId, id }
  await change(deps, requester, 'deleted', async (inside) => {
    const row = await requireGuardrail(inside, reference)
    await ofId(inside.deleteFrom('guardrail'), reference).execute()
    return row
  })
}

interface Filtered<Query> {
  where(column: 'account_id' | 'id', operator: '=', value: string): Query
}

function ofId<Query extends Filtered<Query>>(query: Query, { accountId, id }: GuardrailReference): Query {
  return query.where('account_id', '=', accountId).where('id', '=', id)
}

/** A change with the account's version and the audit row, in one transaction. */
async function change(
  { db, now, writeAudit, changed }: GuardrailsDeps,
  requester: Requester,
  action: 'created' | 'changed' | 'deleted',
  work: (inside: Kysely<Database>) => Promise<GuardrailTable>,
): Promise<GuardrailTable> {
  const { accountId } = requester.caller
  const row = await db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, `guardrails of ${accountId}`)
    const done = await work(inside)
    await raiseVersion(inside, accountId, now())
    const details = {
      name: done.name,
      rules: done.rules,
      teams: done.teams,
      keys: done.keys,
      enabled: done.enabled === 1,
    }
    const event = { action: `guardrail.${action}`, subject: done.id, result: 'done', details } as const
    await writeAudit(inside, { ...requester.audited, ...event })
    return done
  })
  await changed()
  return row
}

/** The rules with their defaults, as JSON. Throws 400 for a pattern that is not RE2 and for a target that is not allowed. */
async function storedRules(deps: GuardrailsDeps, rules: Static<typeof Rules>): Promise<string> {
  const complete: GuardrailRule[] = []
  for (const [position, rule] of rules.entries()) {
    const param = `rules[${position}]`
    complete.push(await completeRule(deps, rule, param))
  }
  await compileMatchers(complete.map((rule) => ({ guardrail: '', rule })))
  return JSON.stringify(complete)
}

async function completeRule(deps: GuardrailsDeps, rule: Static<typeof Rule>, param: string): Promise<GuardrailRule> {
  if (rule.kind === 'secrets' || rule.kind === 'pii' || rule.kind === 'regex') return rule
  if (rule.kind === 'tools' || rule.kind === 'max_prompt') return { ...rule, action: 'block' }
  const target = { allowPrivateNetworks: deps.allowPrivateNetworks(), param: `${param}.url` }
  await checkTargetAddresses(checkTarget(rule.url, target), target)
  const { action = 'mask', stages = ['pre'], timeout_ms = DEFAULT_HOOK_TIMEOUT_MS, fail = 'closed' } = rule
  return { ...rule, action, stages, timeout_ms, fail }
}

type Ids = readonly string[] | null | undefined

function storedIds(ids: Ids): string | null {
  return ids === null || ids === undefined ? null : JSON.stringify([...new Set(ids)])
}

function renderGuardrail({ secretOf }: GuardrailsDeps, row: GuardrailTable): Static<typeof GuardrailView> {
  const rules = JSON.parse(row.rules) as Static<typeof Rules>
  return {
    id: row.id,
    object: 'guardrail',
    name: row.name,
    rules,
    teams: idsOf(row.teams),
    keys: idsOf(row.keys),
    enabled: row.enabled === 1,
    signing_secret: rules.some(({ kind }) => kind === 'http') ? secretOf(row.account_id) : null,
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  }
}

function idsOf(list: string | null): readonly string[] | null {
  return list === null ? null : (JSON.parse(list) as readonly string[])
}
