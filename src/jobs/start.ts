/** One start of a job: its handler runs under a lease, and how it came out is written while it is still ours. */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema.ts'
import { GatewayError } from '../domain/errors.ts'
import { type Job, JobInterrupted, type JobKind } from './job.ts'
import { type Ending, finish, renew } from './queue.ts'

const MAX_ERROR_LENGTH = 1_000
const WRITE_AGAIN_MS = 500

/** pino's logger, as far as it is needed here. */
export interface JobLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface StartInput {
  readonly job: Job
  readonly kind: JobKind
  readonly db: Kysely<Database>
  readonly owner: string
  readonly leaseMs: number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly log: JobLog
  /** By `clock`, when the claim was asked for: the lease is at least as long from then. */
  readonly claimedAt: number
}

export interface Start {
  readonly job: Job
  /** Resolves when the handler has ended and that is written. Never rejects. */
  readonly ended: Promise<void>
  /** The lease was renewed by a request made at `at`, by the clock. */
  renewed(at: number): void
  /** By our own clock; the database may still have the job as ours. */
  leaseIsOver(): boolean
  interrupt(reason: JobInterrupted['reason']): void
}

export function startJob(input: StartInput): Start {
  const { job, clock, leaseMs } = input
  const controller = new AbortController()
  let leasedFrom = input.claimedAt
  const leaseIsOver = () => clock() - leasedFrom >= leaseMs
  const { signal } = controller
  return {
    job,
    ended: handle(input, signal).then((ending) => write(input, { ending, signal, leaseIsOver })),
    renewed(at) {
      leasedFrom = at
    },
    leaseIsOver,
    interrupt: (reason) => controller.abort(new JobInterrupted(reason)),
  }
}

async function handle({ job, kind, db, owner, leaseMs }: StartInput, signal: AbortSignal): Promise<Ending> {
  const stillMine = async (inside: Kysely<Database> = db) => {
    if (isLost(signal)) return false
    return (await renew(inside, { jobs: [job], owner, leaseMs })).length > 0
  }
  try {
    await kind.handler(job, { signal, stillMine })
  } catch (error) {
    return endingOf(error, { job, kind, signal })
  }
  return kind.everyMs === undefined ? { kind: 'done' } : { kind: 'again', inMs: kind.everyMs, error: undefined }
}

function endingOf(error: unknown, start: { job: Job; kind: JobKind; signal: AbortSignal }): Ending {
  const { job, kind, signal } = start
  // Whatever it stumbled over when it was told to stop, it did not fail.
  if (signal.aborted && !isLost(signal)) return { kind: 'again', inMs: 0, error: undefined }
  const text = (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_LENGTH)
  if (job.attempt >= kind.maxAttempts) return { kind: 'failed', error: text }
  return { kind: 'again', inMs: kind.backoff(job.attempt), error: text }
}

interface Writing {
  readonly ending: Ending
  readonly signal: AbortSignal
  readonly leaseIsOver: () => boolean
}

/** While the database is away it is tried again, as long as nobody else can have the job. */
async function write(input: StartInput, { ending, signal, leaseIsOver }: Writing): Promise<void> {
  const { db, owner, job, log } = input
  const { id, kind, name, attempt } = job
  const fields = { job: id, kind, name, attempt }
  tellFailure(log, fields, ending)
  for (;;) {
    try {
      if (!(await finish(db, { id, attempt, owner }, ending))) log.warn(fields, 'job was taken over by another process')
      return
    } catch (error) {
      const mayPass = error instanceof GatewayError && error.retryable
      if (mayPass && !signal.aborted && !leaseIsOver()) {
        await new Promise((resolve) => setTimeout(resolve, WRITE_AGAIN_MS))
        continue
      }
      log.error({ ...fields, err: error }, 'the end of a job could not be written; it will be run again')
      return
    }
  }
}

function tellFailure(log: JobLog, fields: object, ending: Ending): void {
  if (ending.kind === 'failed') log.error({ ...fields, reason: ending.error }, 'job failed for good')
  else if (ending.kind === 'again' && ending.error !== undefined) {
    log.warn({ ...fields, reason: ending.error, retryInMs: ending.inMs }, 'job failed')
  }
}

function isLost(signal: AbortSignal): boolean {
  return signal.reason instanceof JobInterrupted && signal.reason.reason === 'lost'
}
