/**
 * Runs background work: claims what is due, at most so many of a kind at once, keeps the leases of what runs, and starts
 * schedules. Any number of processes may do so on one database. It knows no feature: kinds are given to it.
 *
 * Idle it asks the database's reader once in `pollMs`, or when the next job is due if that is sooner. A job that this
 * process enqueued starts as soon as `wake` is called.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema.ts'
import type { IdSource } from '../domain/ids.ts'
import type { Job, JobKind } from './job.ts'
import { claim, enqueue, findWaiting, finish, type NewJob, renew, schedule } from './queue.ts'
import { type JobLog, type Start, startJob } from './start.ts'

const POLL_MS = 1_000
const LEASE_MS = 60_000
const HEARTBEATS_PER_LEASE = 4
/** How long a stop waits for handlers. */
const STOP_MS = 10_000
/** Jobs looked at in one query. */
const LOOK_SIZE = 100
/** Starts of a job that may be lost to crashes and stops, beyond its `maxAttempts`. */
const SPARE_STARTS = 5

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
  /** Jobs that run in this process. */
  running(): number
  /** Starts nothing more, tells handlers to stop, and waits for them for at most `stopMs`. Never rejects. */
  stop(): Promise<void>
}

/** What the parts of a runner share. */
interface Shop extends Required<JobRunnerOptions> {
  readonly starts: Map<string, Start>
  readonly wake: () => void
  readonly stopping: () => boolean
}

export function createJobRunner(options: JobRunnerOptions): JobRunner {
  let stopping = false
  const shop: Shop = {
    pollMs: POLL_MS,
    leaseMs: LEASE_MS,
    stopMs: STOP_MS,
    ...options,
    starts: new Map(),
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
function createLoop(shop: Shop) {
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
    async stop() {
      clearTimeout(timer)
      await looking
    },
  }
}

async function makeSchedules({ db, kinds, ids }: Shop): Promise<void> {
  for (const [kind, { everyMs }] of Object.entries(kinds)) {
    if (everyMs !== undefined) await schedule(db, { kind, everyMs }, ids)
  }
}

/**
 * Starts what is due, as far as there is room. A look that fills the room of a kind is followed by one without that kind,
 * so that a long queue of one does not hide the others. @returns Milliseconds until the next look.
 */
async function takeDue(shop: Shop): Promise<number> {
  for (;;) {
    const room = roomOf(shop)
    if (room.size === 0 || shop.stopping()) return shop.pollMs
    const seen = await findWaiting(shop.db, { kinds: [...room.keys()], limit: LOOK_SIZE })
    const due = seen.filter(({ id, kind, dueInMs }) => dueInMs <= 0 && !shop.starts.has(id) && takeRoom(room, kind))
    const nextInMs = seen.find(({ dueInMs }) => dueInMs > 0)?.dueInMs ?? shop.pollMs
    if (due.length === 0) return Math.min(shop.pollMs, nextInMs)
    const claimedAt = shop.clock()
    const jobs = await claim(shop.db, { jobs: due, owner: shop.owner, leaseMs: shop.leaseMs })
    if (jobs.length === 0) return shop.pollMs // others were faster
    await Promise.all(jobs.map((job) => launch(shop, job, claimedAt)))
  }
}

function roomOf({ kinds, starts }: Shop): Map<string, number> {
  const room = new Map(Object.entries(kinds).map(([kind, { concurrency }]) => [kind, concurrency]))
  for (const { job } of starts.values()) takeRoom(room, job.kind)
  return room
}

function takeRoom(room: Map<string, number>, kind: string): boolean {
  const left = room.get(kind)
  if (left === undefined) return false
  if (left > 1) room.set(kind, left - 1)
  else room.delete(kind)
  return true
}

/** Resolves when the handler has begun, or when the job turned out not to be for it. */
async function launch(shop: Shop, job: Job, claimedAt: number): Promise<void> {
  const { db, owner, kinds, starts, log } = shop
  const kind = kinds[job.kind]
  if (kind === undefined || shop.stopping()) {
    await finish(db, { ...job, owner }, { kind: 'again', inMs: 0, error: undefined })
    return
  }
  if (job.attempt > kind.maxAttempts + SPARE_STARTS) {
    const error = `Started ${job.attempt - 1} times, and never came to an end.`
    log.error({ job: job.id, kind: job.kind, name: job.name }, 'job failed for good: it never came to an end')
    await finish(db, { ...job, owner }, { kind: 'failed', error })
    return
  }
  const start = startJob({ ...shop, job, kind, claimedAt })
  starts.set(job.id, start)
  void start.ended.then(() => {
    starts.delete(job.id)
    shop.wake()
  })
}

/** Keeps the leases of what runs, and tells those that have lost theirs. */
function createHeartbeat(shop: Shop) {
  const { db, owner, leaseMs, starts, clock } = shop
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
      .catch(() => undefined) // the lease runs on; what ends it is told above
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

function withinMs(work: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    void work.finally(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
