/** `turnpike webhooks resend`: one delivery again, or all of an endpoint that failed since a time. */
import { textOf } from '../lib/json.ts'
import { type Client, RefusedError } from './remote/client.ts'
import { jsonLine, plainLine } from './remote/plain-text.ts'
import type { WebhooksOptions } from './webhooks.ts'
import { clientOf, itemsOf, listWebhooks, note, print, recordOf } from './webhooks.ts'
import { wrongUsage } from './wrong-usage.ts'

export interface ResendOptions extends WebhooksOptions {
  readonly webhook?: string
  /** Unix milliseconds. */
  readonly failedSince?: number
}

export async function webhooksResend(delivery: string | undefined, options: ResendOptions): Promise<void> {
  const { webhook, failedSince } = options
  if (delivery !== undefined && failedSince !== undefined) {
    throw wrongUsage('either one delivery is sent again, or all of an endpoint with --failed-since.')
  }
  if (delivery !== undefined) return resendOne(delivery, options)
  if (webhook === undefined || failedSince === undefined) {
    throw wrongUsage('name a delivery, or an endpoint with --webhook and --failed-since.')
  }
  await resendFailed({ webhook, failedSince }, options)
}

async function resendOne(delivery: string, { webhook, json, ...target }: ResendOptions): Promise<void> {
  const client = await clientOf(target)
  const owner = webhook ?? (await webhookOf(client, delivery))
  const answer = recordOf(await client.send('POST', `/webhooks/${owner}/deliveries/${delivery}/redeliver`))
  if (json === true) return print(jsonLine(answer))
  print(`${delivery} is sent to ${owner} again: ${plainLine(textOf(answer['event_id']))}.\n`)
}

/** Deliveries are asked for by endpoint; there are few of these. */
async function webhookOf(client: Client, delivery: string): Promise<string> {
  for (const { id } of itemsOf(await listWebhooks(client))) {
    const webhook = encodeURIComponent(textOf(id))
    if (await exists(client, `/webhooks/${webhook}/deliveries/${delivery}`)) return webhook
  }
  throw new Error(`No endpoint of this account has a delivery ${delivery}. They are kept for 30 days.`)
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

/** A server takes no more with one request. */
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
  print(`${count} ${count === 1 ? 'delivery is' : 'deliveries are'} sent to ${webhook} again.\n`)
  if (count >= MOST_AT_ONCE) note('There may be more: run it again.')
}
