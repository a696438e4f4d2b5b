/** Money put together: group commit, spool, leases, idempotency, and the background work that cleans up after the dead. */
import type { OpenedDatabase } from '../db/open.ts'
import type { CreditPort, RunningEstimate } from '../domain/credit.ts'
import type { InstanceId } from '../domain/ids.ts'
import { parseNanoUsd } from '../domain/money.ts'
import { type CreditDesk, createAccountCredit } from '../features/credit/account-credit.ts'
import { type Committer, createCommitter } from '../features/credit/committer.ts'
import { createCreditPort } from '../features/credit/credit-port.ts'
import { createHoldGuard, type HeldRequests } from '../features/credit/hold-guard.ts'
import { createInstanceLease, type InstanceLease } from '../features/credit/instance-lease.ts'
import { createLedgerStore } from '../features/credit/ledger-store.ts'
import { type RecoveryInput, recoverSpools } from '../features/credit/recovery.ts'
import { openSpool, type Spool } from '../features/credit/spool.ts'
import { sweepHolds } from '../features/credit/sweeper.ts'
import { createIdempotency, type Idempotency } from '../features/idempotency/idempotency.ts'
import { createVitalsMonitor } from '../features/instances/vitals.ts'
import { invoiceJobs } from '../features/invoices/jobs.ts'
import { membersJobs } from '../features/members/jobs.ts'
import { oauthJobs } from '../features/oauth/jobs.ts'
import { retentionJobs } from '../features/retention/jobs.ts'
import { sessionJobs } from '../features/sessions/jobs.ts'
import type { Log } from '../http/log.ts'
import { every, type JobKind } from '../jobs/job.ts'
import { createJobRunner } from '../jobs/runner.ts'
import type { World } from './world.ts'

/** How often it is written down what running requests have come to. */
const ESTIMATES_EVERY_MS = 2_000
const SWEEP_EVERY_MS = 10_000
/** The work of a process that died is taken over after this. */
const JOB_LEASE_MS = 15_000

export interface Money {
  readonly credit: CreditPort
  readonly idempotency: Idempotency
  /** Of this process. */
  readonly instanceId: InstanceId
  readonly desk: CreditDesk
  readonly committer: Pick<Committer, 'pending' | 'available'>
  /**
   * Makes this process known to the others and begins the background work. Rejects when the database is not available.
   */
  start(running: Running): Promise<void>
  /** Where others reach this process from now on; undefined: nowhere. */
  moveTo(address: string | undefined): void
  /** Work in the background may be waiting: looks now, in a process that does any. */
  wake(): void
  /** Processes that serve at the moment, this one among them. */
  processes(): number
  /** For a process that is about to end as it is: what was settled is on the disk when it resolves. */
  rescue(): Promise<void>
  /** Brings everything into the database that is not there yet. Rejects when it could not; the spool has it then. */
  close(): Promise<void>
}

/** Requests under way. */
export interface Running extends HeldRequests {
  /** How many. */
  readonly active: number
  /** What they have come to. */
  readonly estimates: () => readonly RunningEstimate[]
}

/** What of the work a process does: `api` answers requests, `worker` does the work in the background. */
export type Role = 'all' | 'api' | 'worker'

export interface MoneyInput {
  readonly world: World
  readonly database: OpenedDatabase
  readonly log: Log
  readonly version: string
  readonly role: Role
  readonly dataDirectory: string
  /** Work in the background beside that of money, by the names of its kinds. */
  readonly jobs: Readonly<Record<string, JobKind>>
}

export function createMoney(input: MoneyInput): Money {
  const { world, database, log, dataDirectory, version, role } = input
  const { db, batch } = database
  const { now, clock, termsOf } = world
  const instanceId = world.ids.instance()
  const committer = createCommitter({ store: createLedgerStore(database), log, clock })
  const spool = openSpool({ dataDirectory, instanceId, log, clock })
  const idempotency = createIdempotency({ db, batch, instanceId, clock, now, log, keepStreamMs: () => keepMs(world) })
  const exposureNanoUsd = () => parseNanoUsd(world.config().ledger.outage_exposure_usd) ?? 0n
  let running: Running | undefined
  const vitals = createVitalsMonitor({ activeRequests: () => running?.active ?? 0, clock })
  const guard = createHoldGuard({ db, instanceId, requests: () => running, log })
  const process = { instanceId, version, role, address: undefined, report: vitals.read }
  const lease = createInstanceLease({ db, ...process, guard, clock, log })
  const { ensure: ensureLease } = lease
  const parts: Parts = { input, instanceId, committer, spool, idempotency, lease, vitals }
  return {
    credit: createCreditPort({ committer, spool, terms: termsOf, instanceId, ensureLease, exposureNanoUsd, log }),
    idempotency,
    instanceId,
    desk: createAccountCredit({ db, now, submit: committer.submit, termsOf }),
    committer,
    rescue: spool.flush,
    ...createUpkeep(parts, (requests) => {
      running = requests
    }),
  }
}

interface Parts {
  readonly input: MoneyInput
  readonly instanceId: InstanceId
  readonly committer: Committer
  readonly spool: Spool
  readonly idempotency: Idempotency
  readonly lease: InstanceLease
  readonly vitals: { close(): void }
}

function createUpkeep(
  { input, instanceId, committer, spool, idempotency, lease, vitals }: Parts,
  serve: (requests: Running) => void,
): Pick<Money, 'start' | 'processes' | 'moveTo' | 'wake' | 'close'> {
  const { world, database, log, dataDirectory, role } = input
  const { db } = database
  const recovery: RecoveryInput = { dataDirectory, instanceId, db, committer, steady: lease.steady, log }
  const kinds = jobKinds(input, { ...recovery, committer, idempotency })
  const jobs = createJobRunner({
    db,
    ids: world.ids,
    owner: instanceId,
    clock: world.clock,
    log,
    kinds,
    leaseMs: JOB_LEASE_MS,
  })
  let estimating: NodeJS.Timeout | undefined
  return {
    processes: lease.processes,
    moveTo: (address) => void lease.moveTo(address),
    wake() {
      if (role !== 'api') jobs.wake()
    },
    async start(requests) {
      serve(requests)
      await lease.start()
      idempotency.start()
      if (role !== 'api') jobs.start()
      estimating = setInterval(() => committer.estimates(requests.estimates()), ESTIMATES_EVERY_MS)
      void recoverSpools(recovery)
    },
    async close() {
      clearInterval(estimating)
      vitals.close()
      await jobs.stop()
      // Each in its own right: what cannot be written of one must not cost the others.
      const ends = await Promise.allSettled([idempotency.close(), committer.close()])
      ends.push(...(await Promise.allSettled([spool.close(), lease.close()])))
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    },
  }
}

interface Cleaners extends RecoveryInput {
  readonly committer: Committer
  readonly idempotency: Idempotency
}

function jobKinds({ world, log, jobs }: MoneyInput, cleaners: Cleaners) {
  const { db, instanceId, committer, steady, idempotency } = cleaners
  const { now, termsOf: terms, ids } = world
  const sweep = { db, committer, instanceId, steady, terms, now, log }
  return {
    'credit.sweep': every(SWEEP_EVERY_MS, async () => {
      await sweepHolds({
        ...sweep,
        outcomeOf: (record) => idempotency.outcomeOf(record.accountId, record.id, record),
        recover: () => recoverSpools(cleaners),
      })
    }),
    ...invoiceJobs({ db, ids, now }),
    ...retentionJobs({ db, now, keepStreamMs: () => keepMs(world) }),
    ...membersJobs({ db, now }),
    ...oauthJobs({ db, now }),
    ...sessionJobs({ db, now }),
    ...jobs,
  }
}

function keepMs({ config }: World): number {
  return config().streams.keep_ms
}
