/**
 * `/admin/models/{id}` and `/admin/providers/{name}`: settings that operators store in the database, with the entries of
 * `turnpike.yaml` as bodies. A change is in force in every process within a second, and stays as a version.
 */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Transaction } from 'kysely'
import { type Static, type TSchema, Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import { SECRET_SETTINGS, type StoredEntry, type StoredKind } from '../../domain/stored-setting.ts'
import {
  byNumber,
  listByName,
  listPage,
  NAMED_PAGE_QUERY,
  PAGE_QUERY,
  type PageRequest,
  pageSchema,
} from '../../http/page.ts'
import { parseTime } from '../../http/period.ts'
import { auditOf } from '../../http/request-origin.ts'
import { isoTime, oneOf, textOrNull } from '../../http/wire-fields.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import { didYouMean } from '../../lib/text.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'
import {
  addVersion,
  listVersions,
  lockSettings,
  type NewVersion,
  type SealKeys,
  type StoredVersion,
  splitSecrets,
  versionsInForce,
} from './store.ts'

/** What is stored, as this process has it in force. */
export interface StoredSettingsPort {
  readonly sealKeys: SealKeys
  /** Whether the file or the environment has an entry of that name, which has precedence. */
  isInFile(kind: StoredKind, name: string): boolean
  /** The release that published the catalogue in the database; undefined: not known. */
  publishedRelease(): string | undefined
  /** Problems of an entry beside all others; none: it fits. */
  problemsOf(entry: StoredEntry): readonly string[]
  /** Awaited after a change: when it resolves, the change is in force in this process. */
  changed(): Promise<void>
}

export interface StoredSettingsDeps extends FeatureDeps, StoredSettingsPort {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
  readonly writeAudit: WriteAudit
  /** JSON Schema of an entry. */
  readonly schemas: Readonly<Record<StoredKind, TSchema>>
}

const VersionView = Type.Object({
  id: Type.String({ description: 'ID of the model, or name of the provider.' }),
  object: oneOf(['model_setting', 'provider_setting']),
  version: Type.Integer({ description: 'From 1, of this name.' }),
  in_force: Type.Boolean({
    description: 'False: it takes effect later, or the configuration file or environment has precedence.',
  }),
  overridden_by: Type.Unsafe<'configuration' | null>({
    type: ['string', 'null'],
    enum: ['configuration', null],
    description: 'configuration: the file or the environment has an entry of this name. Null: nothing.',
  }),
  effective_from: Type.String({ description: 'ISO 8601 UTC.' }),
  settings: Type.Unsafe<Json | null>({
    type: ['object', 'null'],
    additionalProperties: true,
    description: 'Without keys of providers. Null: removed.',
  }),
  api_keys: Type.Array(
    Type.Object({ last4: Type.String({ description: 'Empty for keys of less than 16 characters.' }) }),
    {
      description: 'Keys of the provider, which are never shown.',
    },
  ),
  created_by: textOrNull('ID of the credential.'),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
})

interface Resource {
  readonly kind: StoredKind
  /** Path below `/v1`, with its parameter. */
  readonly path: string
  readonly parameter: 'id' | 'name'
  readonly noun: string
  readonly parameterDescription: string
}

const MODELS: Resource = {
  kind: 'model',
  path: '/admin/models/:id',
  parameter: 'id',
  noun: 'model',
  parameterDescription: 'ID of the model, percent-encoded.',
}
const PROVIDERS: Resource = {
  kind: 'provider',
  path: '/admin/providers/:name',
  parameter: 'name',
  noun: 'provider',
  parameterDescription: 'Name of the provider.',
}

const MAX_NAME_LENGTH = 128
/** `GET`, `PUT` and `DELETE` of one model or provider, and its versions; `GET /admin/models`. */
export function storedSettingsRoutes(deps: StoredSettingsDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    await app.register(modelList(deps))
    for (const resource of [MODELS, PROVIDERS]) {
      await app.register(readingRoutes(resource, deps))
      await app.register(changingRoutes(resource, deps))
    }
  }
}

const operator = { scope: 'operator' } as const
const tags = ['Operators']

function paramsOf({ parameter, parameterDescription: description }: Resource) {
  return Type.Object({ [parameter]: Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, description }) })
}

function modelList(deps: StoredSettingsDeps): FastifyPluginAsyncTypebox {
  const schema = {
    summary: 'List stored models',
    description: 'Returns the models that are stored in the database, with their settings in force.',
    tags,
    querystring: Type.Object(NAMED_PAGE_QUERY),
    response: { 200: pageSchema(VersionView) },
  }
  return async (app) => {
    app.get('/admin/models', { config: operator, schema }, async (request) => {
      const binding = { key: deps.cursorKey, account: deps.callerOf(request).accountId, list: 'admin/models' }
      const all = await versionsInForce(deps.db, deps.now(), deps.sealKeys)
      const models = all.filter(({ kind, settings }) => kind === 'model' && settings !== undefined)
      const render = (version: StoredVersion) => renderVersion(version, { deps, newest: version.version })
      return await listByName(models, { query: request.query, binding, name: ({ name }) => name, render })
    })
  }
}

function readingRoutes(resource: Resource, deps: StoredSettingsDeps): FastifyPluginAsyncTypebox {
  const { kind, path, noun } = resource
  const params = paramsOf(resource)
  const oneSchema = {
    summary: `Get a stored ${noun}`,
    description: `Returns the settings of the ${noun} in the database that are in force, or will be first. 404: none are stored.`,
    tags,
    params,
    response: { 200: VersionView },
  }
  const versionsSchema = {
    summary: `List versions of a stored ${noun}`,
    description: 'Returns every change, the newest first.',
    tags,
    params,
    querystring: Type.Object(PAGE_QUERY),
    response: { 200: pageSchema(VersionView) },
  }
  return async (app) => {
    app.get(path, { config: operator, schema: oneSchema }, async (request) => {
      const version = await currentOf(deps, kind, nameIn(request.params))
      if (version?.settings === undefined) throw notStored(noun)
      return renderVersion(version, { deps, newest: version.version })
    })
    app.get(`${path}/versions`, { config: operator, schema: versionsSchema }, async (request) => {
      const name = nameIn(request.params)
      const inForce = await currentOf(deps, kind, name)
      if (inForce === undefined) throw notStored(noun)
      const { accountId } = deps.callerOf(request)
      const binding = { key: deps.cursorKey, account: accountId, list: `admin/${kind}/versions`, filter: name }
      return await listPage({
        query: request.query,
        binding,
        read: (page: PageRequest) => listVersions(deps.db, { kind, name, ...page }, deps.sealKeys),
        position: ({ version: number }) => byNumber({ number }),
        render: (version) => renderVersion(version, { deps, newest: inForce?.version }),
      })
    })
  }
}

function changingRoutes(resource: Resource, deps: StoredSettingsDeps): FastifyPluginAsyncTypebox {
  const { kind, path, noun } = resource
  const params = paramsOf(resource)
  const putSchema = {
    summary: `Store a ${noun}`,
    description:
      `Creates or replaces the ${noun} as a whole; the body is an entry of \`${noun}s\` in \`turnpike.yaml\`. It takes effect in ` +
      'every process within a second, or at `effective_from`; rows of the past keep their price. An entry of the ' +
      'configuration file has precedence.' +
      (kind === 'provider' ? ' A stored key stays unless `api_key` or `api_keys` is sent; null removes it.' : ''),
    tags,
    params,
    body: deps.schemas[kind],
    response: { 200: VersionView },
  }
  const deleteSchema = {
    summary: `Remove a stored ${noun}`,
    description: `Removes the ${noun} from the database; that of the configuration file or the catalogue stays.`,
    tags,
    params,
    response: { 204: Type.Null() },
  }
  // The configuration's own check names the setting and what is allowed.
  const options = { config: operator, schema: putSchema, validatorCompiler: () => () => true }
  return async (app) => {
    app.put(path, options, async (request) => {
      const name = nameIn(request.params)
      const { effectiveFrom, settings } = readChange(request.body, { schema: deps.schemas[kind], now: deps.now() })
      const version = await store(deps, request, async (inside) => {
        const kept = await keptSecrets(inside, { kind, name, settings }, deps)
        const entry = { kind, name, settings: withoutNulls({ ...kept, ...settings }) }
        const [problem] = deps.problemsOf(entry)
        if (problem !== undefined) throw new GatewayError('invalid_value', problem)
        return { ...entry, effectiveFrom }
      })
      const inForce = await currentOf(deps, kind, name)
      return renderVersion(version, { deps, newest: inForce?.version })
    })
    app.delete(path, { config: operator, schema: deleteSchema }, async (request, reply) => {
      const name = nameIn(request.params)
      await store(deps, request, async (inside) => {
        const current = await currentOf({ ...deps, db: inside }, kind, name)
        if (current?.settings === undefined) throw notStored(noun)
        return { kind, name, settings: undefined, effectiveFrom: deps.now() }
      })
      return reply.code(204).send(null)
    })
  }
}

/** Writes the version that `decide` returns, with its audit event; resolves when it is in force in this process. */
async function store(
  deps: StoredSettingsDeps,
  request: FastifyRequest,
  decide: (inside: Transaction<Database>) => Promise<Omit<NewVersion, 'createdBy'>>,
): Promise<StoredVersion> {
  const caller = deps.callerOf(request)
  const version = await deps.db.transaction().execute(async (inside) => {
    await lockSettings(inside)
    const change = { ...(await decide(inside)), createdBy: caller.keyId }
    const made = await addVersion(inside, change, { keys: deps.sealKeys, now: deps.now() })
    const { kind, name, settings } = change
    const action = `${kind}.${settings === undefined ? 'removed' : 'changed'}`
    const details = {
      version: made.version,
      effective_from: isoTime(made.effectiveFrom),
      settings: Object.keys(settings ?? {}),
    }
    await deps.writeAudit(inside, { ...auditOf(request, caller), action, subject: name, result: 'done', details })
    return made
  })
  await deps.changed()
  return version
}

interface Change {
  readonly effectiveFrom: number
  readonly settings: Json
}

function readChange(body: unknown, { schema, now }: { readonly schema: TSchema; readonly now: number }): Change {
  if (!isRecord(body)) throw new GatewayError('invalid_type', 'The request body must be a JSON object.')
  const { properties = {} } = schema as { properties?: object }
  const unknown = Object.keys(body).find((name) => !Object.hasOwn(properties, name))
  if (unknown !== undefined) throw unknownField(unknown, Object.keys(properties))
  const { effective_from: from, ...settings } = body
  return { effectiveFrom: parseTime('effective_from', from) ?? now, settings }
}

function unknownField(name: string, known: readonly string[]): GatewayError {
  const meant = didYouMean(name, known)
  const hint = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`
  return new GatewayError('unknown_field', `'${name}' is not a known field${hint || '.'}`, { param: name })
}

/** Keys of a provider that the change does not mention. */
async function keptSecrets(
  db: Transaction<Database>,
  { kind, name, settings }: StoredEntry,
  deps: StoredSettingsDeps,
): Promise<Json> {
  if (kind !== 'provider' || [...SECRET_SETTINGS].some((secret) => secret in settings)) return {}
  const newest = await listVersions(db, { kind, name, limit: 1, order: 'desc', after: undefined }, deps.sealKeys)
  return splitSecrets(newest[0]?.settings).secrets ?? {}
}

/** Null means that a setting is not set, but for the price and the longest answer, where it means "not known". */
function withoutNulls(settings: Json): Json {
  const meansUnknown = new Set(['pricing', 'max_output_tokens'])
  return Object.fromEntries(
    Object.entries(settings).filter(([name, value]) => value !== null || meansUnknown.has(name)),
  )
}

/** The version in force, else the first one to come. */
async function currentOf(
  { db, now, sealKeys }: Pick<StoredSettingsDeps, 'db' | 'now' | 'sealKeys'>,
  kind: StoredKind,
  name: string,
): Promise<StoredVersion | undefined> {
  const page = { kind, name, limit: Number.MAX_SAFE_INTEGER, order: 'desc', after: undefined } as const
  const versions = await listVersions(db, page, sealKeys)
  const at = now()
  return versions.find(({ effectiveFrom }) => effectiveFrom <= at) ?? versions.at(-1)
}

function renderVersion(
  version: StoredVersion,
  { deps, newest }: { readonly deps: StoredSettingsDeps; readonly newest: number | undefined },
): Static<typeof VersionView> {
  const { kind, name, settings } = version
  const overridden = deps.isInFile(kind, name)
  const { shown, secrets } = splitSecrets(settings)
  return {
    id: name,
    object: `${kind}_setting`,
    version: version.version,
    in_force: !overridden && version.version === newest && version.effectiveFrom <= deps.now(),
    overridden_by: overridden ? 'configuration' : null,
    effective_from: isoTime(version.effectiveFrom),
    settings: shown ?? null,
    api_keys: keysOf(secrets).map((key) => ({ last4: key.length < 16 ? '' : key.slice(-4) })),
    created_by: version.createdBy,
    created_at: isoTime(version.createdAt),
  }
}

function keysOf(secrets: Json = {}): readonly string[] {
  return Object.values(secrets)
    .flat()
    .filter((key) => typeof key === 'string')
}

/** Throws for a name that is too long. */
function nameIn(params: unknown): string {
  const [[parameter, name] = ['', '']] = Object.entries(params as Readonly<Record<string, string>>)
  if (name.length <= MAX_NAME_LENGTH) return name
  const message = `'${parameter}' must have at most ${MAX_NAME_LENGTH} characters.`
  throw new GatewayError('invalid_value', message, { param: parameter })
}

function notStored(noun: string): GatewayError {
  return new GatewayError('not_found', `No ${noun} of this name is stored in the database.`)
}

/* `GET /admin/config`: the settings of this process and where they come from, for operators, without secrets. */

interface Setting {
  readonly path: string
  readonly value: unknown
  readonly origin: string
}

export interface ConfigDeps {
  /** The settings in force in this process. */
  readonly settings: () => { readonly file: string | undefined; readonly settings: readonly Setting[] }
}

const ConfigView = Type.Object({
  object: Type.Literal('config'),
  file: textOrNull('Path of the configuration file. Null: none was read.'),
  settings: Type.Array(
    Type.Object({
      path: Type.String({ description: 'Such as server.port.' }),
      value: Type.Unknown({ description: '(secret) for secrets.' }),
      origin: Type.String({ description: 'Position in the file, variable or flag; default; database.' }),
    }),
  ),
})

const schema = {
  summary: 'Get the configuration in force',
  description: 'Returns the settings of the process that answers, with the source of each, without secrets.',
  tags: ['Operators'],
  response: { 200: ConfigView },
}

export function configRoutes({ settings }: ConfigDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/admin/config', { config: { scope: 'operator' }, schema }, async () => {
      const { file, settings: all } = settings()
      return { object: 'config' as const, file: file ?? null, settings: [...all] }
    })
  }
}
