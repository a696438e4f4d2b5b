/** What background work is: a job, what its handler is given, and how its kind is run. */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema.ts'

export interface Job {
  readonly id: string
  readonly kind: string
  /** Unique within its kind. */
  readonly name: string
  /** What was enqueued, read from JSON. */
  readonly payload: unknown
  /** Its starts so far, this one included. Rises with every one, so it also tells an owner from the owners before. */
  readonly attempt: number
  /** Unix milliseconds. */
  readonly createdAt: number
}

export interface JobContext {
  /**
   * Aborted with a `JobInterrupted`: at once when the job is another process's, or when this one stops. A handler that
   * does not pass it on to a part of its work finishes that part first; a stop waits for it for a while.
   */
  readonly signal: AbortSignal
  /**
   * Renews the lease; false when the job is no longer this start's. Given a transaction it fences what else is written
   * there: nobody can take the job over before that is committed.
   */
  stillMine(db?: Kysely<Database>): Promise<boolean>
}

export type JobHandler = (job: Job, context: JobContext) => Promise<void>

export interface JobKind {
  /** A job may be run more than once: by whoever takes it over from a process that died in it. */
  readonly handler: JobHandler
  /** Milliseconds until it is tried again after its `attempt`-th start failed. */
  readonly backoff: (attempt: number) => number
  /** A job whose last start failed has failed; ends for good. */
  readonly maxAttempts: number
  /** Jobs of the kind that one process runs at once. */
  readonly concurrency: number
  /** The kind is a schedule: one job that begins anew so long after it has ended. */
  readonly everyMs?: number | undefined
}

/** Why a handler's signal was aborted. */
export class JobInterrupted extends Error {
  override readonly name = 'JobInterrupted'
  readonly reason: 'lost' | 'stopping'

  constructor(reason: 'lost' | 'stopping') {
    super(reason === 'lost' ? 'The job is another process’s.' : 'The process stops.')
    this.reason = reason
  }
}

const RETRY_OF_SCHEDULES_MS = 60_000

/**
 * A kind with a single job, which runs in one process at a time, and again `intervalMs` after it has ended, for ever.
 * After a failure it is tried again within a minute; what was missed while no process ran is not made up for.
 */
export function every(intervalMs: number, handler: JobHandler): JobKind {
  return {
    handler,
    backoff: () => Math.min(intervalMs, RETRY_OF_SCHEDULES_MS),
    maxAttempts: Number.POSITIVE_INFINITY,
    concurrency: 1,
    everyMs: intervalMs,
  }
}

/** Doubles with every attempt, from `firstMs` up to `maxMs`. */
export function doubling(firstMs: number, maxMs: number): JobKind['backoff'] {
  return (attempt) => Math.min(maxMs, firstMs * 2 ** (attempt - 1))
}
