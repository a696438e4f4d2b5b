/**
 * A process of its own that runs jobs and waits to be killed or frozen. It says what its handlers begin and end, before
 * the books can know of an end. Arguments: the database, its name as an owner.
 */
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, JobContext } from '../../../src/jobs/job.ts'
import { createJobRunner } from '../../../src/jobs/runner.ts'
import { openLocation } from '../database.ts'
import { testIds } from '../ids.ts'

export const KIND = 'post'
export const LANE_CONCURRENCY = 2
export const LEASE_MS = 1_000
/** Of one process: fewer than there are lanes, so that they have to take turns. */
export const CONCURRENCY = 4

export interface Work {
  readonly ms: number
  /** Starts that fail, whatever else happens to the job. */
  readonly fails: number
}

const STDOUT = 1
const say = (what: string, { name, attempt }: Job): void => void writeSync(STDOUT, `${what} ${name} ${attempt}\n`)

async function work(job: Job, { signal }: JobContext): Promise<void> {
  say('begin', job)
  const { ms, fails } = job.payload as Work // the test enqueues nothing else
  if (ms > 0) await sleep(ms, undefined, { signal })
  if (job.attempt <= fails) throw new Error('not yet')
  say('end', job)
}

async function run(place: string, owner: string): Promise<void> {
  const { db } = await openLocation(place)
  const kind = { handler: work, backoff: () => 30, maxAttempts: 1_000, concurrency: CONCURRENCY }
  const quiet = () => undefined
  createJobRunner({
    db,
    ids: testIds,
    owner,
    log: { warn: quiet, error: quiet },
    clock: () => performance.now(),
    kinds: { [KIND]: { ...kind, laneConcurrency: LANE_CONCURRENCY } },
    pollMs: 20,
    leaseMs: LEASE_MS,
  }).start()
}

const [place, owner] = process.argv.slice(2)
if (import.meta.main && place !== undefined && owner !== undefined) await run(place, owner)
