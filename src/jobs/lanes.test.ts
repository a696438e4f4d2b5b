import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { CompiledQuery, type KyselyPlugin, type RootOperationNode, sql } from 'kysely'
import { currentLocation, dialect, postgresTest, temporaryDatabase, testIds } from '../../test/support/database.ts'
import type { OpenedDatabase } from '../db/database.ts'
import type { JobHandler } from './job.ts'
import { type DueJobs, findDueJobs, findReadyKinds, findSleeping, wakeSleeping } from './lanes.ts'
import { claim, claimInLanes, enqueueAll, finish, type LaneClaim, type NewJob } from './queue.ts'
import { createJobRunner, type JobRunnerOptions } from './runner.ts'

const LEASE_MS = 60_000

/** So many jobs of a lane. */
const jobsOf = (lane: string, count: number, over: Partial<NewJob> = {}): NewJob[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: 'mail',
    name: `${lane} ${index}`,
    payload: index,
    lane,
    ...over,
  }))

const look = ({ db }: OpenedDatabase, room: number, over: { laneConcurrency?: number; after?: string } = {}) =>
  findDueJobs(db, { kind: 'mail', room, laneConcurrency: over.laneConcurrency, after: over.after ?? '' })

const lanesOf = ({ jobs }: DueJobs) => jobs.map(({ lane }) => lane)

/** Claims and ends a turn, as a runner does. @returns The lanes of its jobs. */
async function claimNextLanes(database: OpenedDatabase, room: number, after: string) {
  const next = await look(database, room, { after })
  for (const job of await claim(database.db, { jobs: next.jobs, owner: 'one', leaseMs: LEASE_MS })) {
    await finish(database.db, { ...job, owner: 'one' }, { kind: 'done' })
  }
  return { last: next.last, lanes: lanesOf(next) }
}

test('lanes take turns: a look goes on after the lanes of the one before, and takes one of each before a second', async (t) => {
  const database = await temporaryDatabase(t)
  const jobs = [...jobsOf('a', 6), ...jobsOf('b', 1), ...jobsOf('c', 3), ...jobsOf('d', 1)]
  assert.equal(await enqueueAll(database.db, jobs, testIds), 11)
  assert.equal(await enqueueAll(database.db, jobs, testIds), 0)
  let after = ''
  const rounds: string[] = []
  for (const room of [3, 3, 3, 2]) {
    const next = await claimNextLanes(database, room, after)
    rounds.push(next.lanes.join(''))
    after = next.last
  }
  assert.deepEqual(rounds, ['abc', 'dac', 'aca', 'aa'])
  assert.deepEqual((await look(database, 3)).jobs, [])
})

test('WH-5: 10 000 due jobs of one lane delay the only job of another by one round at most', async (t) => {
  const database = await temporaryDatabase(t)
  const crowd = [...jobsOf('m', 5_000), ...jobsOf('m', 5_000, { kind: 'mail', runAt: 1 })].map((job, index) => ({
    ...job,
    name: `m ${index}`,
  }))
  await enqueueAll(database.db, crowd, testIds)
  for (const lane of ['a', 'z']) {
    const first = await claimNextLanes(database, 10, '')
    assert.deepEqual(new Set(first.lanes), new Set(['m']))
    await enqueueAll(database.db, jobsOf(lane, 1), testIds)
    assert.ok((await claimNextLanes(database, 10, first.last)).lanes.includes(lane), lane)
  }
})

test('within a lane priority comes first, then time; other lanes are served nevertheless', async (t) => {
  const database = await temporaryDatabase(t)
  const named = (name: string, over: Partial<NewJob>) => ({ kind: 'mail', name, payload: null, lane: 'a', ...over })
  const jobs = [
    named('usual', {}),
    named('last', { priority: 9 }),
    named('first', { priority: 0 }),
    named('old', { runAt: 1 }),
    named('other lane', { lane: 'b', priority: 9 }),
  ]
  await enqueueAll(database.db, jobs, testIds)
  await wakeSleeping(database.db, await findSleeping(database.db, { kinds: ['mail'], limit: 9 }))
  const { jobs: found } = await look(database, 9)
  const rows = await database.db.selectFrom('job').select(['id', 'name']).execute()
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  assert.deepEqual(
    found.map(({ id }) => names.get(id)),
    ['first', 'other lane', 'old', 'usual', 'last'],
  )
})

test('lanes that run all they may are passed by, a thousand and more [limit: job-lanes]', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  const full = Array.from({ length: 1_200 }, (_, index) => jobsOf(`full ${index}`, 2)).flat()
  await enqueueAll(db, [...full, ...jobsOf('z', 5)], testIds)
  const first = await look(database, 1_201, { laneConcurrency: 1 })
  const second = await look(database, 1_201, { laneConcurrency: 1, after: first.last })
  const jobs = [...first.jobs, ...second.jobs].filter(({ lane }) => lane !== 'z')
  assert.equal((await claim(db, { jobs, owner: 'one', leaseMs: LEASE_MS })).length, 1_200)
  // From the beginning it is too far for one look; the next one goes on where that stopped.
  const stopped = await look(database, 5, { laneConcurrency: 1 })
  assert.deepEqual(lanesOf(stopped), [])
  assert.deepEqual(lanesOf(await look(database, 5, { laneConcurrency: 1, after: stopped.last })), ['z'])
  for (const after of ['full 500', 'full 999']) {
    assert.deepEqual(lanesOf(await look(database, 5, { laneConcurrency: 1, after })), ['z'])
  }
})

test('WH-5: no more of a lane run at once than it may, in all processes together; a lost one counts until its lease is over', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  await enqueueAll(db, [...jobsOf('a', 30), ...jobsOf('b', 2)], testIds)
  const { jobs } = await look(database, 32)
  const base: Omit<LaneClaim, 'owner' | 'leaseMs'> = { kind: 'mail', jobs, laneConcurrency: 10 }
  const owners = Array.from({ length: 6 }, (_, index) => `owner ${index}`)
  const claims = await Promise.all(owners.map((owner) => claimInLanes(db, { ...base, owner, leaseMs: LEASE_MS })))
  const held = claims.flatMap((jobsOfOwner, index) => jobsOfOwner.map((job) => ({ ...job, owner: `owner ${index}` })))
  assert.equal(held.length, 12)
  assert.deepEqual(lanesOf(await look(database, 5, { laneConcurrency: 10 })), [])
  const [ended] = held.filter(({ name }) => name.startsWith('a'))
  assert.ok(ended)
  await finish(db, ended, { kind: 'done' })
  assert.deepEqual(lanesOf(await look(database, 5, { laneConcurrency: 10 })), ['a'])
  await db.updateTable('job').set({ lease_until: 1 }).where('owner', 'is not', null).execute()
  assert.equal((await look(database, 20, { laneConcurrency: 10 })).jobs.length, 10)
})

test('a look wakes 19 020 jobs at most before it starts any; the next one goes on [limit: job-wakes]', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  const COUNT = 19_100
  await enqueueAll(db, jobsOf('a', COUNT, { runAt: 1 }), testIds)
  const count = db.selectFrom('job').select(({ fn }) => fn.countAll<number>().as('count'))
  const sleeping = async () => Number((await count.where('ready', '=', 0).executeTakeFirstOrThrow()).count)
  const log: JobRunnerOptions['log'] = { warn: () => undefined, error: () => undefined }
  const running = Promise.withResolvers<void>()
  const kind = { handler: () => running.promise, backoff: () => 0, maxAttempts: 1, concurrency: 1 }
  const options = { db, ids: testIds, owner: 'here', log, clock: () => performance.now() }
  const runner = createJobRunner({ ...options, kinds: { mail: kind }, pollMs: 3_600_000 })
  t.after(() => runner.stop())
  runner.start()
  await runner.looked()
  assert.equal(await sleeping(), COUNT - 19_020 + 1) // the one that runs sleeps until its lease ends
  assert.equal(runner.running(), 1)
  runner.wake()
  await runner.looked()
  assert.equal(await sleeping(), 1)
  running.resolve()
})

/** A process with a runner that tells every start, one line each, and ends each job at once. */
function otherRunner(t: TestContext, path: string) {
  const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)
  const code = `
    import { writeSync } from 'node:fs'
    import { openLocation } from ${url('../../test/support/database.ts')}
    import { createJobRunner } from ${url('./runner.ts')}
    const { db } = await openLocation(${JSON.stringify(path)})
    const log = { warn: () => {}, error: () => {} }
    const handler = async ({ name, attempt }) => void writeSync(1, name + '/' + attempt + '\\n')
    const mail = { handler, backoff: () => 0, maxAttempts: 5, concurrency: 7, laneConcurrency: 5 }
    createJobRunner({ db, ids: { job: () => 'none' }, owner: 'other', log, pollMs: 20, leaseMs: 1000,
      clock: () => performance.now(), kinds: { mail } }).start()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  return child
}

test('JOB-1: of two runners on one database one is killed: no attempt is run by both, every job comes to its end', async (t) => {
  const path = await currentLocation(t)
  const database = await temporaryDatabase(t, path)
  await enqueueAll(
    database.db,
    ['a', 'b', 'c', 'd'].flatMap((lane) => jobsOf(lane, 100)),
    testIds,
  )
  const starts: string[] = []
  const child = otherRunner(t, path)
  const there = createInterface({ input: child.stdout })
  const seenThere: string[] = []
  const thereDone = new Promise<void>((resolve) => there.once('close', resolve))
  const begun = new Promise<void>((resolve) => {
    there.on('line', (line) => {
      seenThere.push(line)
      if (seenThere.length === 20) {
        child.kill('SIGKILL')
        resolve()
      }
    })
  })
  const handler: JobHandler = async ({ name, attempt }) => void starts.push(`${name}/${attempt}`)
  const kind = { handler, backoff: () => 0, maxAttempts: 5, concurrency: 3, laneConcurrency: 5 }
  const log: JobRunnerOptions['log'] = { warn: () => undefined, error: () => undefined }
  const clock = () => performance.now()
  const options = { db: database.db, ids: testIds, owner: 'here', log, clock, pollMs: 20, leaseMs: 1_000 }
  const runner = createJobRunner({ ...options, kinds: { mail: kind } })
  t.after(() => runner.stop())
  await begun
  runner.start()
  await thereDone
  const open = database.db.selectFrom('job').select('id').where('ended_at', 'is', null).limit(1)
  while ((await open.execute()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
  const all = [...starts, ...seenThere]
  assert.equal(new Set(all).size, all.length)
  assert.equal(new Set(all.map((start) => start.split('/')[0])).size, 400)
})

/* How databases carry out what looks for jobs: it costs what is asked for, whatever waits. */

const JOBS = 100_000

/** Notes every query that it carries out. */
function noted({ db }: OpenedDatabase) {
  const asked: CompiledQuery[] = []
  const note: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      asked.push(db.getExecutor().compileQuery<unknown>(node, queryId))
      return node satisfies RootOperationNode
    },
    transformResult: async ({ result }) => result,
  }
  return { db: db.withPlugin(note), asked }
}

/** How the database would carry out everything that a look and a claim ask. */
async function plansOf(database: OpenedDatabase): Promise<readonly string[]> {
  const { db, asked } = noted(database)
  await findReadyKinds(db, ['mail', 'none'])
  await wakeSleeping(db, await findSleeping(db, { kinds: ['mail'], limit: 100 }))
  const { jobs } = await findDueJobs(db, { kind: 'mail', room: 40, laneConcurrency: 10, after: 'lane 5' })
  assert.equal(jobs.length, 40)
  const claimed = await claim(db, { jobs, owner: 'one', leaseMs: LEASE_MS })
  for (const job of claimed) await finish(db, { ...job, owner: 'one' }, { kind: 'done' })
  const texts = new Map(asked.map(({ sql: text, parameters }) => [text, parameters]))
  const explain = dialect === 'sqlite' ? 'explain query plan ' : 'explain (costs off) '
  const plans = [...texts].map(async ([text, parameters]) => {
    const { rows } = await database.db.executeQuery<Record<string, string>>(
      CompiledQuery.raw(explain + text, [...parameters]),
    )
    return rows.map((row) => row['detail'] ?? row['QUERY PLAN']).join('\n')
  })
  return Promise.all(plans)
}

test('with 100 000 jobs waiting, a look and a claim read by indexes alone', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  const numbers =
    dialect === 'sqlite'
      ? sql`(with recursive n (i) as (select 1 union all select i + 1 from n where i < ${sql.lit(JOBS)}) select i from n) as n`
      : sql`generate_series(1, ${sql.lit(JOBS)}) as n (i)`
  await sql`insert into job (id, kind, name, payload, run_at, attempt, created_at, lane, ready)
    select 'job_' || i, 'mail', 'n' || i, 'null', 1, 0, 1, 'lane ' || (i % 1000), case when i % 10 = 0 then 0 else 1 end
    from ${numbers}`.execute(db)
  if (dialect === 'postgres') await sql`analyze job`.execute(db)
  const plans = await plansOf(database)
  assert.ok(plans.length >= 7)
  const wide = dialect === 'sqlite' ? /\bSCAN (job\b(?! USING INDEX job_waiting))/ : /Seq Scan on job\b/
  for (const plan of plans) assert.doesNotMatch(plan, wide)
  for (const index of ['job_ready', 'job_waiting', 'job_running']) {
    assert.ok(
      plans.some((plan) => plan.includes(index)),
      index,
    )
  }
})

/** What a plan that was carried out has read of the table, each time that it was carried out. */
function rowsRead({
  Plans = [],
  ...node
}: Readonly<Record<string, unknown>> & { readonly Plans?: readonly Plan[] }): number {
  const own = node['Relation Name'] === 'job' ? Number(node['Actual Rows']) * Number(node['Actual Loops']) : 0
  return Plans.reduce((sum, plan) => sum + rowsRead(plan), own)
}
type Plan = Parameters<typeof rowsRead>[0]

async function fill({ db }: OpenedDatabase, { count, lane, ready }: { count: number; lane: string; ready: 0 | 1 }) {
  await sql`insert into job (id, kind, name, payload, run_at, attempt, created_at, lane, ready, ended_at)
    select 'job_' || ${lane} || i, 'mail', ${lane} || i, 'null', 1, 0, 1, ${lane}, ${ready}, ${ready ? null : 2}
    from generate_series(1, ${sql.lit(count)}) as n (i)`.execute(db)
}

postgresTest('a crowd that came after the server last counted is not read as a whole', async (t) => {
  const database = await temporaryDatabase(t)
  await fill(database, { count: 20_000, lane: 'a', ready: 0 })
  await sql`analyze job`.execute(database.db)
  for (const lane of ['b', 'c', 'd']) await fill(database, { count: 5_000, lane, ready: 1 })
  const { db, asked } = noted(database)
  assert.deepEqual(await findReadyKinds(db, ['mail', 'none']), ['mail'])
  assert.equal((await findDueJobs(db, { kind: 'mail', room: 30, laneConcurrency: 10, after: '' })).jobs.length, 30)
  assert.ok(asked.length >= 3)
  for (const { sql: text, parameters } of asked) {
    const explain = CompiledQuery.raw(`explain (analyze, format json) ${text}`, [...parameters])
    const { rows } = await database.db.executeQuery<{ 'QUERY PLAN': string }>(explain)
    const [{ Plan: plan }] = JSON.parse(rows[0]?.['QUERY PLAN'] ?? '') as [{ Plan: Plan }] // as PostgreSQL says it is
    assert.ok(rowsRead(plan) < 200, `${rowsRead(plan)} rows of ${text}`)
  }
})
