/**
 * Runs background work: claims what is due, at most so many of a kind at once, lanes in turn, keeps the leases of what
 * runs, and starts schedules. Any number of processes may do so on one database. It knows no feature: kinds are given to it.
 *
 * Idle it asks the database's reader once in `pollMs`, or when the next job is due if that is sooner. A job that this
 * process enqueued starts as soon as `wake` is called.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema.ts'
import type { IdSource } from '../domain/ids.ts'
import { enqueue, type NewJob, schedule } from './enqueue.ts'
import { createFinisher } from './finisher.ts'
import { createHeartbeat } from './heartbeat.ts'
import type { JobKind } from './job.ts'
import type { JobLog } from './start.ts'
import { type Shop, takeDue } from './taking.ts'

const POLL_MS = 1_000
const LEASE_MS = 60_000
/** How long a stop waits for handlers. */
const STOP_MS = 10_000

export interface JobRunnerOptions {
  readonly db: Kysely<Database>
  readonly kinds: Readonly<Record<string, JobKind>>
  readonly ids: Pick<IdSource, 'job'>
  /** This process; no other has the same. */
  readonly owner: string
  readonly log: JobLog
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly pollMs?: number
  /** A job whose lease was not renewed for so long is taken over. Renewed four times as often. */
  readonly leaseMs?: number
  readonly stopMs?: number
}

export interface JobRunner {
  start(): void
  /** A job may be due: looks now. */
  wake(): void
  /** Adds a job and wakes. Inside a transaction use the function `enqueue`, and wake when that is committed. */
  enqueue(job: NewJob): Promise<boolean>
  /** Resolves when the look under way has ended: everything was begun that was due when it was asked for. */
  looked(): Promise<void>
  /** Jobs that run in this process. */
  running(): number
  /** Starts nothing more, tells handlers to stop, and waits for them for at most `stopMs`. Never rejects. */
  stop(): Promise<void>
}

type Workshop = Shop & Required<JobRunnerOptions>

export function createJobRunner(options: JobRunnerOptions): JobRunner {
  let stopping = false
  const shop: Workshop = {
    pollMs: POLL_MS,
    leaseMs: LEASE_MS,
    stopMs: STOP_MS,
    ...options,
    starts: new Map(),
    turns: new Map(),
    finish: createFinisher(options),
    wake: () => loop.wake(),
    stopping: () => stopping,
  }
  const loop = createLoop(shop)
  const heartbeat = createHeartbeat(shop)
  return {
    start() {
      heartbeat.start()
      loop.wake()
    },
    wake: loop.wake,
    async enqueue(job) {
      const added = await enqueue(shop.db, job, shop.ids)
      if (added) loop.wake()
      return added
    },
    looked: loop.looked,
    running: () => shop.starts.size,
    async stop() {
      stopping = true
      for (const start of shop.starts.values()) start.interrupt('stopping')
      await withinMs(
        loop.stop().then(() => Promise.all([...shop.starts.values()].map(({ ended }) => ended))),
        shop.stopMs,
      )
      heartbeat.stop()
    },
  }
}

/** Looks again and again, one look at a time. */
function createLoop(shop: Workshop) {
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  let again = false
  let scheduled = false
  let troubled = false
  const look = async (): Promise<number> => {
    try {
      if (!scheduled) await makeSchedules(shop)
      scheduled = true
      const waitMs = await takeDue(shop)
      troubled = false
      return waitMs
    } catch (error) {
      if (!troubled && !shop.stopping()) shop.log.warn({ err: error }, 'the queue of jobs cannot be read')
      troubled = true
      return shop.pollMs
    }
  }
  const wake = () => {
    if (shop.stopping()) return
    again = true
    if (looking !== undefined) return
    clearTimeout(timer)
    looking = (async () => {
      let waitMs = shop.pollMs
      while (again && !shop.stopping()) {
        again = false
        waitMs = await look()
      }
      looking = undefined
      if (!shop.stopping()) timer = setTimeout(wake, waitMs)
    })()
  }
  return {
    wake,
    looked: async () => looking,
    async stop() {
      clearTimeout(timer)
      await looking
    },
  }
}

async function makeSchedules({ db, kinds, ids }: Workshop): Promise<void> {
  for (const [kind, { everyMs, nextAt }] of Object.entries(kinds)) {
    if (everyMs !== undefined || nextAt !== undefined) await schedule(db, { kind, everyMs, nextAt }, ids)
  }
}

function withinMs(work: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    void work.finally(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
