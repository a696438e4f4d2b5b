/** What the pages of webhooks ask of the API. Every key begins with `/v1/webhooks`, so that one change renews them all. */
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import type { paths } from '../../api/schema.d.ts'
import { plural } from '../../lib/format.ts'
import type { StatusOfDelivery } from './search.ts'

type Answer<Operation> = Operation extends { responses: { 200: { content: { 'application/json': infer Body } } } }
  ? Body
  : never

/** An endpoint, with how it fares. */
export type Webhook = Answer<paths['/v1/webhooks/{id}']['get']>
export type WebhookWithSecret = Answer<paths['/v1/webhooks/{id}/rotate_secret']['post']>
/** Without a secret where people read what arrives. */
export type CreatedWebhook = Omit<WebhookWithSecret, 'secret'> & Partial<Pick<WebhookWithSecret, 'secret'>>
/** With the body that is sent. */
export type DeliveryWithPayload = Answer<paths['/v1/webhooks/{id}/deliveries/{delivery_id}']['get']>
export type Delivery = Omit<DeliveryWithPayload, 'payload'>
export type Attempt = Delivery['attempts'][number]
export type EventType = Delivery['type']

/** More than an account may have. */
const ALL = 100
const PAGE = 25

const KEY = '/v1/webhooks'

export const webhooksQuery = queryOptions({
  queryKey: [KEY],
  queryFn: async () => (await take(api.GET('/v1/webhooks', { params: { query: { limit: ALL } } }))).data,
})

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: [KEY, id],
    queryFn: () => take(api.GET('/v1/webhooks/{id}', { params: { path: { id } } })),
  })

export const deliveryQuery = (webhookId: string, deliveryId: string) =>
  queryOptions({
    queryKey: [KEY, webhookId, 'deliveries', deliveryId],
    queryFn: () => {
      const path = { id: webhookId, delivery_id: deliveryId }
      return take(api.GET('/v1/webhooks/{id}/deliveries/{delivery_id}', { params: { path } }))
    },
  })

/** The one that every new endpoint is sent at once. */
export const firstDeliveryQuery = (webhookId: string) =>
  queryOptions({
    queryKey: [KEY, webhookId, 'first delivery'],
    queryFn: async () => {
      const params = { path: { id: webhookId }, query: { limit: 1, order: 'asc' as const } }
      return (await take(api.GET('/v1/webhooks/{id}/deliveries', { params }))).data[0] ?? null
    },
  })

/** How many would be sent again. @param since ISO 8601. */
export const failedSinceQuery = (webhookId: string, since: string) =>
  queryOptions({
    queryKey: [KEY, webhookId, 'failed since', since],
    queryFn: () => redeliverFailed(webhookId, since, { dry_run: true }),
  })

export function deliveriesKey(webhookId: string, status: StatusOfDelivery | undefined) {
  return [KEY, webhookId, 'deliveries', { status }] as const
}

export function loadDeliveries(webhookId: string, status: StatusOfDelivery | undefined, cursor: string | undefined) {
  const query = { limit: PAGE, ...(status !== undefined && { status }), ...(cursor !== undefined && { cursor }) }
  return take(api.GET('/v1/webhooks/{id}/deliveries', { params: { path: { id: webhookId }, query } }))
}

/** @returns How many. */
export async function redeliverFailed(id: string, since: string, options: { dry_run?: boolean } = {}): Promise<number> {
  const body = { failed_since: since, ...options }
  return (await take(api.POST('/v1/webhooks/{id}/redeliver', { params: { path: { id } }, body }))).redelivered
}

/** What an endpoint can be changed in. */
export interface WebhookChanges {
  readonly url?: string
  /** null: all. */
  readonly events?: EventType[] | null
  readonly description?: string
  readonly status?: 'enabled' | 'disabled'
}

export async function changeWebhook(client: QueryClient, id: string, body: WebhookChanges): Promise<void> {
  await take(api.PATCH('/v1/webhooks/{id}', { params: { path: { id } }, body }))
  await renewWebhooks(client)
}

/** After a change. Resolves when what is seen is as it is now. */
export function renewWebhooks(client: QueryClient): Promise<void> {
  return client.invalidateQueries({ queryKey: [KEY] })
}

const MEANINGS: Readonly<Record<EventType, string>> = {
  'agent.started': 'An agent starts a run, also after a follow-up.',
  'agent.completed': 'An agent completed its run.',
  'agent.failed': 'An agent failed, or reached a limit.',
  'agent.cancelled': 'An agent was cancelled.',
  'usage.alert': 'The month’s spending reached an alert threshold.',
  'credit.exhausted': 'No credit left: completions are rejected until credit is added.',
  'budget.alert': 'A budget reached an alert threshold.',
  'ledger.audit': 'The weekly ledger audit found a difference. Only for the first account.',
  'provider.refused': 'A provider refused the gateway’s key or a model. Only for the first account.',
  'key.expiring': 'An API key expires in 7 days, or in one.',
  'webhook.test': 'A test event. Tests of this endpoint are always sent to it.',
}

export const EVENT_TYPES = Object.entries(MEANINGS).map(([value, description]) => ({
  value,
  label: value,
  description,
}))

export function isEventType(name: string): name is EventType {
  return Object.hasOwn(MEANINGS, name)
}

/** `All events`, `agent.failed`, `agent.failed and 2 more`. @param types null: all. */
export function eventsInWords(types: readonly string[] | null): string {
  if (types === null) return 'All events'
  const [first = 'None', ...others] = types
  return others.length === 0 ? first : `${first} and ${plural(others.length, 'more', 'more')}`
}
