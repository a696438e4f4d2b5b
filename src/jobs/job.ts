/** What background work is: a job, what its handler is given, and how its kind is run. */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema/schema.ts'

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

/** What it resolves with is ignored. */
export type JobHandler = (job: Job, context: JobContext) => Promise<unknown>

export interface JobKind {
  /** A job may be run more than once: by whoever takes it over from a process that died in it. */
  readonly handler: JobHandler
  /** Milliseconds until it is tried again after a start of it has failed for the `failures`-th time. */
  readonly backoff: (failures: number) => number
  /** A job that has failed so often has failed for good. */
  readonly maxAttempts: number
  /** Jobs of the kind that one process runs at once. */
  readonly concurrency: number
  /** Jobs of one lane that run at once, in all processes together. Undefined: as many as there is room for. */
  readonly laneConcurrency?: number | undefined
  /** The kind is a schedule: one job that starts again so long after it has ended. */
  readonly everyMs?: number | undefined
  /** The kind is a schedule by the calendar: when its one job starts again, after a time; both Unix milliseconds. */
  readonly nextAt?: ((afterMs: number) => number) | undefined
}

/** A handler throws it where it knows better than `backoff` when to try again. It counts as a failure like any other. */
export class TryAgainIn extends Error {
  override readonly name = 'TryAgainIn'
  readonly inMs: number

  constructor(inMs: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.inMs = inMs
  }
}

/** A handler throws it when no further start can help: the job has failed for good. */
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

/** A time of the week, in UTC. */
export interface WeeklyTime {
  /** 0 is Sunday. */
  readonly weekday: number
  readonly hour: number
  readonly minute: number
}

/**
 * A kind with a single job that runs in one process at a time, every week. After a failure it is retried every minute; of
 * the runs that were missed while no process ran, the last is made up for.
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
 * Tries again after each of the delays in turn, lengthened by up to 2 %, and then no more.
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
