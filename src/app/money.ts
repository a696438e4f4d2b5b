/** Money put together: group commit, spool, leases, idempotency, and the background work that cleans up after the dead. */
import type { OpenedDatabase } from '../db/open.ts'
import type { CreditPort, RunningEstimate } from '../domain/credit.ts'
import type { InstanceId } from '../domain/ids.ts'
import { parseNanoUsd } from '../domain/money.ts'
import { type CreditDesk, createAccountCredit } from '../features/credit/account-credit.ts'
import { type Committer, createCommitter } from '../features/credit/committer.ts'
import { createCreditPort } from '../features/credit/credit-port.ts'
import { createInstanceLease } from '../features/credit/instance-lease.ts'
import { type RecoveryInput, recoverSpools } from '../features/credit/recovery.ts'
import { openSpool, type Spool } from '../features/credit/spool.ts'
import { createSqliteStore } from '../features/credit/sqlite-store.ts'
import { sweepHolds } from '../features/credit/sweeper.ts'
import { createIdempotency, type Idempotency } from '../features/idempotency/idempotency.ts'
import { invoiceJobs } from '../features/invoices/jobs.ts'
import { retentionJobs } from '../features/retention/jobs.ts'
import type { Log } from '../http/log.ts'
import { every } from '../jobs/job.ts'
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
  readonly desk: CreditDesk
  readonly committer: Pick<Committer, 'pending' | 'available'>
  /**
   * Makes this process known to the others and begins the background work. Rejects when the database is not available.
   * @param running What requests under way have come to.
   */
  start(running: () => readonly RunningEstimate[]): Promise<void>
  /** Brings everything into the database that is not there yet. Rejects when it could not; the spool has it then. */
  close(): Promise<void>
}

export interface MoneyInput {
  readonly world: World
  readonly database: OpenedDatabase
  readonly log: Log
  readonly version: string
  readonly dataDirectory: string
  /** Where others reach this process. */
  readonly address: string
}

export function createMoney(input: MoneyInput): Money {
  const { world, database, log, dataDirectory } = input
  const { db, batch } = database
  const { now, clock, termsOf } = world
  const instanceId = world.ids.instance()
  const committer = createCommitter({ store: createSqliteStore(database), log, clock })
  const spool = openSpool({ dataDirectory, instanceId, log, clock })
  const idempotency = createIdempotency({ db, batch, instanceId, clock, now, log })
  const exposureNanoUsd = () => parseNanoUsd(world.config().ledger.outage_exposure_usd) ?? 0n
  const parts: Parts = { input, instanceId, committer, spool, idempotency }
  return {
    credit: createCreditPort({ committer, spool, terms: termsOf, instanceId, exposureNanoUsd, log }),
    idempotency,
    desk: createAccountCredit({ db, now, submit: committer.submit, termsOf }),
    committer,
    ...createUpkeep(parts),
  }
}

interface Parts {
  readonly input: MoneyInput
  readonly instanceId: InstanceId
  readonly committer: Committer
  readonly spool: Spool
  readonly idempotency: Idempotency
}

function createUpkeep({ input, instanceId, committer, spool, idempotency }: Parts): Pick<Money, 'start' | 'close'> {
  const { world, database, log, dataDirectory, version, address } = input
  const { db } = database
  const lease = createInstanceLease({ db, instanceId, version, role: 'all', address, log })
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
    async start(running) {
      await lease.start()
      idempotency.start()
      jobs.start()
      estimating = setInterval(() => committer.estimates(running()), ESTIMATES_EVERY_MS)
      void recoverSpools(recovery)
    },
    async close() {
      clearInterval(estimating)
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

function jobKinds({ world, log }: MoneyInput, cleaners: Cleaners) {
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
    ...retentionJobs({ db, now }),
  }
}
