/** Set-up of the webhook bench: accounts, endpoints of a receiver, a worker, and backlogs of events. */
import { randomBytes } from 'node:crypto'
import type { OpenedDatabase, OpenOptions } from '../src/db/database.ts'
import { migrate } from '../src/db/migrate.ts'
import { openDatabase } from '../src/db/open.ts'
import { type AccountId, createIdSource, type WebhookId } from '../src/domain/ids.ts'
import { mintWebhookSecret } from '../src/domain/webhook-signature.ts'
import type { RecordEvent } from '../src/features/deps.ts'
import { createDeliverer } from '../src/features/webhooks/deliver/deliverer.ts'
import { deliveryJob, eventRecorder } from '../src/features/webhooks/events.ts'
import { webhookJobs } from '../src/features/webhooks/jobs.ts'
import { createWebhookSecrets } from '../src/features/webhooks/secrets.ts'
import { enqueueAll } from '../src/jobs/queue.ts'
import { createJobRunner, type JobRunner } from '../src/jobs/runner.ts'
import { start } from './processes.ts'

export const ACCOUNTS = 5
/** Per account. */
export const ENDPOINTS = 20
const INSERTED_AT_ONCE = 500

const ids = createIdSource(Date.now, randomBytes)
const secrets = createWebhookSecrets({ current: randomBytes(32) })

export interface Stage {
  readonly name: string
  readonly database: OpenedDatabase
  readonly runner: JobRunner
  readonly recordEvent: RecordEvent
  readonly accounts: readonly AccountId[]
  /** Returns the delays of the events that arrived since the last call, milliseconds. */
  readonly arrived: () => Promise<readonly number[]>
}

export interface Opened {
  readonly stage: Stage
  close(): Promise<void>
}

export async function openStage(name: string, options: OpenOptions): Promise<Opened> {
  const database = await openDatabase(options)
  const { db, batch } = database
  await migrate(db, Date.now)
  const receiver = await start('webhook-receiver.ts')
  const url = `http://127.0.0.1:${receiver.port}/`
  const clock = (): number => performance.now()
  const log = { warn: () => undefined, error: console.error }
  const usual = { db, batch, secrets, version: 'bench', now: Date.now, clock, random: Math.random, log }
  const deliverer = createDeliverer({ ...usual, allowPrivateNetworks: () => true })
  const recordEvent = eventRecorder({ now: Date.now, ids })
  const kinds = webhookJobs({ db, now: Date.now, recordEvent, deliverer, writeDueAlerts: async () => undefined })
  const runner = createJobRunner({ db, ids, owner: 'bench', log, clock, kinds })
  runner.start()
  const accounts: AccountId[] = []
  for (let each = 0; each < ACCOUNTS; each++) accounts.push(await addAccount(database))
  for (const accountId of accounts) {
    for (let each = 0; each < ENDPOINTS; each++) await addEndpoint(database, accountId, url)
  }
  const arrived = async (): Promise<readonly number[]> => {
    const { delaysMs } = (await (await fetch(url)).json()) as { readonly delaysMs: readonly number[] } // as it says
    return delaysMs
  }
  return {
    stage: { name, database, runner, recordEvent, accounts, arrived },
    async close() {
      await runner.stop()
      await deliverer.close()
      await database.close()
      receiver.stop()
    },
  }
}

export async function addAccount({ db }: OpenedDatabase): Promise<AccountId> {
  const id = ids.account()
  await db.insertInto('account').values({ id, name: id, plan: 'free', created_at: 1, changed_at: 1 }).execute()
  return id
}

export async function addEndpoint({ db }: OpenedDatabase, accountId: AccountId, url: string): Promise<WebhookId> {
  const id = ids.webhook()
  const secret = secrets.seal(mintWebhookSecret(randomBytes), id)
  const nothing = { previous_secret: null, previous_until: null, failing_since: null }
  const events = '["webhook.test"]'
  const state = { disabled_at: null, disabled_reason: null, created_at: 1 }
  await db
    .insertInto('webhook')
    .values({ account_id: accountId, id, kind: 'webhook', url, description: '', secret, events, ...nothing, ...state })
    .execute()
  return id
}

export const DATA = { webhook_id: 'whk_00000000exampleexample', message: 'x'.repeat(500) }

export interface Crowd {
  readonly accountId: AccountId
  readonly webhookId: WebhookId
  readonly count: number
}

export async function crowd({ db }: OpenedDatabase, { accountId, webhookId, count }: Crowd): Promise<number> {
  for (let done = 0; done < count; done += INSERTED_AT_ONCE) {
    const size = Math.min(INSERTED_AT_ONCE, count - done)
    const now = Date.now()
    const all = Array.from({ length: size }, () => ({ eventId: ids.event(), deliveryId: ids.delivery() }))
    const own = { account_id: accountId, created_at: now }
    const state = { status: 'pending' as const, round: 1, attempts: 0, next_attempt_at: now }
    await db.transaction().execute(async (inside) => {
      const type = 'webhook.test' as const
      const data = JSON.stringify(DATA)
      await inside
        .insertInto('event')
        .values(all.map(({ eventId: id }) => ({ ...own, id, type, data })))
        .execute()
      const deliveries = all.map(({ eventId: event_id, deliveryId: id }) => ({
        ...own,
        ...state,
        id,
        event_id,
        webhook_id: webhookId,
      }))
      await inside.insertInto('delivery').values(deliveries).execute()
      const jobs = all.map(({ deliveryId }) => deliveryJob({ accountId, webhookId, deliveryId }, 1))
      await enqueueAll(inside, jobs, ids)
    })
  }
  return count
}
