/** `/devices`: lists and disconnects the devices that people have connected. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { DeviceId, UserId } from '../../domain/ids.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { idParams, textOrNull } from '../../http/wire-fields.ts'
import { isoTime, isoTimeOrNull } from '../../lib/time.ts'
import type { ListDeps } from '../deps.ts'
import { type Authority, originOf, readTime } from './authority.ts'
import { type Device, type DeviceView, disconnect, findDevice, labelOf, listDevices } from './devices.ts'
import { readScopes } from './scopes.ts'

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
