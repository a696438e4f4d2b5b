/** Takes what is due, in whose turn it is, and starts it, as far as this process has room. */
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema.ts'
import type { Finish } from './finisher.ts'
import type { JobKind } from './job.ts'
import { type ClaimedJob, claim, claimInLanes } from './queue.ts'
import { type JobLog, type Start, startJob } from './start.ts'
import { findReadyKinds, findSleeping, findTurn, wakeSleeping } from './waiting.ts'

/** Read first: mostly nothing is due, and what comes next is all that is wanted. */
const GLANCE_SIZE = 20
/** Jobs whose time has come that are woken by one statement, and how many such statements a look makes at most. */
const WAKE_SIZE = 1_000
const MAX_WAKES = 20
/** Where others were faster, the next look comes so much sooner than usual. */
const SOONER = 20
/** Starts of a job that may be lost to crashes and stops, beyond its `maxAttempts`. */
const SPARE_STARTS = 5

export interface Shop {
  readonly db: Kysely<Database>
  readonly kinds: Readonly<Record<string, JobKind>>
  readonly owner: string
  readonly log: JobLog
  readonly clock: () => number
  readonly pollMs: number
  readonly leaseMs: number
  /** What runs, by the ids of the jobs. */
  readonly starts: Map<string, Start>
  /** Of each kind, the lane that was served last. */
  readonly turns: Map<string, string>
  readonly finish: Finish
  readonly wake: () => void
  readonly stopping: () => boolean
}

/** @returns Milliseconds until the next look. */
export async function takeDue(shop: Shop): Promise<number> {
  const waitMs = await wakeDue(shop)
  for (;;) {
    const room = roomOf(shop)
    if (room.size === 0 || shop.stopping()) return waitMs
    const { seen, claimed } = await takeTurns(shop, room)
    if (seen === 0) return waitMs
    if (claimed === 0) return Math.min(waitMs, shop.pollMs / SOONER)
  }
}

/** @returns Milliseconds until something is due, at most `pollMs`. */
async function wakeDue({ db, kinds, pollMs, stopping }: Shop): Promise<number> {
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

/** One look at each kind that has room, so that a long queue of one does not hide the others. */
async function takeTurns(shop: Shop, room: ReadonlyMap<string, number>) {
  let seen = 0
  let claimed = 0
  for (const kind of await findReadyKinds(shop.db, [...room.keys()])) {
    const taken = await takeTurn(shop, kind, room.get(kind) ?? 0)
    seen += taken.seen
    claimed += taken.claimed
  }
  return { seen, claimed }
}

async function takeTurn(shop: Shop, kind: string, room: number) {
  const { db, owner, leaseMs, turns, starts } = shop
  const laneConcurrency = shop.kinds[kind]?.laneConcurrency
  const turn = await findTurn(db, { kind, room, laneConcurrency, after: turns.get(kind) ?? '' })
  turns.set(kind, turn.last)
  const due = turn.jobs.filter(({ id }) => !starts.has(id))
  if (due.length === 0 || shop.stopping()) return { seen: 0, claimed: 0 }
  const claimedAt = shop.clock()
  const wanted = { jobs: due, owner, leaseMs }
  const jobs = await (laneConcurrency === undefined
    ? claim(db, wanted)
    : claimInLanes(db, { ...wanted, kind, laneConcurrency }))
  await Promise.all(jobs.map((job) => launch(shop, job, claimedAt)))
  return { seen: due.length, claimed: jobs.length }
}

function roomOf({ kinds, starts }: Shop): ReadonlyMap<string, number> {
  const room = new Map(Object.entries(kinds).map(([kind, { concurrency }]) => [kind, concurrency]))
  for (const { job } of starts.values()) room.set(job.kind, (room.get(job.kind) ?? 0) - 1)
  for (const [kind, left] of room) if (left <= 0) room.delete(kind)
  return room
}

/** Resolves when the handler has begun, or when the job turned out not to be for it. */
async function launch(shop: Shop, job: ClaimedJob, claimedAt: number): Promise<void> {
  const { kinds, starts, log, finish } = shop
  const { id, attempt } = job
  const kind = kinds[job.kind]
  if (kind === undefined || shop.stopping()) {
    await finish({ id, attempt, ending: { kind: 'again', inMs: 0, error: undefined } })
    return
  }
  if (attempt > kind.maxAttempts + SPARE_STARTS) {
    const error = `Started ${attempt - 1} times, and never came to an end.`
    log.error({ job: id, kind: job.kind, name: job.name }, 'job failed for good: it never came to an end')
    await finish({ id, attempt, ending: { kind: 'failed', error } })
    return
  }
  const start = startJob({ ...shop, job, kind, claimedAt })
  starts.set(id, start)
  void start.ended.then(() => {
    starts.delete(id)
    shop.wake()
  })
}
