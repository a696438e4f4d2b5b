/**
 * `npm run bench -- --jobs`: measures short jobs per second on SQLite and on PostgreSQL, with durable commits. Concurrent
 * transactions enqueue them while the runner works. Then it measures the effect of a lane with 10 000 jobs on others. The
 * handler does nothing, so the result is the throughput of the queue.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OpenedDatabase, OpenOptions } from '../src/db/database.ts'
import { migrate } from '../src/db/migrate.ts'
import { openDatabase } from '../src/db/open.ts'
import { createIdSource } from '../src/domain/ids.ts'
import { enqueue, enqueueAll } from '../src/jobs/queue.ts'
import { createJobRunner, type JobRunner } from '../src/jobs/runner.ts'
import { createSchema } from '../test/support/http/schemas.ts'
import { startPostgres } from '../test/support/process/postgres-server.ts'
import { fsyncP99Ms, percentile } from './processes.ts'
import { printVerdicts, type Verdict } from './report.ts'

const SECONDS = 5
const LANES = 100
const PRODUCERS = 16
/** Producers wait above it, so that the measurement is of a steady state. */
const MAX_WAITING = 2_000
const CROWD = 10_000
const PROBES = 100
const CROWDED_WORK_MS = 20
/** 1 000 a second. */
const THOUSAND_JOBS_MS = 1_000

const ids = createIdSource(Date.now, randomBytes)

interface Queue {
  readonly runner: JobRunner
  readonly done: () => number
  /** Milliseconds from enqueueing to the start of the handler, for jobs with their time as payload. */
  readonly delays: number[]
}

function startQueue({ db }: OpenedDatabase): Queue {
  let done = 0
  const delays: number[] = []
  const handler = async ({ payload }: { readonly payload: unknown }) => {
    if (typeof payload === 'number') delays.push(performance.now() - payload)
    if (payload === 'slow') await sleep(CROWDED_WORK_MS)
    done++
  }
  const kind = { handler, backoff: () => 0, maxAttempts: 1, concurrency: 100, laneConcurrency: 10 }
  const log = { warn: console.warn, error: console.error }
  const clock = () => performance.now()
  const runner = createJobRunner({ db, ids, owner: 'bench', log, clock, kinds: { short: kind } })
  runner.start()
  return { runner, done: () => done, delays }
}

/** Returns jobs per second that were enqueued, run and ended, all committed. */
async function sustained({ db }: OpenedDatabase, { runner, done }: Queue): Promise<number> {
  let added = 0
  const endsAt = performance.now() + SECONDS * 1_000
  const produce = async () => {
    while (performance.now() < endsAt) {
      if (added - done() > MAX_WAITING) await sleep(5)
      else {
        const serial = added++
        await enqueue(db, { kind: 'short', name: `s${serial}`, payload: null, lane: `lane ${serial % LANES}` }, ids)
        runner.wake()
      }
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: PRODUCERS }, produce))
  while (done() < added) await sleep(5)
  return done() / ((performance.now() - startedAt) / 1_000)
}

/** Returns jobs per second of a backlog: only claims and ends. */
async function drained({ db }: OpenedDatabase, { runner, done }: Queue): Promise<number> {
  const jobs = Array.from({ length: 5_000 }, (_, index) => ({
    ...{ kind: 'short', name: `d${index}`, payload: null, lane: `lane ${index % LANES}` },
  }))
  const before = done()
  await enqueueAll(db, jobs, ids)
  const startedAt = performance.now()
  runner.wake()
  while (done() - before < jobs.length) await sleep(5)
  return jobs.length / ((performance.now() - startedAt) / 1_000)
}

/** Returns the p99 of the delay until jobs of quiet lanes start, milliseconds. */
async function startDelay({ db }: OpenedDatabase, { runner, delays }: Queue, label: string): Promise<number> {
  delays.length = 0
  for (let probe = 0; probe < PROBES; probe++) {
    await enqueue(db, { kind: 'short', name: `${label}${probe}`, payload: performance.now(), lane: 'quiet' }, ids)
    runner.wake()
    await sleep(10)
  }
  while (delays.length < PROBES) await sleep(5)
  return percentile(delays, 99)
}

async function measure(name: string, options: OpenOptions): Promise<readonly Verdict[]> {
  const database = await openDatabase(options)
  await migrate(database.db, Date.now)
  const queue = startQueue(database)
  await drained(database, queue)
  const perSecond = await sustained(database, queue)
  const alone = await startDelay(database, queue, 'alone')
  const crowd = Array.from({ length: CROWD }, (_, index) => ({
    kind: 'short',
    name: `c${index}`,
    payload: 'slow',
    lane: 'crowd',
  }))
  await enqueueAll(database.db, crowd, ids)
  const crowded = await startDelay(database, queue, 'crowded')
  await queue.runner.stop()
  await database.close()
  console.log(
    `${name}: ${perSecond.toFixed(0)} short jobs a second; a quiet lane's start p99 ${alone.toFixed(1)} ms,` +
      ` beside a lane of ${CROWD} jobs ${crowded.toFixed(1)} ms`,
  )
  return [
    {
      figure: `${name}: time of 1 000 short jobs, ms`,
      measured: 1_000_000 / perSecond,
      budget: THOUSAND_JOBS_MS,
    },
  ]
}

/** @returns whether both databases sustain 1 000 jobs per second. */
export async function benchJobs(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-jobs-'))
  const postgres = await startPostgres()
  const memory = existsSync('/dev/shm')
    ? '; PostgreSQL’s files are in memory here, so its commits wait for no disk'
    : ''
  console.log(`fsync of this disk p99 ${fsyncP99Ms().toFixed(1)} ms${memory}`)
  try {
    const schema = await createSchema(postgres.url)
    const sqlite = await measure('SQLite', { path: join(folder, 'turnpike.db') })
    return printVerdicts([...sqlite, ...(await measure('PostgreSQL', { url: schema.url }))])
  } finally {
    await postgres.stop()
    rmSync(folder, { recursive: true })
  }
}
