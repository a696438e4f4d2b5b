/** Composes payments, which are disabled without a Stripe key. */
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.ts'
import type { OpenedDatabase } from '../db/database.ts'
import { auditWriter } from '../features/audit/log.ts'
import type { ListDeps, WriteAudit } from '../features/deps.ts'
import { paymentJobs } from '../features/payments/recharge.ts'
import { billingRoutes } from '../features/payments/routes.ts'
import { type EntryPort, stripeWebhookRoute } from '../features/payments/settle.ts'
import { connectStripe } from '../features/payments/stripe.ts'
import type { JobKind } from '../jobs/job.ts'
import type { Log } from '../telemetry/log.ts'
import type { Runtime } from './runtime.ts'

interface PaymentsInput {
  readonly runtime: Runtime
  readonly database: Pick<OpenedDatabase, 'db'>
  readonly config: Config
  readonly log: Log
  /** Looked up when credit is entered, because the ledger is composed after its jobs. */
  readonly credit: () => EntryPort
}

export interface Payments {
  readonly jobs: Readonly<Record<string, JobKind>>
  /** Adds the route outside of `/v1` that Stripe calls. */
  addWebhookRoute(server: FastifyInstance): Promise<void>
  /** Adds the routes below `/v1`. */
  addApiRoutes(app: FastifyInstance, deps: ListDeps & { readonly writeAudit: WriteAudit }): Promise<void>
}

export function createPayments({ runtime, database, config, log, credit }: PaymentsInput): Payments {
  const { now, ids } = runtime
  const { secret_key, webhook_secret, api_url } = config.stripe
  const isOn = secret_key !== undefined && webhook_secret !== undefined
  const stripe = isOn ? connectStripe({ secret_key, webhook_secret, ...(api_url && { api_url }) }) : undefined
  const deps = stripe && {
    db: database.db,
    now,
    ids,
    credit: { enter: (...entry: Parameters<EntryPort['enter']>) => credit().enter(...entry) },
    writeAudit: auditWriter({ now, ids }),
    stripe,
    log,
  }
  return {
    jobs: deps === undefined ? {} : paymentJobs(deps),
    async addWebhookRoute(server) {
      if (deps !== undefined) await server.register(stripeWebhookRoute(deps))
    },
    async addApiRoutes(app, api) {
      await app.register(billingRoutes({ ...api, stripe, publicUrl: config.server.public_url }))
    },
  }
}
