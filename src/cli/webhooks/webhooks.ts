/** `turnpike webhooks`: manages endpoints, lists and resends deliveries, and sends test events. */
import { type Json, textOf } from '../../lib/json.ts'
import { wrongUsage } from '../option-values.ts'
import { grouped, itemsOf, jsonLine, note, plainLine, plainTable, print, recordOf, timeText } from '../output.ts'
import { type Client, clientOf, RefusedError } from '../remote/client.ts'
import type { RemoteOptions } from '../remote/target.ts'

export interface CreateOptions extends RemoteOptions {
  readonly events?: readonly string[]
  readonly description?: string
}

export interface DeliveriesOptions extends RemoteOptions {
  readonly status?: string
  readonly limit?: number
  readonly cursor?: string
}

/** Prints the secret, which is shown only once, to standard output and nothing else. */
export async function webhooksCreate(url: string, options: CreateOptions): Promise<void> {
  const { events, description, json } = options
  const optional = {
    ...(events === undefined ? {} : { events }),
    ...(description === undefined ? {} : { description }),
  }
  const made = recordOf(await (await clientOf(options)).send('POST', '/webhooks', { url, ...optional }))
  if (json === true) return print(jsonLine(made))
  await print(`${plainLine(textOf(made['secret']))}\n`)
  note(`Endpoint ${textOf(made['id'])} receives ${eventsText(made['events'])} at ${textOf(made['url'])}.`)
  note('The line above is its secret, which is shown only once.')
}

export async function webhooksList(options: RemoteOptions): Promise<void> {
  const page = await listWebhooks(await clientOf(options))
  if (options.json === true) return print(jsonLine(page))
  const rows = itemsOf(page).map((webhook) => [
    textOf(webhook['id']),
    textOf(webhook['url']),
    listText(webhook['events'], 'all'),
    stateOf(webhook),
    timeText(webhook['created_at']),
    textOf(webhook['description']),
  ])
  await print(plainTable(['ID', 'URL', 'EVENTS', 'STATE', 'CREATED', 'DESCRIPTION'], rows))
}

export async function webhooksDelete(id: string, options: RemoteOptions): Promise<void> {
  await (await clientOf(options)).send('DELETE', `/webhooks/${id}`)
  await print(options.json === true ? jsonLine({ id, object: 'webhook', deleted: true }) : `Deleted ${id}.\n`)
}

export async function webhooksDeliveries(id: string, options: DeliveriesOptions): Promise<void> {
  const { status, limit, cursor, json } = options
  const query = new URLSearchParams()
  if (status !== undefined) query.set('status', status)
  if (limit !== undefined) query.set('limit', String(limit))
  if (cursor !== undefined) query.set('cursor', cursor)
  const client = await clientOf(options)
  const page = await client.get(`/webhooks/${id}/deliveries${query.size === 0 ? '' : `?${query}`}`)
  if (json === true) return print(jsonLine(page))
  await print(
    plainTable(
      ['ID', 'EVENT', 'TYPE', 'STATUS', 'ATTEMPTS', 'LAST', 'CREATED', 'NEXT'],
      itemsOf(page).map(deliveryRow),
    ),
  )
  const next = textOf(recordOf(page)['next_cursor'])
  if (next !== '') note(`More deliveries: pass --cursor ${next}`)
}

/** Standard output gets the event's id and nothing else. */
export async function webhooksTrigger(type: string, options: RemoteOptions): Promise<void> {
  const event = recordOf(await (await clientOf(options)).send('POST', '/events/trigger', { type }))
  if (options.json === true) return print(jsonLine(event))
  await print(`${plainLine(textOf(event['id']))}\n`)
}

/** An account has fewer endpoints than a page holds. */
export function listWebhooks(client: Client): Promise<unknown> {
  return client.get('/webhooks?limit=100')
}

function deliveryRow(delivery: Json): readonly string[] {
  const attempts: readonly unknown[] = Array.isArray(delivery['attempts']) ? delivery['attempts'] : []
  const last = recordOf(attempts.at(-1))
  const answered = typeof last['status_code'] === 'number' ? String(last['status_code']) : ''
  return [
    textOf(delivery['id']),
    textOf(delivery['event_id']),
    textOf(delivery['type']),
    textOf(delivery['status']),
    String(attempts.length),
    textOf(delivery['error']) || textOf(last['error']) || answered || '-',
    timeText(delivery['created_at']),
    timeText(delivery['next_attempt_at']),
  ]
}

function stateOf(webhook: Json): string {
  const failing = textOf(webhook['failing_since'])
  if (webhook['status'] === 'enabled') return failing === '' ? 'enabled' : `failing since ${timeText(failing)}`
  return `disabled: ${textOf(webhook['disabled_reason']).replaceAll('_', ' ')}`
}

function eventsText(events: unknown): string {
  return Array.isArray(events) ? listText(events, '') : 'all events'
}

function listText(value: unknown, otherwise: string): string {
  return Array.isArray(value) ? value.map(textOf).join(', ') : otherwise
}

export interface ResendOptions extends RemoteOptions {
  readonly webhook?: string
  /** Unix milliseconds. */
  readonly failedSince?: number
}

export async function webhooksResend(delivery: string | undefined, options: ResendOptions): Promise<void> {
  const { webhook, failedSince } = options
  if (delivery !== undefined && failedSince !== undefined) {
    throw wrongUsage('a delivery and --failed-since exclude each other.')
  }
  if (delivery !== undefined) return resendOne(delivery, options)
  if (webhook === undefined || failedSince === undefined) {
    throw wrongUsage('pass a delivery, or --webhook and --failed-since.')
  }
  await resendFailed({ webhook, failedSince }, options)
}

async function resendOne(delivery: string, { webhook, json, ...target }: ResendOptions): Promise<void> {
  const client = await clientOf(target)
  const owner = webhook ?? (await webhookOf(client, delivery))
  const answer = recordOf(await client.send('POST', `/webhooks/${owner}/deliveries/${delivery}/redeliver`))
  if (json === true) return print(jsonLine(answer))
  await print(`Delivery ${delivery} of ${plainLine(textOf(answer['event_id']))} is queued again for ${owner}.\n`)
}

/** Finds the endpoint of a delivery. The API has no other way; an account has few endpoints. */
async function webhookOf(client: Client, delivery: string): Promise<string> {
  for (const { id } of itemsOf(await listWebhooks(client))) {
    const webhook = encodeURIComponent(textOf(id))
    if (await exists(client, `/webhooks/${webhook}/deliveries/${delivery}`)) return webhook
  }
  throw new Error(`Delivery ${delivery} does not exist in this account. Deliveries are deleted after 30 days.`)
}

async function exists(client: Client, path: string): Promise<boolean> {
  try {
    await client.get(path)
    return true
  } catch (error) {
    if (error instanceof RefusedError && error.status === 404) return false
    throw error
  }
}

/** The most that a server resends with one request. */
const MOST_AT_ONCE = 10_000

interface Failed {
  readonly webhook: string
  readonly failedSince: number
}

async function resendFailed({ webhook, failedSince }: Failed, options: ResendOptions): Promise<void> {
  const client = await clientOf(options)
  const since = new Date(failedSince).toISOString()
  const answer = recordOf(await client.send('POST', `/webhooks/${webhook}/redeliver`, { failed_since: since }))
  if (options.json === true) return print(jsonLine(answer))
  const count = typeof answer['redelivered'] === 'number' ? answer['redelivered'] : 0
  await print(`${grouped(count)} ${count === 1 ? 'delivery is' : 'deliveries are'} queued again for ${webhook}.\n`)
  if (count >= MOST_AT_ONCE) note('There may be more: run the command again.')
}
