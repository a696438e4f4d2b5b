/**
 * Runs background jobs: claims those that are due, within the concurrency of each kind, round-robin by lane, and starts
 * schedules. Any number of processes may run on one database. Kinds are given to it; it knows no feature.
 *
 * When idle it asks the database's reader once in `pollMs`, or when the next job is due. `wake` starts a job that this process
 * has enqueued at once.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema/schema.ts'
import type { IdSource } from '../domain/ids.ts'
import { createFinisher, createHeartbeat, type Finish, type JobLog, type Start, startJob } from './execution.ts'
import type { JobKind } from './job.ts'
import { findDueJobs, findReadyKinds, findSleeping, wakeSleeping } from './lanes.ts'
import { type ClaimedJob, claim, claimInLanes, enqueue, type NewJob, schedule } from './queue.ts'

const POLL_MS = 1_000
/** The jobs of a process that died are taken over after this. */
export const JOB_LEASE_MS = 15_000
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
  /** Duration of a lease, which is renewed four times as often; then another process takes the job over. */
  readonly leaseMs?: number
  readonly stopMs?: number
}

export interface JobRunner {
  start(): void
  /** Polls now, since a job may be due. */
  wake(): void
  /** Adds a job and wakes the runner. Inside a transaction use the function `enqueue`, and wake after the commit. */
  enqueue(job: NewJob): Promise<boolean>
  /** Resolves when the current poll has ended: all jobs that were due at the call have started. */
  looked(): Promise<void>
  /** Number of jobs running in this process. */
  running(): number
  /** Starts no more jobs, aborts the handlers' signals, and waits for them for at most `stopMs`. Never rejects. */
  stop(): Promise<void>
}

interface RunnerContext extends Required<JobRunnerOptions> {
  /** Running jobs by ID. */
  readonly starts: Map<string, Start>
  /** The lane that was served last, by kind. */
  readonly lastLanes: Map<string, string>
  readonly finish: Finish
  readonly wake: () => void
  readonly stopping: () => boolean
}

export function createJobRunner(options: JobRunnerOptions): JobRunner {
  let stopping = false
  const context: RunnerContext = {
    pollMs: POLL_MS,
    leaseMs: JOB_LEASE_MS,
    stopMs: STOP_MS,
    ...options,
    starts: new Map(),
    lastLanes: new Map(),
    finish: createFinisher(options),
    wake: () => loop.wake(),
    stopping: () => stopping,
  }
  const loop = createLoop(context)
  const heartbeat = createHeartbeat(context)
  return {
    start() {
      heartbeat.start()
      loop.wake()
    },
    wake: loop.wake,
    async enqueue(job) {
      const added = await enqueue(context.db, job, context.ids)
      if (added) loop.wake()
      return added
    },
    looked: loop.looked,
    running: () => context.starts.size,
    async stop() {
      stopping = true
      for (const start of context.starts.values()) start.interrupt('stopping')
      await withinMs(
        loop.stop().then(() => Promise.all([...context.starts.values()].map(({ ended }) => ended))),
        context.stopMs,
      )
      heartbeat.stop()
    },
  }
}

/** Polls repeatedly, one poll at a time. */
function createLoop(context: RunnerContext) {
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  let again = false
  let scheduled = false
  let troubled = false
  const look = async (): Promise<number> => {
    try {
      if (!scheduled) await makeSchedules(context)
      scheduled = true
      const waitMs = await takeDue(context)
      troubled = false
      return waitMs
    } catch (error) {
      if (!troubled && !context.stopping()) context.log.warn({ err: error }, 'the queue of jobs cannot be read')
      troubled = true
      return context.pollMs
    }
  }
  const wake = () => {
    if (context.stopping()) return
    again = true
    if (looking !== undefined) return
    clearTimeout(timer)
    looking = (async () => {
      let waitMs = context.pollMs
      while (again && !context.stopping()) {
        again = false
        waitMs = await look()
      }
      looking = undefined
      if (!context.stopping()) timer = setTimeout(wake, waitMs)
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

async function makeSchedules({ db, kinds, ids }: RunnerContext): Promise<void> {
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

/** Rows of the first read: usually no job is due, and only the time of the next one is needed. */
const GLANCE_SIZE = 20
/** Due jobs that one statement wakes, and the maximum number of such statements in a poll. */
const WAKE_SIZE = 1_000
const MAX_WAKES = 20
/** Factor by which the next poll is earlier if other processes were faster. */
const SOONER = 20
/** Starts of a job that may be lost to crashes and stops, in addition to its `maxAttempts`. */
const SPARE_STARTS = 5

/** @returns Milliseconds until the next poll. */
async function takeDue(context: RunnerContext): Promise<number> {
  const waitMs = await wakeDue(context)
  for (;;) {
    const room = roomOf(context)
    if (room.size === 0 || context.stopping()) return waitMs
    const { seen, claimed } = await claimReadyKinds(context, room)
    if (seen === 0) return waitMs
    if (claimed === 0) return Math.min(waitMs, context.pollMs / SOONER)
  }
}

/** @returns Milliseconds until a job is due, at most `pollMs`. */
async function wakeDue({ db, kinds, pollMs, stopping }: RunnerContext): Promise<number> {
  let limit = GLANCE_SIZE
  for (let wakes = 0; wakes < MAX_WAKES && !stopping(); wakes++) {
    const sleeping = await findSleeping(db, { kinds: Object.keys(kinds), limit })
    const due = sleeping.filter(({ dueInMs }) => dueInMs <= 0)
    if (due.length > 0) await wakeSleeping(db, due)
    if (due.length < limit) return Math.min(pollMs, sleeping[due.length]?.dueInMs ?? pollMs)
    limit = WAKE_SIZE
  }
  return 0
}

/** Polls each kind that is not full, so that a long queue of one does not delay the others. */
async function claimReadyKinds(context: RunnerContext, room: ReadonlyMap<string, number>) {
  let seen = 0
  let claimed = 0
  for (const kind of await findReadyKinds(context.db, [...room.keys()])) {
    const taken = await claimJobs(context, kind, room.get(kind) ?? 0)
    seen += taken.seen
    claimed += taken.claimed
  }
  return { seen, claimed }
}

async function claimJobs(context: RunnerContext, kind: string, room: number) {
  const { db, owner, leaseMs, lastLanes, starts } = context
  const laneConcurrency = context.kinds[kind]?.laneConcurrency
  const next = await findDueJobs(db, { kind, room, laneConcurrency, after: lastLanes.get(kind) ?? '' })
  lastLanes.set(kind, next.last)
  const due = next.jobs.filter(({ id }) => !starts.has(id))
  if (due.length === 0 || context.stopping()) return { seen: 0, claimed: 0 }
  const claimedAt = context.clock()
  const wanted = { jobs: due, owner, leaseMs }
  const jobs = await (laneConcurrency === undefined
    ? claim(db, wanted)
    : claimInLanes(db, { ...wanted, kind, laneConcurrency }))
  await Promise.all(jobs.map((job) => launch(context, job, claimedAt)))
  return { seen: due.length, claimed: jobs.length }
}

function roomOf({ kinds, starts }: RunnerContext): ReadonlyMap<string, number> {
  const room = new Map(Object.entries(kinds).map(([kind, { concurrency }]) => [kind, concurrency]))
  for (const { job } of starts.values()) room.set(job.kind, (room.get(job.kind) ?? 0) - 1)
  for (const [kind, left] of room) if (left <= 0) room.delete(kind)
  return room
}

/** Resolves when the handler has started, or when no handler starts. */
async function launch(context: RunnerContext, job: ClaimedJob, claimedAt: number): Promise<void> {
  const { kinds, starts, log, finish } = context
  const { id, attempt } = job
  const kind = kinds[job.kind]
  if (kind === undefined || context.stopping()) {
    await finish({ id, attempt, ending: { kind: 'again', inMs: 0, error: undefined } })
    return
  }
  if (attempt > kind.maxAttempts + SPARE_STARTS) {
    const error = `Started ${attempt - 1} times, and never came to an end.`
    log.error({ job: id, kind: job.kind, name: job.name }, 'job failed for good: it never came to an end')
    await finish({ id, attempt, ending: { kind: 'failed', error } })
    return
  }
  const start = startJob({ ...context, job, kind, claimedAt })
  starts.set(id, start)
  void start.ended.then(() => {
    starts.delete(id)
    context.wake()
  })
}
