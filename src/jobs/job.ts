/** Defines background work: jobs, what handlers receive, and the settings of a kind. */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema/schema.ts'

export interface Job {
  readonly id: string
  readonly kind: string
  /** Unique within its kind. */
  readonly name: string
  /** The enqueued value, parsed from JSON. */
  readonly payload: unknown
  /** Number of its starts, including this one. It increases with each, so it identifies the owner (fencing). */
  readonly attempt: number
  /** Unix milliseconds. */
  readonly createdAt: number
}

export interface JobContext {
  /**
   * Aborted with a `JobInterrupted` when another process owns the job, or when this one stops. A handler finishes a part
   * of its work to which it does not pass the signal; a stop waits for it for a limited time.
   */
  readonly signal: AbortSignal
  /**
   * Renews the lease; false if this start no longer owns the job. Within a transaction it fences the other writes: no
   * process can take the job over before the commit.
   */
  stillMine(db?: Kysely<Database>): Promise<boolean>
}

/** What it resolves with is ignored. */
export type JobHandler = (job: Job, context: JobContext) => Promise<unknown>

export interface JobKind {
  /** A job may run more than once: another process repeats it after a crash. */
  readonly handler: JobHandler
  /** Milliseconds until the retry after the `failures`-th failure. */
  readonly backoff: (failures: number) => number
  /** Failures after which it is not retried. */
  readonly maxAttempts: number
  /** Jobs of the kind that one process runs at once. */
  readonly concurrency: number
  /** Concurrent jobs of a lane, in all processes together. Undefined: no limit. */
  readonly laneConcurrency?: number | undefined
  /** The kind is a schedule: one job that starts again so long after it has ended. */
  readonly everyMs?: number | undefined
  /** The kind is a schedule by the calendar: when its one job starts again, after a time; both Unix milliseconds. */
  readonly nextAt?: ((afterMs: number) => number) | undefined
}

/** Thrown by a handler to retry at a time of its choice instead of `backoff`. It counts as a failure. */
export class TryAgainIn extends Error {
  override readonly name = 'TryAgainIn'
  readonly inMs: number

  constructor(inMs: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.inMs = inMs
  }
}

/** Thrown by a handler when a retry cannot help: the job has failed permanently. */
export class GiveUp extends Error {
  override readonly name = 'GiveUp'
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

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** 1970-01-01 was a Thursday. */
const EPOCH_WEEKDAY = 4
const RETRY_OF_SCHEDULES_MS = 60_000

/**
 * Returns a kind with a single job, which runs in one process at a time, and again `intervalMs` after its end. After a
 * failure it is retried within a minute; runs that were missed while no process ran are skipped.
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

/** A time of the week, in UTC. */
export interface WeeklyTime {
  /** 0 is Sunday. */
  readonly weekday: number
  readonly hour: number
  readonly minute: number
}

/**
 * Returns a kind with a single job that runs in one process at a time, every week. After a failure it is retried every
 * minute; of the runs that were missed while no process ran, only the last one is executed.
 */
export function weekly({ weekday, hour, minute }: WeeklyTime, handler: JobHandler): JobKind {
  const nextAt = (afterMs: number): number => {
    const day = Math.floor(afterMs / DAY_MS)
    const weekdayNow = (day + EPOCH_WEEKDAY) % 7
    const time = (day + ((weekday - weekdayNow + 7) % 7)) * DAY_MS + (hour * 60 + minute) * MINUTE_MS
    return time > afterMs ? time : time + 7 * DAY_MS
  }
  const backoff = () => RETRY_OF_SCHEDULES_MS
  return { handler, backoff, maxAttempts: Number.POSITIVE_INFINITY, concurrency: 1, nextAt }
}

/** Doubles with every failure, from `firstMs` up to `maxMs`. */
export function doubling(firstMs: number, maxMs: number): JobKind['backoff'] {
  return (failures) => Math.min(maxMs, firstMs * 2 ** (failures - 1))
}

/** Share of a delay that is added to it at most. */
const JITTER = 0.02

/**
 * Retries after each of the delays, lengthened by up to 2 %, then stops.
 * @param random In [0, 1).
 */
export function afterDelays(
  delaysMs: readonly number[],
  random: () => number,
): Pick<JobKind, 'backoff' | 'maxAttempts'> {
  const delayOf = (failures: number): number => delaysMs[failures - 1] ?? delaysMs.at(-1) ?? 0
  return {
    backoff: (failures) => Math.round(delayOf(failures) * (1 + JITTER * random())),
    maxAttempts: delaysMs.length + 1,
  }
}
