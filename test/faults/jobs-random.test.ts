/**
 * Four processes that run jobs of fifty lanes are killed and frozen at random moments: half a minute, so it is slow. What
 * the books say is noted by the database itself, in the order in which it happens.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { OpenedDatabase } from '../../src/db/database.ts'
import { enqueueAll, type NewJob } from '../../src/jobs/queue.ts'
import { currentLocation, dialect, temporaryDatabase, testIds } from '../support/database.ts'
import { KIND, LANE_CONCURRENCY, LEASE_MS, type Work } from '../support/process/jobs-victim.ts'
import { type Random, seeded } from './kit/scenario.ts'

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const RUNNERS = 4
const LANES = 50
const CROWDED = 4
const KILLS = 24
/** Lanes of one job each, which come while the others are crowded. */
const LATE_COMERS = 12
const VICTIM = new URL('../support/process/jobs-victim.ts', import.meta.url).pathname
const WITHIN_MS = 240_000

const between = (random: Random, least: number, most: number): number => least + Math.floor(random() * (most - least))
const laneName = (lane: number): string => `lane ${String(lane).padStart(2, '0')}`

function crowd(random: Random): readonly NewJob[] {
  return Array.from({ length: LANES }, (_, lane) => {
    const count = lane % (LANES / CROWDED) < 1 ? between(random, 150, 250) : between(random, 1, 25)
    return Array.from({ length: count }, (_job, index): NewJob => {
      const work: Work = { ms: durationOf(random, count), fails: random() < 0.1 ? 1 : 0 }
      const name = `${laneName(lane).replace(' ', '-')}-${index}`
      return { kind: KIND, name, payload: work, lane: laneName(lane), priority: between(random, 0, 10) }
    })
  }).flat()
}

/** In the crowds some last longer than a lease, so that they are renewed, or are not. */
function durationOf(random: Random, count: number): number {
  if (count > 100 && random() < 0.05) return between(random, LEASE_MS, 2 * LEASE_MS)
  return random() < 0.3 ? 0 : between(random, 1, 25)
}

/** Every state that a job's row has had, in the order of the database. */
interface Noted {
  readonly seq: number
  readonly id: string
  readonly name: string
  readonly lane: string
  readonly attempt: number
  readonly owner: string | null
  readonly lease_until: number | null
  readonly outcome: string | null
  readonly at: number
}

const COLUMNS = 'id, name, lane, attempt, owner, lease_until, outcome, at'
const NEW_ROW = 'new.id, new.name, new.lane, new.attempt, new.owner, new.lease_until, new.outcome, turnpike_now()'
const TYPES =
  'id text, name text, lane text, attempt bigint, owner text, lease_until bigint, outcome text, at bigint not null'
const BOOKS: Readonly<Record<typeof dialect, readonly string[]>> = {
  sqlite: [
    `create table job_book (seq integer primary key, ${TYPES})`,
    `create trigger job_noted after update on job begin insert into job_book (${COLUMNS}) values (${NEW_ROW}); end`,
  ],
  postgres: [
    `create table job_book (seq bigserial primary key, ${TYPES})`,
    `create function note_job() returns trigger language plpgsql as $$
      begin insert into job_book (${COLUMNS}) values (${NEW_ROW}); return null; end $$`,
    'create trigger job_noted after update on job for each row execute function note_job()',
  ],
}

const rawSql = (text: string): RawBuilder<unknown> => sql.raw(text)

interface Runner {
  readonly owner: string
  readonly child: ChildProcess
  readonly gone: Promise<void>
}

interface Floor {
  readonly place: string
  /** `begin name attempt` and `end name attempt`, of all processes. */
  readonly said: string[]
  readonly runners: Runner[]
  started: number
}

function startRunner(floor: Floor): void {
  floor.started += 1
  const owner = `runner ${floor.started}`
  const child = spawn(process.execPath, [VICTIM, floor.place, owner], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => void floor.said.push(line))
  const gone = new Promise<void>((resolve) => lines.once('close', resolve))
  floor.runners.push({ owner, child, gone })
}

/** One of those that run dies or stands still for longer than its leases; another takes its place. */
async function harm(floor: Floor, random: Random): Promise<void> {
  const victim = floor.runners[between(random, 0, floor.runners.length)] ?? assert.fail()
  if (random() < 0.25) {
    victim.child.kill('SIGSTOP')
    await sleep(between(random, LEASE_MS / 2, 2 * LEASE_MS))
    victim.child.kill('SIGCONT')
    return
  }
  victim.child.kill('SIGKILL')
  await victim.gone
  floor.runners.splice(floor.runners.indexOf(victim), 1)
  await sleep(between(random, 0, 300))
  startRunner(floor)
}

async function untilDone({ db }: OpenedDatabase): Promise<void> {
  const open = db.selectFrom('job').select(['name', 'attempt', 'owner']).where('ended_at', 'is', null).limit(5)
  const until = performance.now() + WITHIN_MS
  for (;;) {
    const rows = await open.execute()
    if (rows.length === 0) return
    assert.ok(performance.now() < until, `still open: ${JSON.stringify(rows)}`)
    await sleep(50)
  }
}

async function play(t: TestContext, random: Random) {
  const place = await currentLocation(t)
  const database = await temporaryDatabase(t, place)
  for (const statement of BOOKS[dialect]) await rawSql(statement).execute(database.db)
  const jobs = [...crowd(random)]
  await enqueueAll(database.db, jobs, testIds)
  const floor: Floor = { place, said: [], runners: [], started: 0 }
  t.after(() => {
    for (const { child } of floor.runners) child.kill('SIGKILL')
  })
  for (let count = 0; count < RUNNERS; count++) startRunner(floor)
  const harms = (async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(between(random, 50, 500))
      await harm(floor, random)
    }
  })()
  const seenFrom = new Map<string, number>()
  for (let comer = 0; comer < LATE_COMERS; comer++) {
    await sleep(between(random, 100, 900))
    const late: NewJob = { kind: KIND, name: `late-${comer}`, payload: { ms: 0, fails: 0 }, lane: lateLane(comer) }
    jobs.push(late)
    await enqueueAll(database.db, [late], testIds)
    seenFrom.set(late.name, Date.now())
  }
  await harms
  await untilDone(database)
  for (const { child } of floor.runners) child.kill('SIGKILL')
  await Promise.all(floor.runners.map(({ gone }) => gone))
  const { rows: book } = await sql<Noted>`select * from job_book order by seq`.execute(database.db)
  return { database, jobs, said: floor.said, book, seenFrom }
}

/** Before, among and after the crowded ones. */
const lateLane = (comer: number): string => `${['a', 'lane 25', 'z'][comer % 3]} late ${comer}`

type Played = Awaited<ReturnType<typeof play>>

/** JOB-1: every job was worked on to its end at least once, ended once, and no attempt was anybody else's as well. */
async function assertCarriedOut({ database, jobs, said, book }: Played): Promise<void> {
  const rows = await database.db.selectFrom('job').select(['name', 'attempt', 'outcome', 'owner', 'failures']).execute()
  assert.equal(rows.length, jobs.length)
  assert.equal(new Set(said).size, said.length, 'no attempt is begun or ended twice')
  const lines = new Set(said)
  for (const { name, attempt, outcome, owner } of rows) {
    assert.deepEqual([outcome, owner], ['done', null], name)
    assert.ok(lines.has(`end ${name} ${attempt}`), `${name}: done in the books, so its handler came to its end`)
  }
  const owners = new Map<string, string>()
  const ended = new Set<string>()
  for (const { name, attempt, owner, outcome } of book) {
    assert.ok(!ended.has(name), `${name} is left alone after its end`)
    if (outcome !== null) ended.add(name)
    if (owner === null) continue
    const start = `${name} ${attempt}`
    assert.equal(owners.get(start) ?? owner, owner, `attempt ${start} has one owner`)
    owners.set(start, owner)
  }
  assert.equal(ended.size, jobs.length)
  for (const line of said) assert.ok(owners.has(line.slice(line.indexOf(' ') + 1)), `${line}: only what was claimed`)
}

interface Leases {
  /** Claims, with how many of their lane ran before them. */
  readonly claims: readonly (Noted & { readonly running: number })[]
  readonly most: number
  /** Leases that were over and were renewed after all. */
  readonly revived: number
}

function leasesIn(book: readonly Noted[]): Leases {
  const held = new Map<string, Noted>()
  const claims: (Noted & { running: number })[] = []
  let most = 0
  let revived = 0
  for (const row of book) {
    const before = held.get(row.id)
    if (row.owner === null) {
      held.delete(row.id)
      continue
    }
    const others = [...held.values()].filter(({ id, lane }) => id !== row.id && lane === row.lane)
    const running = others.filter(({ lease_until: until }) => (until ?? 0) > row.at).length
    if (before?.attempt !== row.attempt) {
      assert.ok(
        (before?.lease_until ?? 0) <= row.at,
        `${row.name} is not taken from ${before?.owner} that has its lease`,
      )
      claims.push({ ...row, running })
    } else if ((row.lease_until ?? 0) > row.at && (before.lease_until ?? 0) <= row.at) revived += 1
    if ((row.lease_until ?? 0) > row.at) most = Math.max(most, running + 1)
    held.set(row.id, row)
  }
  return { claims, most, revived }
}

/**
 * WH-5: of any other lane, a process starts two jobs at most before it comes to a lane that has one waiting: one in the
 * look that was under way, one in its round. A third is for the time between a statement and its commit.
 */
const TURNS = 3

async function assertFair({ database, seenFrom }: Played, claims: Leases['claims']): Promise<number> {
  const late = await database.db.selectFrom('job').select(['id', 'name', 'lane']).execute()
  let worst = 0
  for (const { id, name, lane } of late.filter((job) => job.lane.includes('late'))) {
    const [first, from] = [claims.find((claim) => claim.id === id), seenFrom.get(name)]
    // When it was committed, not when it was born: on PostgreSQL anybody may start something in between.
    assert.ok(first !== undefined && from !== undefined)
    const turns = new Map<string, number>()
    for (const claim of claims) {
      if (claim.at <= from || claim.at >= first.at || claim.lane === lane) continue
      const turn = `${claim.owner} in ${claim.lane}`
      turns.set(turn, (turns.get(turn) ?? 0) + 1)
    }
    for (const [turn, count] of turns) {
      assert.ok(count <= TURNS, `${lane} waited while ${turn} started ${count}`)
      worst = Math.max(worst, count)
    }
  }
  return worst
}

test(`JOB-1, WH-5: ${RUNNERS} processes, ${LANES} lanes, ${KILLS} kills and freezes at random (seed ${SEED})`, async (t) => {
  const played = await play(t, seeded(SEED))
  await assertCarriedOut(played)
  const { claims, most, revived } = leasesIn(played.book)
  const worst = await assertFair(played, claims)
  const { length: jobs } = played.jobs
  console.log(
    `seed ${SEED}, ${dialect}: ${jobs} jobs, ${claims.length} starts; at most ${most} of a lane at once, ${revived} leases revived, ${worst} turns waited`,
  )
  assert.ok(claims.length > jobs, 'some were lost')
  for (const { name, running } of claims) assert.ok(running < LANE_CONCURRENCY, `${name} is more than its lane may run`)
  assert.ok(most <= LANE_CONCURRENCY + revived, 'only a lease that was over and came back is beyond that')
})
