/** Executes one start of a job: runs its handler under a lease, renews the lease, and writes the outcome while the lease is held. */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema/schema.ts'
import { createBatcher, mayPass } from './batcher.ts'
import { GiveUp, JobInterrupted, type JobKind, TryAgainIn } from './job.ts'
import { type ClaimedJob, type EndedStart, type Ending, finishAll, readDatabaseTime, renew } from './queue.ts'

const MAX_ERROR_LENGTH = 1_000
const WRITE_AGAIN_MS = 500

/** The part of pino's logger that is used here. */
export interface JobLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface StartInput {
  readonly job: ClaimedJob
  readonly kind: JobKind
  readonly db: Kysely<Database>
  readonly owner: string
  readonly finish: Finish
  readonly leaseMs: number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly log: JobLog
  /** Start of the claim by `clock`: the lease lasts at least from then. */
  readonly claimedAt: number
}

export interface Start {
  readonly job: ClaimedJob
  /** Resolves when the handler has ended and its outcome is written. Never rejects. */
  readonly ended: Promise<void>
  /** Called after a renewal whose request was sent at `at`, by the clock. */
  renewed(at: number): void
  /** The lease has expired by our own clock; in the database the job may still be ours. */
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
    ended: handle(input, signal).then((outcome) => write(input, { outcome, signal, leaseIsOver })),
    renewed(at) {
      leasedFrom = at
    },
    leaseIsOver,
    interrupt: (reason) => controller.abort(new JobInterrupted(reason)),
  }
}

/** Undefined: the handler has finished the job itself. */
type Outcome = Ending | undefined

async function handle({ job, kind, db, owner, leaseMs, log }: StartInput, signal: AbortSignal): Promise<Outcome> {
  const stillMine = async (inside: Kysely<Database> = db) => {
    if (isLost(signal)) return false
    return (await renew(inside, { jobs: [job], owner, leaseMs })).length > 0
  }
  try {
    await kind.handler(job, { signal, stillMine })
  } catch (error) {
    const ending = endingOf(error, { job, kind, signal })
    // A handler that chooses the time of the retry expected the failure, and reports it itself.
    if (!(error instanceof TryAgainIn)) tellFailure(log, fieldsOf(job), ending)
    return ending
  }
  return undefined
}

async function endingOfDone({ kind, db }: StartInput): Promise<Ending> {
  if (kind.everyMs !== undefined) return { kind: 'again', inMs: kind.everyMs, error: undefined }
  if (kind.nextAt === undefined) return { kind: 'done' }
  const now = await readDatabaseTime(db)
  return { kind: 'again', inMs: kind.nextAt(now) - now, error: undefined }
}

function endingOf(error: unknown, start: { job: ClaimedJob; kind: JobKind; signal: AbortSignal }): Ending {
  const { job, kind, signal } = start
  // An error after the signal was aborted is no failure. If the lease expired while this process was suspended, the job may
  // have no new owner yet: then it is claimed again at once, here or elsewhere.
  if (signal.aborted) return { kind: 'again', inMs: 0, error: undefined }
  const text = (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_LENGTH)
  const failures = job.failures + 1
  if (error instanceof GiveUp || failures >= kind.maxAttempts) return { kind: 'failed', error: text }
  const inMs = error instanceof TryAgainIn ? Math.max(0, error.inMs) : kind.backoff(failures)
  return { kind: 'again', inMs, error: text }
}

interface Writing {
  readonly outcome: Outcome
  readonly signal: AbortSignal
  readonly leaseIsOver: () => boolean
}

/** Retries while the database is unavailable, as long as no other process can own the job. */
async function write(input: StartInput, { outcome, signal, leaseIsOver }: Writing): Promise<void> {
  const { finish, job, log } = input
  const { id, attempt } = job
  const fields = fieldsOf(job)
  for (;;) {
    try {
      const ending = outcome ?? (await endingOfDone(input))
      if (!(await finish({ id, attempt, ending }))) log.warn(fields, 'job was taken over by another process')
      return
    } catch (error) {
      if (mayPass(error) && !signal.aborted && !leaseIsOver()) {
        await new Promise((resolve) => setTimeout(resolve, WRITE_AGAIN_MS))
        continue
      }
      log.error({ ...fields, err: error }, 'the end of a job could not be written; it will be run again')
      return
    }
  }
}

function fieldsOf({ id, kind, name, attempt }: ClaimedJob): object {
  return { job: id, kind, name, attempt }
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

/** Number of starts that one statement finishes. */
const BATCH_SIZE = 500

/** Resolves when the end is committed; false: the owner had lost the job. Rejects if it cannot be written. */
export type Finish = (start: EndedStart) => Promise<boolean>

/** Finishes concurrent starts in one statement. */
export function createFinisher({ db, owner }: { readonly db: Kysely<Database>; readonly owner: string }): Finish {
  return createBatcher({ size: BATCH_SIZE }, async (starts) => {
    const written = await finishAll(db, owner, starts)
    const ours = new Set(written.map(({ id, attempt }) => `${id} ${attempt}`))
    return starts.map(({ id, attempt }) => ours.has(`${id} ${attempt}`))
  })
}

const HEARTBEATS_PER_LEASE = 4

interface HeartbeatInput {
  readonly db: Kysely<Database>
  readonly owner: string
  readonly leaseMs: number
  /** By the ids of their jobs. */
  readonly starts: ReadonlyMap<string, Start>
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

interface Heartbeat {
  start(): void
  stop(): void
}

export function createHeartbeat({ db, owner, leaseMs, starts, clock }: HeartbeatInput): Heartbeat {
  let timer: NodeJS.Timeout | undefined
  let beating = false
  const renewAll = async (): Promise<void> => {
    const all = [...starts.values()]
    const at = clock()
    const mine = new Set(await renew(db, { jobs: all.map(({ job }) => job), owner, leaseMs }))
    for (const start of all) {
      if (mine.has(start.job.id)) start.renewed(at)
      else if (starts.get(start.job.id) === start) start.interrupt('lost')
    }
  }
  const beat = () => {
    for (const start of starts.values()) if (start.leaseIsOver()) start.interrupt('lost')
    if (beating || starts.size === 0) return
    beating = true
    renewAll()
      .catch(() => undefined) // the lease runs on; its end is reported above
      .finally(() => {
        beating = false
      })
  }
  return {
    start() {
      timer ??= setInterval(beat, leaseMs / HEARTBEATS_PER_LEASE)
    },
    stop: () => clearInterval(timer),
  }
}
