/** `/devices`: the devices that people have connected, and how they are disconnected again. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { DeviceId, UserId } from '../../domain/ids.ts'
import { byId, listPage, PAGE_QUERY, type PageBinding, type PageRequest, pageSchema } from '../../http/page.ts'
import { type Authority, readTime, shownUserAgent } from './authority.ts'
import { type Device, type DeviceView, disconnect, findDevice, labelOf, listDevices } from './devices.ts'

export interface DevicesDeps extends Authority {
  readonly callerOf: (request: FastifyRequest) => Caller
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
}

const textOrNull = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description })

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
const DeviceParams = Type.Object({ id: Type.Unsafe<DeviceId>({ type: 'string' }) })
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
      const binding: PageBinding = { key: deps.cursorKey, account: accountId, list: 'devices', filter }
      const read = (page: PageRequest) => listDevices(db, { accountId, ...view }, page)
      const render = (device: Device) => renderDevice(device, clients.nameOf(device.clientId))
      return listPage({ query: request.query, binding, read, position: byId, render })
    })
    app.delete('/devices/:id', { config, schema: revokeSchema }, async (request, reply) => {
      if (!(await revoke(deps, request, request.params.id))) {
        throw new GatewayError('not_found', 'No connected device has this id.')
      }
      await deps.changed()
      return reply.code(204).send(null)
    })
  }
}

/** Which devices a caller may see: a key all of its account, a token its own. */
function viewOf({ kind, userId, role, keyId }: Caller, all: boolean): DeviceView {
  if (kind === 'token') return { userId: undefined, id: keyId as string as DeviceId } // a token's is its device
  const ofAll = kind === 'key' || (all && (role === 'owner' || role === 'admin'))
  return { userId: ofAll ? undefined : (userId ?? NOBODY), id: undefined }
}

const NOBODY = '' as UserId // a session always has a user

async function revoke(deps: DevicesDeps, request: FastifyRequest, id: DeviceId): Promise<boolean> {
  const caller = deps.callerOf(request)
  const { accountId, kind } = caller
  const view = viewOf(caller, true)
  const origin = {
    address: request.ip,
    userAgent: shownUserAgent(request.headers['user-agent']),
    requestId: request.id,
  }
  return deps.db.transaction().execute(async (inside) => {
    const device = await findDevice(inside, { accountId, ...view }, id)
    if (device === undefined || device.revokedAt !== undefined) return false
    const now = await readTime(inside, deps.time)
    const actor = { kind, id: caller.userId ?? caller.keyId, name: await labelOf(inside, caller) }
    return disconnect(deps, inside, { device, now, origin, actor, action: 'device.revoked' })
  })
}

function renderDevice(device: Device, clientName: string): Static<typeof DeviceShape> {
  return {
    id: device.id,
    object: 'device',
    client_id: device.clientId,
    client_name: clientName,
    user_id: device.userId,
    user_email: device.email ?? null,
    scopes: [...device.scopes],
    address: device.address ?? null,
    user_agent: device.userAgent ?? null,
    created_at: renderTime(device.createdAt),
    last_used_at: device.lastUsedAt === undefined ? null : renderTime(device.lastUsedAt),
    revoked_at: device.revokedAt === undefined ? null : renderTime(device.revokedAt),
  }
}

function renderTime(ms: number): string {
  return new Date(ms).toISOString()
}
