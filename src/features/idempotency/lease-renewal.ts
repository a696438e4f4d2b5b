import type { Kysely } from 'kysely'
import type { BatchStatement } from '../../db/open.ts'
import type { Database } from '../../db/schema.ts'
import { type Claim, renewStatements } from './rows.ts'

/** Leases renewed in one transaction: others wait for the writer meanwhile. */
const RENEWED_AT_ONCE = 1_000

export interface LeaseRenewalInput {
  readonly db: Kysely<Database>
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  readonly log: { warn(fields: object, message: string): void }
  readonly leaseMs: number
  readonly renewMs: number
  /** Those that run now. */
  readonly claims: () => readonly Claim[]
}

export interface LeaseRenewal {
  start(): void
  stop(): void
}

/** Renews the leases of all running requests together, so that none of them needs a timer. */
export function createLeaseRenewal({ db, batch, log, leaseMs, renewMs, claims }: LeaseRenewalInput): LeaseRenewal {
  let timer: NodeJS.Timeout | undefined
  let busy = false
  const renew = async () => {
    if (busy) return
    busy = true
    try {
      const due = claims()
      for (let at = 0; at < due.length; at += RENEWED_AT_ONCE) {
        await batch(renewStatements(db, due.slice(at, at + RENEWED_AT_ONCE), leaseMs))
      }
    } catch (error) {
      log.warn({ error: String(error) }, 'leases of idempotency keys were not renewed')
    }
    busy = false
  }
  return {
    start() {
      timer ??= setInterval(renew, renewMs).unref()
    },
    stop: () => clearInterval(timer),
  }
}
