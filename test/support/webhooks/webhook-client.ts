/** The API of webhooks as a customer of a running gateway uses it. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebhookId } from '../../../src/domain/ids.ts'
import { type Answer, eventually, send } from '../client.ts'
import { openLocation } from '../database.ts'
import type { Gateway } from '../gateway.ts'

export interface WireWebhook {
  readonly id: string
  readonly object: 'webhook'
  readonly kind: 'webhook' | 'slack' | 'email'
  readonly url: string
  readonly events: readonly string[] | null
  readonly description: string
  readonly status: 'enabled' | 'disabled'
  readonly disabled_reason: 'by_request' | 'gone' | 'failing' | null
  readonly disabled_at: string | null
  readonly failing_since: string | null
  readonly previous_secret_expires_at: string | null
  readonly created_at: string
  /** In the answers to creation and rotation alone. */
  readonly secret?: string
}

export interface WireAttempt {
  readonly number: number
  readonly at: string
  readonly duration_ms: number
  readonly status_code: number | null
  readonly error: string | null
  readonly response_body: string | null
}

export interface WireDelivery {
  readonly id: string
  readonly object: 'delivery'
  readonly webhook_id: string
  readonly event_id: string
  readonly type: string
  readonly status: 'pending' | 'delivered' | 'failed'
  readonly attempts: readonly WireAttempt[]
  readonly next_attempt_at: string | null
  readonly error: string | null
  readonly created_at: string
  readonly ended_at: string | null
  /** Of one that is asked for alone. */
  readonly payload?: WireBody
}

export interface WireEvent {
  readonly id: string
  readonly object: 'event'
  readonly type: string
  readonly created_at: string
  readonly data: Readonly<Record<string, unknown>>
}

/** What is posted. */
export interface WireBody {
  readonly event_id: string
  readonly type: string
  readonly created_at: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface WirePage<Item> {
  readonly data: readonly Item[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

export interface NewWebhook extends WireWebhook {
  readonly secret: string
}

/** Somebody with a key. Each method expects success. */
export interface Customer {
  readonly gateway: Gateway
  readonly key: string
  /** Whatever comes of it. */
  ask(method: string, path: string, body?: object): Promise<Answer>
  create(body: { readonly url: string; readonly events?: readonly string[] | null }): Promise<NewWebhook>
  webhook(id: string): Promise<WireWebhook>
  patch(id: string, body: object): Promise<WireWebhook>
  rotate(id: string, body?: object): Promise<NewWebhook>
  test(id: string): Promise<WireDelivery>
  trigger(type: string): Promise<WireEvent>
  /** The newest first. */
  deliveries(id: string, query?: string): Promise<readonly WireDelivery[]>
  delivery(id: string, deliveryId: string): Promise<WireDelivery>
  redeliver(id: string, deliveryId: string): Promise<WireDelivery>
  events(query?: string): Promise<readonly WireEvent[]>
  /** The newest delivery of a type, when it has had so many attempts. */
  attempted(id: string, type: string, attempts?: number): Promise<WireDelivery>
}

const WITHIN_MS = 60_000

export function customerOf(gateway: Gateway, key: string): Customer {
  const ask = (method: string, path: string, body?: object): Promise<Answer> =>
    send(gateway, path, { key, method, ...(body === undefined ? {} : { body }) })
  const expect = async <T>(status: number, method: string, path: string, body?: object): Promise<T> => {
    const answer = await ask(method, path, body)
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
    return JSON.parse(answer.text) as T
  }
  const deliveries = async (id: string, query = ''): Promise<readonly WireDelivery[]> =>
    (await expect<WirePage<WireDelivery>>(200, 'GET', `/v1/webhooks/${id}/deliveries?limit=100${query}`)).data
  return {
    gateway,
    key,
    ask,
    create: (body) => expect(201, 'POST', '/v1/webhooks', body),
    webhook: (id) => expect(200, 'GET', `/v1/webhooks/${id}`),
    patch: (id, body) => expect(200, 'PATCH', `/v1/webhooks/${id}`, body),
    rotate: (id, body = {}) => expect(200, 'POST', `/v1/webhooks/${id}/rotate_secret`, body),
    test: (id) => expect(202, 'POST', `/v1/webhooks/${id}/test`, {}),
    trigger: (type) => expect(202, 'POST', '/v1/events/trigger', { type }),
    deliveries,
    delivery: (id, deliveryId) => expect(200, 'GET', `/v1/webhooks/${id}/deliveries/${deliveryId}`),
    redeliver: (id, deliveryId) => expect(202, 'POST', `/v1/webhooks/${id}/deliveries/${deliveryId}/redeliver`, {}),
    events: async (query = '') => (await expect<WirePage<WireEvent>>(200, 'GET', `/v1/events?limit=100${query}`)).data,
    async attempted(id, type, attempts = 1) {
      const newest = async () => (await deliveries(id)).find((each) => each.type === type)
      const found = await eventually(newest, (each) => isToldOf(each, attempts), WITHIN_MS)
      assert.ok(found, `there is a delivery of ${type}`)
      assert.equal(found.attempts.length, attempts, JSON.stringify(found))
      return found
    },
  }
}

/** An attempt and what follows from it are not always read at the same moment. */
function isToldOf(delivery: WireDelivery | undefined, attempts: number): boolean {
  const last = delivery?.attempts.at(-1)
  if (delivery === undefined || last === undefined || delivery.attempts.length < attempts) return false
  return delivery.status !== 'pending' || (last.error !== null && delivery.error === last.error)
}

/** With an account of its own, under a plan that refuses nothing here. */
export async function newCustomer(gateway: Gateway): Promise<Customer> {
  return customerOf(gateway, await gateway.keyOfNewAccount())
}

/** Private networks are open, so that receivers may be on loopback. */
export const LOOPBACK_ALLOWED = { webhooks: { allow_private_networks: true } }

/** What an endpoint's deliveries in a spawned gateway wait for is over at once. The times themselves are tested on a fake clock. */
export async function makeDue({ database }: Gateway, webhookId: string): Promise<void> {
  const { db, close } = await openLocation(database)
  try {
    const until = performance.now() + WITHIN_MS
    while (performance.now() < until) {
      const open = db.selectFrom('job').select('owner').where('kind', '=', 'webhooks.deliver')
      const jobs = await open.where('lane', '=', webhookId).where('ended_at', 'is', null).execute()
      // An attempt may have come whose end is not yet written: then the job would wait as long as that says.
      if (jobs.length > 0 && jobs.every(({ owner }) => owner === null)) break
      await sleep(25)
    }
    const deliveries = db.updateTable('delivery').set({ next_attempt_at: 0 }).where('status', '=', 'pending')
    await deliveries.where('webhook_id', '=', webhookId as WebhookId).execute() // it was read from an answer
    const jobs = db.updateTable('job').set({ run_at: 0 }).where('kind', '=', 'webhooks.deliver')
    const idle = jobs.where('lane', '=', webhookId).where('ended_at', 'is', null).where('owner', 'is', null)
    assert.ok((await idle.executeTakeFirst()).numUpdatedRows > 0n, 'a delivery waits')
  } finally {
    await close()
  }
}
