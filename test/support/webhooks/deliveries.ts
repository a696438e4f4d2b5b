/** The delivery of webhooks on a test's own database: endpoints of one account, events, and workers that deliver them. */
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { OpenedDatabase } from '../../../src/db/database.ts'
import type { DeliveryTable, WebhookTable } from '../../../src/db/schema/schema.ts'
import type { AccountId, DeliveryId, EventId, WebhookId } from '../../../src/domain/ids.ts'
import { mintWebhookSecret } from '../../../src/domain/webhook-signature.ts'
import { createDeliverer, type DelivererInput } from '../../../src/features/webhooks/deliver/deliverer.ts'
import { DELIVER, deliveryJob, eventRecorder } from '../../../src/features/webhooks/events.ts'
import { webhookJobs } from '../../../src/features/webhooks/jobs.ts'
import { createWebhookSecrets } from '../../../src/features/webhooks/secrets.ts'
import type { JobKind } from '../../../src/jobs/job.ts'
import { enqueue } from '../../../src/jobs/queue.ts'
import { createJobRunner, type JobRunner, type JobRunnerOptions } from '../../../src/jobs/runner.ts'
import { temporaryDatabase, testIds } from '../database.ts'
import { timedDatabase } from '../timed-database.ts'

export const SECRETS = createWebhookSecrets({ current: Buffer.alloc(32, 'secrets of tests') })

export interface Endpoint {
  readonly accountId: AccountId
  readonly id: WebhookId
  readonly secret: string
}

export type WorkerOptions = Partial<DelivererInput> &
  Partial<Pick<JobRunnerOptions, 'owner' | 'pollMs' | 'leaseMs' | 'stopMs'>> & {
    readonly kind?: Partial<JobKind>
  }

export interface Worker {
  readonly runner: JobRunner
  /** What was logged, by message. */
  readonly warnings: readonly string[]
  readonly errors: readonly string[]
}

export interface DeliveryFixture {
  readonly database: OpenedDatabase
  readonly accountId: AccountId
  endpoint(url: string, over?: Partial<WebhookTable>): Promise<Endpoint>
  /** Of the type `webhook.test`, for one endpoint. */
  event(endpoint: Endpoint, createdAt?: number): Promise<EventId>
  /** Delivers until the test ends. */
  work(options?: WorkerOptions): Worker
  webhook(endpoint: Endpoint): Promise<WebhookTable>
  /** The oldest first. */
  deliveries(endpoint: Endpoint): Promise<readonly DeliveryTable[]>
  /** Those of the endpoint's only delivery. */
  attempts(endpoint: Endpoint): Promise<readonly LoggedAttempt[]>
  /** Resolves with the endpoint's only delivery when that has ended, or has been tried so often. */
  tried(endpoint: Endpoint, attempts: number): Promise<DeliveryTable>
  /** As the API does it. */
  redeliver(endpoint: Endpoint): Promise<void>
}

export interface LoggedAttempt {
  readonly number: number
  readonly started_at: number
  readonly status: number | null
  readonly error: string | null
  readonly response: string | null
}

export interface FixtureOptions {
  /** Unix milliseconds; the database's clock says the same. */
  readonly now?: () => number
  readonly place?: string
}

const recordings = new WeakMap<OpenedDatabase, number>()

export async function openDeliveryFixture(
  t: TestContext,
  { now, place }: FixtureOptions = {},
): Promise<DeliveryFixture> {
  const opened = await temporaryDatabase(t, place)
  const database = now === undefined ? opened : timedDatabase(opened, now)
  const { db } = database
  const time = now ?? Date.now
  const accountId = testIds.account()
  await db
    .insertInto('account')
    .values({ id: accountId, name: 'Test', plan: 'free', created_at: 1, changed_at: 1 })
    .execute()
  const recordEvent = eventRecorder({ now: time, ids: testIds })
  const deliveries = (endpoint: Endpoint) =>
    db.selectFrom('delivery').selectAll().where('webhook_id', '=', endpoint.id).orderBy('id').execute()
  const only = async (endpoint: Endpoint): Promise<DeliveryTable> => {
    const [delivery, ...others] = await deliveries(endpoint)
    if (delivery === undefined || others.length > 0) throw new Error('The endpoint has not just one delivery.')
    return delivery
  }
  return {
    database,
    accountId,
    endpoint: (url, over) => insertEndpoint(database, { accountId, url, over }),
    event: (endpoint, createdAt) =>
      db.transaction().execute((inside) => {
        const data = { webhook_id: endpoint.id, message: 'This is a test.' }
        return recordEvent(inside, { accountId, type: 'webhook.test', data, only: endpoint.id, createdAt })
      }),
    work: (options = {}) => startWorker(t, { database, now: time, options }),
    webhook: ({ id }) => db.selectFrom('webhook').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    deliveries,
    async attempts(endpoint) {
      const { id } = await only(endpoint)
      const columns = ['number', 'started_at', 'status', 'error', 'response'] as const
      return db.selectFrom('delivery_attempt').select(columns).where('delivery_id', '=', id).orderBy('number').execute()
    },
    tried: (endpoint, attempts) =>
      until(async () => {
        const delivery = await only(endpoint)
        return (delivery.status !== 'pending' || delivery.attempts >= attempts) && delivery
      }),
    redeliver: async (endpoint) => sendAnew(database, await only(endpoint), time()),
  }
}

async function insertEndpoint(
  { db }: OpenedDatabase,
  { accountId, url, over }: { accountId: AccountId; url: string; over?: Partial<WebhookTable> | undefined },
): Promise<Endpoint> {
  const [id, secret] = [testIds.webhook(), mintWebhookSecret(randomBytes)]
  const nothing = { events: null, previous_secret: null, previous_until: null, failing_since: null }
  const own = {
    account_id: accountId,
    id,
    kind: 'webhook' as const,
    url,
    description: '',
    secret: SECRETS.seal(secret, id),
    created_at: 1,
  }
  await db
    .insertInto('webhook')
    .values({ ...own, ...nothing, disabled_at: null, disabled_reason: null, ...over })
    .execute()
  return { accountId, id, secret }
}

async function sendAnew({ db }: OpenedDatabase, row: DeliveryTable, now: number): Promise<void> {
  const round = row.round + 1
  await db.transaction().execute(async (inside) => {
    await inside
      .updateTable('delivery')
      .set({ status: 'pending', round, ended_at: null, next_attempt_at: now })
      .where('id', '=', row.id)
      .execute()
    const payload = { accountId: row.account_id, webhookId: row.webhook_id, deliveryId: row.id as DeliveryId }
    await enqueue(inside, deliveryJob(payload, round), testIds)
  })
}

interface WorkerInput {
  readonly database: OpenedDatabase
  readonly now: () => number
  readonly options: WorkerOptions
}

function startWorker(t: TestContext, { database, now, options }: WorkerInput): Worker {
  const { db, batch } = database
  const [warnings, errors]: [string[], string[]] = [[], []]
  const log = {
    warn: (_fields: object, message: string) => void warnings.push(message),
    error: (_fields: object, message: string) => void errors.push(message),
  }
  const { kind: over, owner, pollMs = 20, leaseMs, stopMs, ...rest } = options
  const clock = (): number => performance.now()
  const usual = { db, batch, secrets: SECRETS, version: '1.2.3', now, clock, random: Math.random, log }
  // The machine of a test may be busier than any receiver may be slow.
  const times = { failingAttemptMs: 0, deadlineMs: 120_000 }
  const deliverer = createDeliverer({ ...usual, ...times, allowPrivateNetworks: () => true, ...rest })
  const recordEvent = eventRecorder({ now, ids: testIds })
  const { [DELIVER]: kind } = webhookJobs({ db, now, recordEvent, deliverer, writeDueAlerts: async () => undefined })
  if (kind === undefined) throw new Error('There is no kind of job that delivers.')
  const serial = (recordings.get(database) ?? 0) + 1
  recordings.set(database, serial)
  const runner = createJobRunner({
    ...{ db, ids: testIds, owner: owner ?? `worker ${serial}`, log, clock, pollMs },
    kinds: { [DELIVER]: { ...kind, ...over } },
    ...(leaseMs === undefined ? {} : { leaseMs }),
    ...(stopMs === undefined ? {} : { stopMs }),
  })
  t.after(async () => {
    await runner.stop()
    await deliverer.close()
  })
  runner.start()
  return { runner, warnings, errors }
}

/** What `look` gives, as soon as it gives something. */
export async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (let looks = 0; looks < 3_000; looks++) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('It did not come.')
}
