/** Composes webhooks: the recording of events, their API, and the background work that delivers them. */
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.ts'
import { deriveKeys } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/database.ts'
import { alertEndedRaises } from '../features/credit/budgets/raises.ts'
import type { FeatureDeps, RecordEvent, WriteAudit } from '../features/deps.ts'
import { expiryAlertJobs } from '../features/keys/expiry-alerts.ts'
import { createDeliverer } from '../features/webhooks/deliver/deliverer.ts'
import { deletionJobs } from '../features/webhooks/endpoints.ts'
import { createPace, eventStreamRoute, eventsRoutes } from '../features/webhooks/event-routes.ts'
import { eventRecorder } from '../features/webhooks/events.ts'
import { webhookJobs } from '../features/webhooks/jobs.ts'
import type { MailRules } from '../features/webhooks/recipients.ts'
import { deliveryRoutes, webhooksRoutes } from '../features/webhooks/routes.ts'
import { createWebhookSecrets, resealJobs } from '../features/webhooks/secrets.ts'
import type { Authenticate } from '../http/caller.ts'
import { createEventStreams } from '../http/event-stream.ts'
import type { JobKind } from '../jobs/job.ts'
import type { Log } from '../telemetry/log.ts'
import type { Runtime } from './runtime.ts'

interface WebhooksInput {
  readonly runtime: Runtime
  readonly database: Pick<OpenedDatabase, 'db' | 'batch'>
  readonly log: Log
  readonly version: string
  readonly config: Config
  /** The secret of the installation. */
  readonly secret: Uint8Array
}

export interface Webhooks {
  readonly recordEvent: RecordEvent
  /** Background jobs by kind. */
  readonly jobs: Readonly<Record<string, JobKind>>
  /** Adds the routes below `/v1`. */
  addApiRoutes(app: FastifyInstance, deps: WebhooksApiDeps): Promise<void>
  /** Ends event streams. */
  drain(): void
  /** Call it after the background work has ended. */
  close(): Promise<void>
}

interface WebhooksApiDeps extends FeatureDeps {
  readonly cursorKey: Uint8Array
  readonly writeAudit: WriteAudit
  readonly authenticate: Authenticate
  /** Notifies the background work of a new job. */
  readonly wake: () => void
}

export function createWebhooks(input: WebhooksInput): Webhooks {
  const { runtime, database, log, version, config } = input
  const { db, batch } = database
  const { now, clock, ids } = runtime
  const recordEvent = eventRecorder({ now, ids })
  const secrets = createWebhookSecrets(deriveKeys(input, 'webhook secrets'))
  const allowPrivateNetworks = (): boolean => runtime.config().webhooks.allow_private_networks
  const mail = (): MailRules => {
    const { smtp, recipient_domains: recipientDomains } = runtime.config().alerts
    return { smtp, recipientDomains }
  }
  const publicUrl = config.server.public_url
  const sending = { db, batch, secrets, version, now, clock, random: Math.random, log, allowPrivateNetworks }
  const deliverer = createDeliverer({ ...sending, mail, publicUrl })
  const listeners = createEventStreams()
  const pace = createPace(clock)
  return {
    recordEvent,
    jobs: {
      ...webhookJobs({
        ...{ db, now, recordEvent, deliverer },
        writeDueAlerts: (signal) => alertEndedRaises({ db, now }, signal),
      }),
      ...deletionJobs({ db }),
      ...expiryAlertJobs({ db, now, recordEvent }),
      ...(config.secret_previous === undefined ? {} : resealJobs({ db, secrets })),
    },
    async addApiRoutes(app, deps) {
      const own = { ...deps, recordEvent, secrets, allowPrivateNetworks, mail, pace }
      await app.register(async (scope) => {
        // The new delivery is committed: send it without waiting for the next poll.
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
