/** Endpoints in every state, with deliveries and attempts of the last days, written to the database: what pages look at. */
import { randomBytes } from 'node:crypto'
import type { OpenedDatabase } from '../../../src/db/database.ts'
import type { DeliveryAttemptTable, DeliveryTable, EventTable, WebhookTable } from '../../../src/db/schema/schema.ts'
import { type AccountId, createIdSource, type IdSource, type WebhookId } from '../../../src/domain/ids.ts'
import { exampleWebhookEvent, type WebhookEventType } from '../../../src/domain/webhook-event.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const TYPES: readonly WebhookEventType[] = [
  'agent.completed',
  'agent.started',
  'agent.completed',
  'agent.started',
  'agent.failed',
  'usage.alert',
]

export interface LoggedEndpoints {
  /** Forty deliveries, of which two failed and one waits for its next attempt. */
  readonly busy: WebhookId
  /** Every attempt of the last hours failed. */
  readonly failing: WebhookId
  readonly disabled: WebhookId
  readonly gone: WebhookId
}

export async function logWebhooks({ db }: OpenedDatabase, accountId: AccountId): Promise<LoggedEndpoints> {
  const now = Date.now()
  const add = async (ageMs: number, row: Partial<WebhookTable> & { readonly url: string }): Promise<WebhookId> => {
    const id = idsOf(now - ageMs).webhook()
    const nothing = { events: null, description: '', previous_secret: null, previous_until: null }
    const well = { failing_since: null, disabled_at: null, disabled_reason: null }
    const own = {
      account_id: accountId,
      id,
      kind: 'webhook' as const,
      secret: randomBytes(32),
      created_at: now - ageMs,
    }
    await db
      .insertInto('webhook')
      .values({ ...own, ...nothing, ...well, ...row })
      .execute()
    return id
  }
  const alerts = JSON.stringify(['usage.alert', 'credit.exhausted'])
  const since = now - 3 * HOUR_MS
  const old = { failing_since: now - 6 * DAY_MS, disabled_at: now - 20 * HOUR_MS } as const
  const gone = await add(40 * DAY_MS, {
    url: 'https://retired.acme.example/hook',
    disabled_at: now - 2 * HOUR_MS,
    disabled_reason: 'gone',
  })
  const disabled = await add(30 * DAY_MS, {
    url: 'https://staging.acme.example/turnpike',
    description: 'Staging',
    disabled_reason: 'failing',
    ...old,
  })
  const failing = await add(20 * DAY_MS, {
    url: 'https://ops.acme.example:8443/alerts/credit?team=platform&environment=production&notify=on-call',
    events: alerts,
    failing_since: since,
  })
  const busy = await add(10 * DAY_MS, { url: 'https://hooks.acme.example/turnpike', description: 'Agents to chat' })
  await logDeliveries(db, { accountId, webhookId: busy, now })
  await logDelivery(db, { accountId, webhookId: failing, type: 'usage.alert', at: since, result: 'pending' })
  return { busy, failing, disabled, gone }
}

interface Log {
  readonly accountId: AccountId
  readonly webhookId: WebhookId
  readonly now: number
}

async function logDeliveries(db: OpenedDatabase['db'], { now, ...endpoint }: Log): Promise<void> {
  const failed = new Set([31, 36])
  for (let index = 0; index < 40; index++) {
    const ended = failed.has(index) ? 'failed' : 'delivered'
    const type = TYPES[index % TYPES.length] ?? 'agent.completed'
    const at = now - (2 + index * 31) * MINUTE_MS
    await logDelivery(db, { ...endpoint, type, at, result: index === 0 ? 'pending' : ended })
  }
}

export interface LoggedDelivery extends Omit<Log, 'now'> {
  readonly type: WebhookEventType
  /** Unix milliseconds. */
  readonly at: number
  readonly result: DeliveryTable['status']
}

async function logDelivery(db: OpenedDatabase['db'], logged: LoggedDelivery): Promise<void> {
  const { accountId, webhookId, type, at, result } = logged
  const ids = idsOf(at)
  const [eventId, id] = [ids.event(), ids.delivery()]
  const { data } = exampleWebhookEvent(type, { eventId, createdAt: at, accountId, webhookId })
  const event: EventTable = { account_id: accountId, id: eventId, type, data: JSON.stringify(data), created_at: at }
  const attempts = attemptsOf(logged)
  const last = attempts.at(-1)
  const isOver = result !== 'pending'
  const delivery: DeliveryTable = {
    ...{ account_id: accountId, webhook_id: webhookId, id, event_id: eventId, status: result, round: 1 },
    ...{ attempts: attempts.length, error: last?.error ?? null, created_at: at },
    next_attempt_at: isOver ? null : Date.now() + 28 * MINUTE_MS,
    ended_at: isOver && last !== undefined ? last.started_at + last.duration_ms : null,
  }
  await db.insertInto('event').values(event).execute()
  await db.insertInto('delivery').values(delivery).execute()
  await db
    .insertInto('delivery_attempt')
    .values(attempts.map((attempt) => ({ ...attempt, account_id: accountId, delivery_id: id })))
    .execute()
}

type Attempt = Omit<DeliveryAttemptTable, 'account_id' | 'delivery_id'>

const DELAYS_MS = [0, MINUTE_MS, 6 * MINUTE_MS, 36 * MINUTE_MS, 156 * MINUTE_MS, 876 * MINUTE_MS]

function attemptsOf({ at, result }: LoggedDelivery): readonly Attempt[] {
  const good = { number: 1, started_at: at, duration_ms: 84, status: 200, error: null, response: '{"ok":true}' }
  if (result === 'delivered') return [good]
  const page = '<html>\n<head><title>502 Bad Gateway</title></head>\n<body><h1>502 Bad Gateway</h1></body>\n</html>\n'
  const bad = { status: 502, error: 'status 502', response: page }
  const late = { status: null, error: 'timeout', response: null }
  const count = result === 'failed' ? DELAYS_MS.length : 2
  return DELAYS_MS.slice(0, count).map((delayMs, index) => ({
    number: index + 1,
    started_at: at + delayMs,
    duration_ms: index % 3 === 1 ? 10_000 : 112 + index,
    ...(index % 3 === 1 ? late : bad),
  }))
}

function idsOf(ms: number): IdSource {
  return createIdSource(() => ms, randomBytes)
}
