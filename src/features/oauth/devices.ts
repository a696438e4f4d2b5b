/** Connected devices: their rows, `/devices`, and their disconnection, which ends all of their tokens. */

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Kysely, Transaction } from 'kysely'
import { type Static, Type } from 'typebox'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database } from '../../db/schema/schema.ts'
import { pageBy } from '../../db/shared-queries.ts'
import type { AuditActor } from '../../domain/audit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller, Role, Scope } from '../../domain/identity/caller.ts'
import type { Origin } from '../../domain/identity/sign-in.ts'
import type { AccountId, DeviceId, UserId } from '../../domain/ids.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { idParams, textOrNull } from '../../http/wire-fields.ts'
import { isoTime, isoTimeOrNull } from '../../lib/time.ts'
import type { ListDeps } from '../deps.ts'
import { type Authority, originOf, readTime } from './authority.ts'
import { readScopes } from './scopes.ts'

export interface DeviceReference {
  readonly accountId: AccountId
  readonly id: DeviceId
}

export interface ConnectedDevice extends DeviceReference {
  readonly clientId: string
  readonly userId: UserId
  readonly email: string
  readonly role: Role
  readonly scopes: readonly Scope[]
  /** Unix milliseconds by the database's clock. */
  readonly createdAt: number
}

/** Selects devices of an account. Undefined: of every user; every device. */
interface DeviceView {
  readonly userId: UserId | undefined
  readonly id: DeviceId | undefined
}

export type AccountView = DeviceView & { readonly accountId: AccountId }

/** Lists devices by creation, including disconnected ones; IDs sort by time. */
async function listDevices(db: Kysely<Database>, view: AccountView, page: PageRequest): Promise<readonly Device[]> {
  return devicesIn(db, view).$call(pageBy('device.id', page)).execute()
}

/** Undefined for an unknown device, and one outside the view. */
async function findDevice(db: Kysely<Database>, view: AccountView, id: DeviceId): Promise<Device | undefined> {
  return devicesIn(db, view).where('device.id', '=', id).executeTakeFirst()
}

/** Returns the name of a caller in the audit log. */
async function labelOf(db: Kysely<Database>, { accountId, keyId, userId }: Caller): Promise<string | undefined> {
  const row =
    userId === undefined
      ? await db
          .selectFrom('api_key')
          .select('name')
          .where(({ and }) => and({ account_id: accountId, id: keyId }))
          .executeTakeFirst()
      : await db.selectFrom('person').select('email as name').where('id', '=', userId).executeTakeFirst()
  return row?.name
}

function devicesIn(db: Kysely<Database>, { accountId, userId, id }: AccountView) {
  const query = db
    .selectFrom('device')
    .leftJoin('person', 'person.id', 'device.user_id')
    .where('device.account_id', '=', accountId)
    .selectAll('device')
    .select('person.email')
  const ofUser = userId === undefined ? query : query.where('device.user_id', '=', userId)
  return id === undefined ? ofUser : ofUser.where('device.id', '=', id)
}

/** A row of a device, with the e-mail address of its user. */
type Device = Awaited<ReturnType<ReturnType<typeof devicesIn>['execute']>>[number]

/** Undefined for a revoked device, and one whose user is disabled or no longer a member. */
export async function findConnectedDevice(
  db: Kysely<Database>,
  { accountId, id }: DeviceReference,
): Promise<ConnectedDevice | undefined> {
  const row = await db
    .selectFrom('device')
    .innerJoin('member', (join) =>
      join.onRef('member.account_id', '=', 'device.account_id').onRef('member.user_id', '=', 'device.user_id'),
    )
    .innerJoin('person', 'person.id', 'device.user_id')
    .where('device.account_id', '=', accountId)
    .where('device.id', '=', id)
    .where('device.revoked_at', 'is', null)
    .where('member.removed_at', 'is', null)
    .where('person.disabled_at', 'is', null)
    .select(['device.client_id', 'device.user_id', 'device.scopes', 'device.created_at', 'person.email', 'member.role'])
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { client_id: clientId, user_id: userId, created_at: createdAt, email, role } = row
  return { accountId, id, clientId, userId, email, role, scopes: readScopes(row.scopes), createdAt }
}

interface Disconnection {
  readonly device: DeviceReference & { readonly clientId: string }
  readonly now: number
  readonly origin: Origin
  readonly actor: AuditActor
  readonly action: 'device.revoked' | 'device.reuse_detected'
}

/** @returns false when the device was already disconnected. */
export async function disconnect(
  { writeAudit }: Authority,
  inside: Transaction<Database>,
  { device, now, origin, actor, action }: Disconnection,
): Promise<boolean> {
  const { accountId, id, clientId } = device
  const { numUpdatedRows } = await inside
    .updateTable('device')
    .set({ revoked_at: now, changed_at: nextChangedAt('device', now) })
    .where(({ and }) => and({ account_id: accountId, id, revoked_at: null }))
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await writeAudit(inside, {
    accountId,
    actor,
    action,
    subject: id,
    result: 'done',
    ...origin,
    details: { client: clientId },
  })
  return true
}

/* `/devices`: lists and disconnects the devices that people have connected. */

export type DevicesDeps = Authority & Pick<ListDeps, 'callerOf' | 'cursorKey'>

const DeviceShape = Type.Object({
  id: Type.String(),
  object: Type.Literal('device'),
  client_id: Type.String(),
  client_name: Type.String(),
  user_id: Type.String({ description: 'The user who connected it.' }),
  user_email: textOrNull('Their e-mail address.'),
  scopes: Type.Array(Type.String(), {
    description: 'Approved scopes. The device has those of them that its user has.',
  }),
  address: textOrNull('IP address of the device at its request.'),
  user_agent: textOrNull('User agent of the device.'),
  created_at: Type.String(),
  last_used_at: textOrNull('ISO 8601.'),
  revoked_at: textOrNull('ISO 8601.'),
})

const tags = ['Devices']
const config = { scope: 'devices' } as const
const listSchema = {
  summary: 'List connected devices',
  description:
    'Returns the caller’s devices, including disconnected ones. Owners and admins list those of all members with `all=true`.',
  tags,
  querystring: Type.Object({
    ...PAGE_QUERY,
    all: Type.Optional(Type.Unsafe<'true' | 'false'>({ type: 'string', enum: ['true', 'false'], default: 'false' })),
  }),
  response: { 200: pageSchema(DeviceShape) },
}
const DeviceParams = idParams<DeviceId>()
const revokeSchema = {
  summary: 'Disconnect a device',
  description:
    'Disconnects a device of the caller or, for owners and admins, of any member. Every process rejects its tokens within a second.',
  tags,
  params: DeviceParams,
  response: { 204: Type.Null() },
}

export function devicesRoutes(deps: DevicesDeps): FastifyPluginAsyncTypebox {
  const { db, clients, callerOf } = deps
  return async (app) => {
    app.get('/devices', { config, schema: listSchema }, async (request) => {
      const caller = callerOf(request)
      const { accountId } = caller
      const view = viewOf(caller, request.query.all === 'true')
      const filter = JSON.stringify(view)
      const binding = { key: deps.cursorKey, account: accountId, list: 'devices', filter }
      const read = (page: PageRequest) => listDevices(db, { accountId, ...view }, page)
      const render = (device: Device) => renderDevice(device, clients.nameOf(device.client_id))
      return listPage({ query: request.query, binding, read, position: byId, render })
    })
    app.delete('/devices/:id', { config, schema: revokeSchema }, async (request, reply) => {
      if (!(await revoke(deps, request, request.params.id))) {
        throw new GatewayError('not_found', 'No connected device has this ID.')
      }
      await deps.changed()
      return reply.code(204).send(null)
    })
  }
}

/** Devices that a caller can see: a key sees all of its account, a token only its own. */
function viewOf({ kind, userId, role, keyId }: Caller, all: boolean): DeviceView {
  if (kind === 'token') return { userId: undefined, id: keyId as string as DeviceId } // usage of a token is booked on its device
  const ofAll = kind === 'key' || (all && (role === 'owner' || role === 'admin'))
  return { userId: ofAll ? undefined : (userId ?? NOBODY), id: undefined }
}

const NOBODY = '' as UserId // a session always has a user

async function revoke(deps: DevicesDeps, request: FastifyRequest, id: DeviceId): Promise<boolean> {
  const caller = deps.callerOf(request)
  const { accountId, kind } = caller
  const view = viewOf(caller, true)
  return deps.db.transaction().execute(async (inside) => {
    const device = await findDevice(inside, { accountId, ...view }, id)
    if (device === undefined || device.revoked_at !== null) return false
    const now = await readTime(inside, deps.time)
    const actor = { kind, id: caller.userId ?? caller.keyId, name: await labelOf(inside, caller) }
    const disconnected = { accountId, id, clientId: device.client_id }
    const origin = originOf(request)
    return disconnect(deps, inside, { device: disconnected, now, origin, actor, action: 'device.revoked' })
  })
}

function renderDevice(device: Device, clientName: string): Static<typeof DeviceShape> {
  const { id, client_id, user_id, address, user_agent } = device
  return {
    ...{ id, object: 'device', client_id, client_name: clientName, user_id, user_email: device.email },
    scopes: [...readScopes(device.scopes)],
    address,
    user_agent,
    created_at: isoTime(device.created_at),
    last_used_at: isoTimeOrNull(device.last_used_at),
    revoked_at: isoTimeOrNull(device.revoked_at),
  }
}
