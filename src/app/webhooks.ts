/** Webhooks put together: how events are recorded, their API, and the work in the background that delivers them. */
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.ts'
import { deriveKey } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/open.ts'
import type { FeatureDeps, RecordEvent, WriteAudit } from '../features/deps.ts'
import { clearJobs } from '../features/webhooks/clear.ts'
import { createDeliverer } from '../features/webhooks/deliver/deliverer.ts'
import { deliveryRoutes } from '../features/webhooks/delivery-routes.ts'
import { eventStreamRoute } from '../features/webhooks/event-stream.ts'
import { eventsRoutes } from '../features/webhooks/events-routes.ts'
import { webhookJobs } from '../features/webhooks/jobs.ts'
import { createPace } from '../features/webhooks/pace.ts'
import { eventRecorder } from '../features/webhooks/record-event.ts'
import { resealJobs } from '../features/webhooks/reseal.ts'
import { webhooksRoutes } from '../features/webhooks/routes.ts'
import { createWebhookSecrets, type WebhookSecrets } from '../features/webhooks/secrets.ts'
import type { Authenticate } from '../http/caller.ts'
import { createListeners } from '../http/listeners.ts'
import type { Log } from '../http/log.ts'
import type { JobKind } from '../jobs/job.ts'
import type { World } from './world.ts'

export interface WebhooksInput {
  readonly world: World
  readonly database: Pick<OpenedDatabase, 'db' | 'batch'>
  readonly log: Log
  readonly version: string
  readonly config: Config
  /** The installation's. */
  readonly secret: Uint8Array
}

export interface Webhooks {
  readonly recordEvent: RecordEvent
  /** Work in the background, by the names of its kinds. */
  readonly jobs: Readonly<Record<string, JobKind>>
  /** Below `/v1`. */
  addApiRoutes(app: FastifyInstance, deps: WebhooksApiDeps): Promise<void>
  /** Those who listen to events are to go elsewhere. */
  drain(): void
  /** When the work in the background has ended. */
  close(): Promise<void>
}

export interface WebhooksApiDeps extends FeatureDeps {
  readonly cursorKey: Uint8Array
  readonly writeAudit: WriteAudit
  readonly authenticate: Authenticate
  /** There is work in the background. */
  readonly wake: () => void
}

export function createWebhooks(input: WebhooksInput): Webhooks {
  const { world, database, log, version, config } = input
  const { db, batch } = database
  const { now, clock, ids } = world
  const recordEvent = eventRecorder({ now, ids })
  const secrets = secretsOf(input)
  const allowPrivateNetworks = (): boolean => world.config().webhooks.allow_private_networks
  const deliverer = createDeliverer({
    db,
    batch,
    secrets,
    version,
    now,
    clock,
    random: Math.random,
    log,
    allowPrivateNetworks,
  })
  const listeners = createListeners('the events of an account')
  const pace = createPace(clock)
  return {
    recordEvent,
    jobs: {
      ...webhookJobs({ db, now, recordEvent, deliverer }),
      ...clearJobs({ db }),
      ...(config.secret_previous === undefined ? {} : resealJobs({ db, secrets })),
    },
    async addApiRoutes(app, deps) {
      const own = { ...deps, recordEvent, secrets, allowPrivateNetworks, pace }
      await app.register(async (scope) => {
        // What is to be sent is sent at once: by now it is committed.
        scope.addHook('onResponse', async ({ method }) => {
          if (method !== 'GET') deps.wake()
        })
        await scope.register(webhooksRoutes(own))
        await scope.register(deliveryRoutes(own))
        await scope.register(eventsRoutes(own))
      })
      await app.register(eventStreamRoute({ ...deps, listeners, log }))
    },
    drain: listeners.endAll,
    async close() {
      listeners.endAll()
      await deliverer.close()
    },
  }
}

/** The key in use, and the one before it while the installation's secret is being changed. */
function secretsOf({ secret, config: { secret_previous: previous } }: WebhooksInput): WebhookSecrets {
  const purpose = 'webhook secrets'
  return createWebhookSecrets({
    current: deriveKey(secret, purpose),
    previous: previous === undefined ? undefined : deriveKey(Buffer.from(previous, 'utf8'), purpose),
  })
}
