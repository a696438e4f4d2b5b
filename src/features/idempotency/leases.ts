import { setTimeout as pause } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { BatchStatement } from '../../db/database.ts'
import { isDatabaseUnavailable } from '../../db/failure.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { SavedAnswer } from '../../domain/credit.ts'
import { createInFlight } from '../../lib/collections.ts'
import { type Claim, endStatement, renewStatements, type StatementQueue } from './rows.ts'

/** Leases renewed in one transaction, which occupies the writer. */
const RENEWED_AT_ONCE = 1_000

export interface LeaseRenewalInput {
  readonly db: Kysely<Database>
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  readonly log: { warn(fields: object, message: string): void }
  readonly leaseMs: number
  readonly renewMs: number
  /** Running requests. */
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

/** Longer answers are not passed to requests in other processes, which then run themselves. */
const MAX_SHARED_ERROR_BYTES = 64 * 1024
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 1_000

interface KeyReleaseInput {
  readonly db: Kysely<Database>
  readonly queue: StatementQueue
  readonly log: { warn(fields: object, message: string): void }
  readonly closeTimeoutMs: number
}

export interface KeyRelease {
  /** Never throws, never waits. A key that cannot be freed is free when its lease expires. */
  free(claim: Claim, answer: SavedAnswer): void
  /** Number of keys that are not yet freed in the database. */
  readonly pending: number
  close(): Promise<void>
}

/** Frees keys, and retries while the database is unavailable. */
export function createKeyRelease({ db, queue, log, closeTimeoutMs }: KeyReleaseInput): KeyRelease {
  const pending = createInFlight<Promise<void>>()
  let isStopped = false
  const write = async (claim: Claim, answer: SavedAnswer) => {
    const kept = Buffer.byteLength(answer.body) > MAX_SHARED_ERROR_BYTES ? undefined : answer
    const statement = endStatement(db, claim, { state: 'freed', answer: kept })
    for (let delayMs = FIRST_RETRY_MS; !isStopped; delayMs = Math.min(LAST_RETRY_MS, delayMs * 2)) {
      try {
        return await queue(statement)
      } catch (error) {
        if (!isDatabaseUnavailable(error)) return log.warn({ error: String(error) }, 'an idempotency key was not freed')
        await pause(delayMs)
      }
    }
  }
  return {
    free(claim, answer) {
      const written = write(claim, answer)
      void written.then(pending.add(written))
    },
    get pending() {
      return pending.size
    },
    async close() {
      const timer = new AbortController()
      const timeout = pause(closeTimeoutMs, undefined, { signal: timer.signal }).catch(() => undefined)
      await Promise.race([Promise.all(pending.items()), timeout])
      isStopped = true
      timer.abort()
    },
  }
}
