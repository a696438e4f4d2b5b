/**
 * Composes money: holds and settlements through the group commit, the spool, the lease of this process, idempotency
 * keys, accounts' credit, and payments. Starts and stops them in order, with the background work in between.
 */

import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema.ts'
import type { OpenedDatabase } from '../db/database.ts'
import type { CreditPort, RunningEstimate } from '../domain/credit.ts'
import type { InstanceId } from '../domain/ids.ts'
import { parseNanoUsd } from '../domain/money.ts'
import { auditWriter } from '../features/audit/log.ts'
import { type CreditService, createAccountCredit } from '../features/credit/account-credit.ts'
import { type Committer, createCommitter } from '../features/credit/commit/committer.ts'
import { createLedgerStore } from '../features/credit/ledger/store.ts'
import { createCreditPort } from '../features/credit/port.ts'
import { recoverSpools } from '../features/credit/spool/recovery.ts'
import { openSpool } from '../features/credit/spool/spool.ts'
import { createHoldGuard, type HeldRequests } from '../features/credit/sweeper.ts'
import type { ListDeps, WriteAudit } from '../features/deps.ts'
import { OWN_ERRORS } from '../features/idempotency/begin.ts'
import { createIdempotency, type Idempotency } from '../features/idempotency/idempotency.ts'
import { paymentJobs } from '../features/payments/recharge.ts'
import { billingRoutes } from '../features/payments/routes.ts'
import { connectStripe, type EntryPort, stripeWebhookRoute } from '../features/payments/settle.ts'
import { createInstanceLease, createVitalsMonitor } from '../jobs/instance-lease.ts'
import type { JobKind } from '../jobs/job.ts'
import { clientApiOf } from '../protocols/client-apis.ts'
import type { Log } from '../telemetry/log.ts'
import { type BackgroundWorkInput, createBackgroundWork } from './background-work.ts'
import type { Runtime } from './runtime.ts'

/** The interval at which the cost of running requests is recorded. */
const ESTIMATES_EVERY_MS = 2_000

export interface Money {
  readonly credit: CreditPort
  readonly idempotency: Idempotency
  /** The ID of this process. */
  readonly instanceId: InstanceId
  readonly creditService: CreditService
  readonly committer: Pick<Committer, 'pending' | 'lagMs' | 'available'>
  /** Registers this process and starts the background work. Rejects if the database is unavailable. */
  start(running: Running): Promise<void>
  /** Sets the address at which other processes reach this one. Undefined if there is none. */
  moveTo(address: string | undefined): void
  /** Looks for waiting jobs now if this process runs any. */
  wake(): void
  /** Returns the processes with a valid lease, including this one. */
  processes(): number
  /** Returns the bytes of spool records that the ledger does not have yet. */
  spoolBytes(): number
  /** Resolves when all settlements are on disk, for a process that exits without draining. */
  rescue(): Promise<void>
  /** Commits the queue. Rejects if that fails, in which case the spool has its content. */
  close(): Promise<void>
}

/** Requests in flight. */
export interface Running extends HeldRequests {
  /** The number of requests in flight. */
  readonly active: number
  /** Returns their cost so far. */
  readonly estimates: () => readonly RunningEstimate[]
}

interface MoneyInput extends Pick<BackgroundWorkInput, 'runtime' | 'log' | 'role' | 'jobs'> {
  readonly database: OpenedDatabase
  readonly version: string
  readonly dataDirectory: string
}

export function createMoney(input: MoneyInput): Money {
  const { runtime, database, log, dataDirectory } = input
  const { db, batch } = database
  const { now, clock, termsOf: terms, config } = runtime
  const instanceId = runtime.ids.instance()
  const committer = createCommitter({ store: createLedgerStore(database), log, clock })
  const spool = openSpool({ dataDirectory, instanceId, log, clock })
  const keepStreamMs = () => config().streams.keep_ms
  const idempotency = createIdempotency({
    ...{ db, batch, instanceId, clock, now, log, keepStreamMs },
    errorFormatOf: (endpoint) => clientApiOf(endpoint) ?? OWN_ERRORS,
  })
  const exposureNanoUsd = () => parseNanoUsd(config().ledger.outage_exposure_usd) ?? 0n
  const { lease, vitals, serve } = createLease(input, instanceId)
  const { ensure: ensureLease, steady } = lease
  const recovery = { dataDirectory, instanceId, db, committer, steady, log }
  const work = createBackgroundWork({ ...input, recovery, committer, idempotency })
  let estimateTimer: NodeJS.Timeout | undefined
  return {
    credit: createCreditPort({ committer, spool, terms, instanceId, ensureLease, exposureNanoUsd, log }),
    idempotency,
    instanceId,
    creditService: createAccountCredit({ db, now, submit: committer.submit, termsOf: terms }),
    committer,
    rescue: spool.flush,
    spoolBytes: spool.bytes,
    processes: lease.processes,
    moveTo: (address) => void lease.moveTo(address),
    wake: work.wake,
    async start(requests) {
      serve(requests)
      await lease.start()
      idempotency.start()
      work.start()
      estimateTimer = setInterval(() => committer.estimates(requests.estimates()), ESTIMATES_EVERY_MS)
      void recoverSpools(recovery)
    },
    async close() {
      clearInterval(estimateTimer)
      vitals.close()
      await work.stop()
      await closeParts([idempotency, committer], [spool, lease])
    },
  }
}

/** The lease of this process, renewed with its vitals. Requests end when their holds may be swept. */
function createLease(input: MoneyInput, instanceId: InstanceId) {
  const { runtime, database, log, version, role } = input
  const { db } = database
  const { clock } = runtime
  let running: Running | undefined
  const vitals = createVitalsMonitor({ activeRequests: () => running?.active ?? 0, clock })
  const guard = createHoldGuard({ db, instanceId, requests: () => running, log })
  const process = { instanceId, version, role, address: undefined, report: vitals.read }
  const serve = (requests: Running): void => {
    running = requests
  }
  return { lease: createInstanceLease({ db, ...process, guard, clock, log }), vitals, serve }
}

/** Closes the groups one after the other, and all parts even if one of them fails. */
export async function closeParts(...groups: readonly (readonly { close(): Promise<void> }[])[]): Promise<void> {
  const ends: PromiseSettledResult<void>[] = []
  for (const parts of groups) ends.push(...(await Promise.allSettled(parts.map((part) => part.close()))))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/* Composes payments, which are disabled without a Stripe key. */

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
