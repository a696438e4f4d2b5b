/** `turnpike webhooks`: the account's endpoints, what was delivered to them, and events to try them with. */
import { isRecord, type Json, textOf } from '../lib/json.ts'
import { textTable } from '../lib/text-table.ts'
import { type Client, createClient } from './remote/client.ts'
import { jsonLine, plainLine } from './remote/plain-text.ts'
import { chooseTarget, type TargetOptions } from './remote/target.ts'

export interface WebhooksOptions extends TargetOptions {
  readonly json?: boolean
}

export interface CreateOptions extends WebhooksOptions {
  readonly events?: readonly string[]
  readonly description?: string
}

export interface DeliveriesOptions extends WebhooksOptions {
  readonly status?: string
  readonly limit?: number
  readonly cursor?: string
}

/** Standard output gets the secret, which is not to be had again, and nothing else. */
export async function webhooksCreate(url: string, options: CreateOptions): Promise<void> {
  const { events, description, json } = options
  const optional = {
    ...(events === undefined ? {} : { events }),
    ...(description === undefined ? {} : { description }),
  }
  const made = recordOf(await (await clientOf(options)).send('POST', '/webhooks', { url, ...optional }))
  if (json === true) return print(jsonLine(made))
  print(`${plainLine(textOf(made['secret']))}\n`)
  note(`${textOf(made['id'])} gets ${eventsText(made['events'])} at ${textOf(made['url'])}.`)
  note('The line above is its secret. It is not shown again.')
}

export async function webhooksList(options: WebhooksOptions): Promise<void> {
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
  print(table(['ID', 'URL', 'EVENTS', 'STATE', 'CREATED', 'DESCRIPTION'], rows))
}

export async function webhooksDelete(id: string, options: WebhooksOptions): Promise<void> {
  await (await clientOf(options)).send('DELETE', `/webhooks/${id}`)
  print(options.json === true ? jsonLine({ id, object: 'webhook', deleted: true }) : `Deleted ${id}.\n`)
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
  print(table(['ID', 'EVENT', 'TYPE', 'STATUS', 'ATTEMPTS', 'LAST', 'CREATED', 'NEXT'], itemsOf(page).map(deliveryRow)))
  const next = textOf(recordOf(page)['next_cursor'])
  if (next !== '') note(`There are more: --cursor ${next}`)
}

/** Standard output gets the event's id and nothing else. */
export async function webhooksTrigger(type: string, options: WebhooksOptions): Promise<void> {
  const event = recordOf(await (await clientOf(options)).send('POST', '/events/trigger', { type }))
  if (options.json === true) return print(jsonLine(event))
  print(`${plainLine(textOf(event['id']))}\n`)
}

/** There are never more than fit in a page. */
export function listWebhooks(client: Client): Promise<unknown> {
  return client.get('/webhooks?limit=100')
}

export async function clientOf(options: TargetOptions): Promise<Client> {
  return createClient(await chooseTarget(options))
}

export function recordOf(answer: unknown): Json {
  return isRecord(answer) ? answer : {}
}

export function itemsOf(page: unknown): readonly Json[] {
  const { data } = recordOf(page)
  return Array.isArray(data) ? data.filter(isRecord) : []
}

export function print(text: string): void {
  process.stdout.write(text)
}

export function note(text: string): void {
  process.stderr.write(`${plainLine(text)}\n`)
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

function timeText(value: unknown): string {
  return textOf(value).slice(0, 16).replace('T', ' ') || '-'
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return textTable(
    header,
    rows.map((row) => row.map(plainLine)),
  )
}
