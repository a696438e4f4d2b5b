/** `/keys`: what an account does with its API keys. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema.ts'
import { takeTurn } from '../../db/turn.ts'
import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { KeyId } from '../../domain/ids.ts'
import { auditOf } from '../../http/audit-origin.ts'
import { PAGE_QUERY, type PageBinding, pageSchema, readPageRequest, renderPage } from '../../http/page.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'
import { type Asker, deniedEvent, keyEvent } from './audit.ts'
import { keyDescriber, requestsOfLastDay } from './described.ts'
import type { ApiKey } from './key.ts'
import {
  createKey,
  findKey,
  KEY_STATUSES,
  type KeyReference,
  type KeyStatus,
  listKeys,
  revokeKey,
  updateKey,
} from './queries.ts'
import { assertAddressList, assertGrantable, type Granter, grantRights } from './rules.ts'
import {
  CreatedKeyView,
  KeyCreate,
  KeyDetailView,
  KeyPatch,
  KeyView,
  parseRights,
  renderDescribedKey,
} from './shapes.ts'

export interface KeysDeps extends FeatureDeps {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
  /** Called after every change and waited for: when it is done, this process acts on the change. */
  readonly changed: () => void | Promise<void>
  readonly writeAudit: WriteAudit
}

const KeyParams = Type.Object({ id: Type.Unsafe<KeyId>({ type: 'string' }) })
const config = { scope: 'keys' } as const
const tags = ['Keys']
const listSchema = {
  summary: 'List API keys',
  description: 'All of the account, revoked ones included, unless `status` says otherwise.',
  tags,
  querystring: Type.Object({
    ...PAGE_QUERY,
    status: Type.Optional(
      Type.Unsafe<KeyStatus | 'all'>({
        type: 'string',
        enum: [...KEY_STATUSES, 'all'],
        default: 'all',
        description: 'active: neither revoked nor expired. expired: not revoked, but past its `expires_at`.',
      }),
    ),
  }),
  response: { 200: pageSchema(KeyView) },
}
const readSchema = {
  summary: 'Get an API key',
  description: 'A revoked one, too.',
  tags,
  params: KeyParams,
  response: { 200: KeyDetailView },
}
const createSchema = {
  summary: 'Create an API key',
  description: 'The secret is in `key`, and shown this once. A key can give no more than it has itself.',
  tags,
  body: KeyCreate,
  response: { 201: CreatedKeyView },
}
const updateSchema = {
  summary: 'Change an API key',
  description: 'Only the fields that are sent. `null` and empty lists remove a limit.',
  tags,
  params: KeyParams,
  body: KeyPatch,
  response: { 200: KeyView },
}
const revokeSchema = {
  summary: 'Revoke an API key',
  description: 'In force in every process within a second.',
  tags,
  params: KeyParams,
  response: { 204: Type.Null() },
}

export function keysRoutes(deps: KeysDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, changed } = deps
  const askerOf = (request: FastifyRequest): Asker => {
    const caller = callerOf(request)
    return { caller, audited: auditOf(request, caller) }
  }
  return async (app) => {
    app.get('/keys', { config, schema: listSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const { status = 'all' } = request.query
      const filter = status === 'all' ? undefined : { status, now: now() }
      const binding: PageBinding = { key: deps.cursorKey, account: accountId, list: 'keys', filter: filter?.status }
      const page = readPageRequest(request.query, binding)
      const keys = await listKeys(db, accountId, { ...page, limit: page.limit + 1, filter })
      const describeKey = await keyDescriber(db, keys, now())
      const render = (key: ApiKey) => renderDescribedKey(describeKey(key))
      return renderPage(keys, { request: page, binding }, { position: ({ id }) => id, render })
    })
    app.get('/keys/:id', { config, schema: readSchema }, async (request) => {
      const reference = { accountId: callerOf(request).accountId, id: request.params.id }
      const key = await findKey(db, reference)
      if (key === undefined) throw new GatewayError('not_found', 'No key has this id.')
      const [view, requests] = await Promise.all([describe(deps, key), requestsOfLastDay(db, reference, now())])
      return { ...view, requests_last_24h: requests }
    })
    app.post('/keys', { config, schema: createSchema }, async (request, reply) => {
      const { key, secret } = await mintKey(deps, askerOf(request), request.body)
      await changed()
      return reply.code(201).send({ ...(await describe(deps, key)), key: secret })
    })
    app.patch('/keys/:id', { config, schema: updateSchema }, async (request) => {
      const key = await changeKey(deps, askerOf(request), { id: request.params.id, body: request.body })
      await changed()
      return describe(deps, key)
    })
    app.delete('/keys/:id', { config, schema: revokeSchema }, async (request, reply) => {
      await revoke(deps, askerOf(request), request.params.id)
      await changed()
      return reply.code(204).send(null)
    })
  }
}

async function describe({ db, now }: KeysDeps, key: ApiKey): Promise<Static<typeof KeyView>> {
  const describeKey = await keyDescriber(db, [key], now())
  return renderDescribedKey(describeKey(key))
}

async function mintKey({ db, now, ids, writeAudit }: KeysDeps, asker: Asker, body: Static<typeof KeyCreate>) {
  const { accountId } = asker.caller
  const asked = parseRights(body, now())
  assertAddressList(asked.ipAllowlist ?? [])
  const granter = await granterOf(db, asker.caller)
  const rights = grantRights(asked, granter)
  const createdBy = asker.caller.userId ?? granter.key?.createdBy // what a person's key makes is that person's, too
  try {
    assertGrantable(rights, granter)
  } catch (error) {
    const denied = deniedEvent('key.created', asker, { id: undefined, error })
    if (denied !== undefined) await writeAudit(db, denied)
    throw error
  }
  return db.transaction().execute(async (inside) => {
    const created = await createKey(inside, { accountId, name: body.name, createdBy, ...rights }, { now, ids })
    await writeAudit(inside, keyEvent('key.created', asker, created.key))
    return created
  })
}

interface Change extends Pick<KeyReference, 'id'> {
  readonly body: Static<typeof KeyPatch>
}

/** In one transaction, so that two changes at once cannot add up to more than either was allowed. */
async function changeKey({ db, now, writeAudit }: KeysDeps, asker: Asker, { id, body }: Change): Promise<ApiKey> {
  const { accountId } = asker.caller
  const changes = parseRights(body, now())
  assertAddressList(changes.ipAllowlist ?? [])
  const changing = db.transaction().execute(async (inside) => {
    await takeTurn(inside, `keys of ${accountId}`)
    const before = await findKey(inside, { accountId, id })
    if (before === undefined || before.revokedAt !== undefined) return undefined
    const rights = { ...before, ...changes }
    if (Object.keys(changes).length > 0) assertGrantable(rights, await granterOf(inside, asker.caller))
    const after = await updateKey(inside, { accountId, id, name: body.name ?? before.name, rights }, now())
    if (after !== undefined) await writeAudit(inside, keyEvent('key.changed', asker, after))
    return after
  })
  const changed = await changing.catch(async (error: unknown) => {
    const denied = deniedEvent('key.changed', asker, { id, error })
    if (denied !== undefined) await writeAudit(db, denied)
    throw error
  })
  if (changed === undefined) throw unknownKey()
  return changed
}

async function revoke({ db, now, writeAudit }: KeysDeps, asker: Asker, id: KeyId): Promise<void> {
  const { accountId } = asker.caller
  const revoked = await db.transaction().execute(async (inside) => {
    if (!(await revokeKey(inside, { accountId, id }, now()))) return false
    await writeAudit(inside, keyEvent('key.revoked', asker, { id }))
    return true
  })
  if (!revoked) throw unknownKey()
}

/** Only a key has limits in a row of its own. */
async function granterOf(db: Kysely<Database>, caller: Caller): Promise<Granter> {
  if (caller.kind !== 'key') return { caller, key: undefined }
  return { caller, key: await findKey(db, { accountId: caller.accountId, id: caller.keyId }) }
}

/** The same for another account's key and for one that never was. */
function unknownKey(): GatewayError {
  return new GatewayError('not_found', 'No active key has this id.')
}
