/** `/telemetry-destinations`: where an account sends the traces of its requests. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { TelemetryDestinationTable } from '../../db/schema/schema.ts'
import type { Sealer } from '../../db/sealed.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId, TeamId, TelemetryDestinationId } from '../../domain/ids.ts'
import { assertRight } from '../../http/caller.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { requesterOf } from '../../http/request-origin.ts'
import { closed, isoTime, nullable, oneOf } from '../../http/wire-fields.ts'
import { TARGET_PATTERN } from '../../lib/ip-address.ts'
import { checkTarget, checkTargetAddresses, type ResolveAddresses } from '../../net/guarded-agent.ts'
import type { ListDeps, WriteAudit } from '../deps.ts'
import type { DestinationTester } from './exporter.ts'
import {
  checkCredential,
  DESTINATION_KINDS,
  type DestinationRow,
  type DestinationSecrets,
  describeKinds,
  listDestinations,
  openSecrets,
  placeOf,
  requireDestination,
  urlOf,
} from './store.ts'

export interface DestinationsDeps extends ListDeps {
  readonly sealer: Sealer
  readonly writeAudit: WriteAudit
  readonly exporter: DestinationTester
  readonly allowPrivateNetworks: boolean
  readonly resolve?: ResolveAddresses
}

/** Of an account. */
const MAX_DESTINATIONS = 10

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000]*$', description: 'A label.' })
const Url = Type.String({
  minLength: 1,
  maxLength: 2_048,
  pattern: TARGET_PATTERN,
  description: 'A public `https:` address. The path for traces is appended where the kind has one.',
})
const Credential = Type.String({
  minLength: 1,
  maxLength: 4_096,
  pattern: '^[\\x21-\\x7e]+$',
  description: 'The key of the service. It is stored sealed and never returned.',
})
const Headers = Type.Record(
  Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$" }),
  Type.String({ maxLength: 4_096, pattern: '^[\\x20-\\x7e]*$' }),
  { maxProperties: 20, description: 'Further request headers. Stored sealed and never returned.' },
)
const Enabled = Type.Boolean({ description: 'Whether traces are sent.' })
const Content = Type.Boolean({
  description:
    'Whether spans have prompts and answers, where content capture applies. To change such a destination requires the right `content`.',
})
const Kind = oneOf(DESTINATION_KINDS, { description: `The service: ${describeKinds()}.` })

const DestinationCreate = closed({
  name: Name,
  kind: Kind,
  url: Type.Optional(Url),
  credential: Type.Optional(Credential),
  headers: Type.Optional(Headers),
  team_id: Type.Optional(nullable<string>('string', 'Only requests of this team. Null: all of the account.')),
  enabled: Type.Optional(Enabled),
  content: Type.Optional(Content),
})
const DestinationPatch = closed({
  name: Type.Optional(Name),
  url: Type.Optional(Url),
  credential: Type.Optional(Credential),
  headers: Type.Optional(Headers),
  enabled: Type.Optional(Enabled),
  content: Type.Optional(Content),
})
const DestinationView = Type.Object({
  id: Type.String(),
  object: Type.Literal('telemetry_destination'),
  name: Type.String(),
  kind: Kind,
  url: Type.String({ description: 'Where traces are sent.' }),
  header_names: Type.Array(Type.String(), { description: 'Names of further request headers.' }),
  has_credential: Type.Boolean(),
  team_id: nullable<string>('string', 'The team whose requests are sent. Null: all of the account.'),
  enabled: Enabled,
  content: Content,
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
})
const TestView = Type.Object({
  object: Type.Literal('telemetry_destination_test'),
  ok: Type.Boolean({ description: 'Whether the destination accepted a span.' }),
  error: nullable<string>('string', 'Why not.'),
  duration_ms: Type.Integer(),
})

const config = { scope: 'webhooks' } as const
const tags = ['Telemetry destinations']
const params = Type.Object({ id: Type.Unsafe<TelemetryDestinationId>({ type: 'string' }) })
const path = '/telemetry-destinations'

const listSchema = {
  summary: 'List telemetry destinations',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(DestinationView) },
}
const readSchema = { summary: 'Get a telemetry destination', tags, params, response: { 200: DestinationView } }
const createSchema = {
  summary: 'Add a telemetry destination',
  description: `Sends the traces of the account's requests to a service over OTLP. At most ${MAX_DESTINATIONS}.`,
  tags,
  body: DestinationCreate,
  response: { 201: DestinationView },
}
const updateSchema = {
  summary: 'Change a telemetry destination',
  description: 'Changes only the fields that are sent. `headers` replaces all further headers.',
  tags,
  params,
  body: DestinationPatch,
  response: { 200: DestinationView },
}
const removeSchema = { summary: 'Delete a telemetry destination', tags, params, response: { 204: Type.Null() } }
const testSchema = {
  summary: 'Test a telemetry destination',
  description: 'Sends one span and waits at most 10 s for the answer.',
  tags,
  params,
  response: { 200: TestView },
}

export function telemetryDestinationsRoutes(deps: DestinationsDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, exporter } = deps
  return async (app) => {
    addReads(app, deps)
    app.post(path, { config, schema: createSchema }, async (request, reply) => {
      const row = await create(deps, callerOf(request), request.body)
      await audit(deps, request, row, 'created')
      await exporter.refresh()
      return reply.code(201).send(renderDestination(deps, row))
    })
    app.patch(`${path}/:id`, { config, schema: updateSchema }, async (request) => {
      const row = await change(deps, { caller: callerOf(request), id: request.params.id }, request.body)
      await audit(deps, request, row, 'changed')
      await exporter.refresh()
      return renderDestination(deps, row)
    })
    app.delete(`${path}/:id`, { config, schema: removeSchema }, async (request, reply) => {
      const { accountId } = callerOf(request)
      const row = await requireDestination(db, { accountId, id: request.params.id })
      await db
        .deleteFrom('telemetry_destination')
        .where('account_id', '=', accountId)
        .where('id', '=', row.id)
        .execute()
      await audit(deps, request, row, 'deleted')
      await exporter.refresh()
      return reply.code(204).send(null)
    })
    addTest(app, deps)
  }
}

type App = Parameters<FastifyPluginAsyncTypebox>[0]

function addReads(app: App, deps: DestinationsDeps): void {
  const { db, callerOf, cursorKey } = deps
  app.get(path, { config, schema: listSchema }, async (request) => {
    const { accountId } = callerOf(request)
    const binding = { key: cursorKey, account: accountId, list: 'telemetry-destinations' }
    const read = (page: PageRequest<TelemetryDestinationId>) => listDestinations(db, accountId, page)
    const render = (row: DestinationRow) => renderDestination(deps, row)
    return listPage({ query: request.query, binding, read, position: byId, render })
  })
  app.get(`${path}/:id`, { config, schema: readSchema }, async (request) => {
    const { accountId } = callerOf(request)
    return renderDestination(deps, await requireDestination(db, { accountId, id: request.params.id }))
  })
}

function addTest(app: App, { db, callerOf, exporter }: DestinationsDeps): void {
  app.post(`${path}/:id/test`, { config, schema: testSchema }, async (request) => {
    const { accountId } = callerOf(request)
    const row = await requireDestination(db, { accountId, id: request.params.id })
    const startedAt = performance.now()
    const result = await exporter.test(row)
    const durationMs = Math.round(performance.now() - startedAt)
    const error = result.ok ? null : result.reason
    return { object: 'telemetry_destination_test' as const, ok: result.ok, error, duration_ms: durationMs }
  })
}

type Created = Static<typeof DestinationCreate>

async function create(deps: DestinationsDeps, caller: Caller, body: Created): Promise<DestinationRow> {
  const { db, ids, now, sealer } = deps
  const { name, kind, credential, headers = {}, team_id: teamId, enabled = true, content = false } = body
  const { accountId } = caller
  if (content) assertRight(caller, 'content')
  checkCredential(kind, credential)
  const url = await allowedUrl(deps, urlOf(kind, body.url))
  await requireTeam(deps, accountId, teamId)
  const key = { account_id: accountId, id: ids.telemetryDestination() }
  const row: TelemetryDestinationTable = {
    ...key,
    name,
    kind,
    url,
    secrets: sealer.seal(JSON.stringify({ credential, headers } satisfies DestinationSecrets), placeOf(key)),
    team_id: (teamId ?? null) as TeamId | null,
    enabled: enabled ? 1 : 0,
    content: content ? 1 : 0,
    created_at: now(),
    changed_at: now(),
  }
  await db.transaction().execute(async (inside) => {
    const { count } = await inside
      .selectFrom('telemetry_destination')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow()
    if (Number(count) >= MAX_DESTINATIONS)
      throw new GatewayError(
        'conflict',
        `An account has at most ${MAX_DESTINATIONS} telemetry destinations. Delete one.`,
      )
    await inside.insertInto('telemetry_destination').values(row).execute()
  })
  return row
}

interface Changed {
  readonly caller: Caller
  readonly id: TelemetryDestinationId
}

async function change(
  deps: DestinationsDeps,
  { caller, id }: Changed,
  body: Static<typeof DestinationPatch>,
): Promise<DestinationRow> {
  const { db, now, sealer } = deps
  const { accountId } = caller
  const before = await requireDestination(db, { accountId, id })
  const { name, url, credential, headers, enabled, content = before.content === 1 } = body
  if (content) assertRight(caller, 'content')
  const old = openSecrets(sealer, before) ?? { headers: {} }
  const secrets = { credential: credential ?? old.credential, headers: headers ?? old.headers }
  if (credential !== undefined) checkCredential(before.kind, credential)
  // A stored credential must not leave for an address that its owner did not enter it for.
  const moves = url !== undefined && (await allowedUrl(deps, urlOf(before.kind, url))) !== before.url
  const hasSecrets = old.credential !== undefined || Object.keys(old.headers).length > 0
  if (moves && hasSecrets && credential === undefined && headers === undefined) {
    const message = "Send 'credential' or 'headers' again with another 'url'."
    throw new GatewayError('missing_field', message, { param: 'credential' })
  }
  const changes = {
    ...(name !== undefined && { name }),
    ...(url !== undefined && { url: urlOf(before.kind, url) }),
    ...((credential !== undefined || headers !== undefined) && {
      secrets: sealer.seal(JSON.stringify(secrets satisfies DestinationSecrets), placeOf(before)),
    }),
    ...(enabled !== undefined && { enabled: enabled ? (1 as const) : (0 as const) }),
    content: content ? (1 as const) : (0 as const),
    changed_at: Math.max(now(), before.changed_at + 1),
  }
  await db
    .updateTable('telemetry_destination')
    .set(changes)
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .execute()
  return { ...before, ...changes }
}

/** @throws GatewayError 400 for an address that traces may not go to. */
async function allowedUrl({ allowPrivateNetworks, resolve }: DestinationsDeps, text: string): Promise<string> {
  const rule = { allowPrivateNetworks }
  const url = checkTarget(text, rule)
  await checkTargetAddresses(url, resolve === undefined ? rule : { ...rule, resolve })
  return url.href
}

async function requireTeam(
  { db }: DestinationsDeps,
  accountId: AccountId,
  teamId: string | null | undefined,
): Promise<void> {
  if (teamId === undefined || teamId === null) return
  const team = await db
    .selectFrom('team')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '=', teamId as TeamId)
    .executeTakeFirst()
  if (team === undefined) throw notFound('team', 'team_id')
}

type Request = Parameters<typeof requesterOf>[0]

async function audit(
  { db, writeAudit, callerOf }: DestinationsDeps,
  request: Request,
  { id, name, kind, url, team_id: teamId, enabled, content }: DestinationRow,
  action: 'created' | 'changed' | 'deleted',
): Promise<void> {
  const details = { name, kind, url, team_id: teamId, enabled: enabled === 1, content: content === 1 }
  const event = { action: `telemetry_destination.${action}`, subject: id, result: 'done', details } as const
  await writeAudit(db, { ...requesterOf(request, callerOf(request)).audited, ...event })
}

function renderDestination(
  { sealer }: Pick<DestinationsDeps, 'sealer'>,
  row: DestinationRow,
): Static<typeof DestinationView> {
  const secrets = openSecrets(sealer, row)
  return {
    id: row.id,
    object: 'telemetry_destination',
    name: row.name,
    kind: row.kind,
    url: row.url,
    header_names: Object.keys(secrets?.headers ?? {}),
    has_credential: secrets?.credential !== undefined,
    team_id: row.team_id,
    enabled: row.enabled === 1,
    content: row.content === 1,
    created_at: isoTime(row.created_at),
  }
}
