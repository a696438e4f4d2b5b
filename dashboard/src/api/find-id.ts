/** Where an ID leads: that of a request in any of its names, of an agent, a key, a device, a person or a webhook delivery. */
import { api, take } from './client.ts'

/** A view of the dashboard, as its links take it. */
export interface Found {
  readonly to: string
  readonly params?: Readonly<Record<string, string>>
  readonly search?: Readonly<Record<string, string>>
}

/** @returns Undefined: nothing has this ID. Rejects with an `ApiProblem`. */
export async function findId(id: string): Promise<Found | undefined> {
  const [, prefix = '', tail = ''] = /^([a-z]+)[_-](.+)$/.exec(id) ?? []
  return (await FINDERS[prefix]?.(id, tail)) ?? (await findClientName(id))
}

/** The page of whoever sent a request: keys, devices and people have one each. */
export function askerTarget(id: string): Found | undefined {
  if (id.startsWith('key_')) return { to: '/settings/keys', search: { key: id } }
  if (id.startsWith('dev_')) return { to: '/settings/devices' }
  return id.startsWith('usr_') ? { to: '/settings/members' } : undefined
}

type Finder = (id: string, tail: string) => Promise<Found | undefined> | Found | undefined

const completion = (id: string): Found => ({ to: '/requests', search: { request: id } })

/** By prefix. The Responses and Messages APIs name a completion by its own ID with another prefix. */
const FINDERS: Readonly<Record<string, Finder>> = {
  req: findRequest,
  chatcmpl: completion,
  resp: (_, tail) => completion(`chatcmpl-${tail}`),
  msg: (_, tail) => completion(`chatcmpl-${tail}`),
  agt: (agentId) => ({ to: '/agents/$agentId', params: { agentId } }),
  key: askerTarget,
  dev: askerTarget,
  usr: askerTarget,
  whk: (webhookId) => ({ to: '/webhooks/$webhookId', params: { webhookId } }),
  dlv: findDelivery,
}

async function findRequest(id: string): Promise<Found | undefined> {
  const query = { request_id: id, limit: 1 }
  const [answered, rejected] = await Promise.all([
    take(api.GET('/v1/usage/completions', { params: { query } })),
    take(api.GET('/v1/usage/rejections', { params: { query } })),
  ])
  const [found] = answered.data
  if (found !== undefined) return completion(found.id)
  return rejected.data.length === 0 ? undefined : { to: '/requests', search: { tab: 'rejected', request_id: id } }
}

/** A delivery is read by its endpoint; an account has 20 at most. */
async function findDelivery(delivery: string): Promise<Found | undefined> {
  const { data } = await take(api.GET('/v1/webhooks', { params: { query: { limit: 100 } } }))
  const owners = await Promise.all(
    data.map(async ({ id }) => {
      const path = { id, delivery_id: delivery }
      const { response } = await api.GET('/v1/webhooks/{id}/deliveries/{delivery_id}', { params: { path } })
      return response.ok ? id : undefined
    }),
  )
  const webhookId = owners.find((id) => id !== undefined)
  return webhookId === undefined
    ? undefined
    : { to: '/webhooks/$webhookId', params: { webhookId }, search: { delivery } }
}

const SEARCHED_MS = 7 * 86_400_000

/** What the client called its request itself, within the days that can be searched for it. */
async function findClientName(name: string): Promise<Found | undefined> {
  const period_start = new Date(Date.now() - SEARCHED_MS + 60_000).toISOString()
  const period_end = new Date(Date.now() + 1_000).toISOString()
  const query = { client_request_id: name, period_start, period_end, limit: 2 }
  const { data } = await take(api.GET('/v1/usage/completions', { params: { query } }))
  const [only, another] = data
  if (only === undefined) return undefined
  return another === undefined
    ? completion(only.id)
    : { to: '/requests', search: { client_request_id: name, range: 'custom', from: period_start, to: period_end } }
}
