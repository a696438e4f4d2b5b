import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { type KyselyPlugin, sql } from 'kysely'
import { currentLocation, temporaryDatabase, testIds } from '../../test/support/database.ts'
import type { OpenedDatabase } from '../db/database.ts'
import { databaseUnavailable } from '../db/failure.ts'
import { doubling, every, type JobHandler, JobInterrupted, type JobKind } from './job.ts'
import { enqueue } from './queue.ts'
import { createJobRunner, type JobRunner, type JobRunnerOptions } from './runner.ts'
import { databaseNow } from './sql.ts'

const HOUR_MS = 3_600_000
const LEASE_MS = 60_000

const kindOf = (handler: JobHandler, over: Partial<JobKind> = {}): JobKind => ({
  handler,
  backoff: () => 0,
  maxAttempts: 3,
  concurrency: 1,
  ...over,
})

interface Lines {
  readonly warnings: object[]
  readonly errors: object[]
}

function runnerOf(
  t: TestContext,
  { db }: OpenedDatabase,
  over: Partial<JobRunnerOptions> & Pick<JobRunnerOptions, 'kinds'>,
): JobRunner & Lines {
  const warnings: object[] = []
  const errors: object[] = []
  const log = {
    warn: (fields: object) => void warnings.push(fields),
    error: (fields: object) => void errors.push(fields),
  }
  const clock = () => performance.now()
  const runner = createJobRunner({ db, ids: testIds, owner: 'here', log, clock, pollMs: 20, ...over })
  t.after(() => runner.stop())
  return { ...runner, warnings, errors }
}

/** What `look` gives, as soon as it gives something. */
async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (let looks = 0; looks < 3_000; looks++) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('It did not come.')
}

const jobNamed = ({ db }: OpenedDatabase, name: string) =>
  db.selectFrom('job').selectAll().where('name', '=', name).executeTakeFirstOrThrow()
const ended = (database: OpenedDatabase, name: string) =>
  until(async () => {
    const row = await jobNamed(database, name)
    return row.ended_at !== null && row
  })
const mail = (name: string, payload: unknown = null) => ({ kind: 'mail', name, payload })

test('a job that is enqueued here starts at once, and its row says how it ended', async (t) => {
  const database = await temporaryDatabase(t)
  const seen: unknown[] = []
  const mailKind = kindOf(async ({ kind, name, payload, attempt }) => void seen.push({ kind, name, payload, attempt }))
  const runner = runnerOf(t, database, { kinds: { mail: mailKind }, pollMs: HOUR_MS })
  runner.start()
  assert.equal(await runner.enqueue(mail('ada', { to: 'ada' })), true)
  assert.equal(await runner.enqueue(mail('ada')), false)
  const row = await ended(database, 'ada')
  assert.deepEqual([row.outcome, row.attempt, row.owner, row.lease_until], ['done', 1, null, null])
  assert.deepEqual(seen, [{ kind: 'mail', name: 'ada', payload: { to: 'ada' }, attempt: 1 }])
})

test('a job of another transaction is found by looking', async (t) => {
  const database = await temporaryDatabase(t)
  runnerOf(t, database, { kinds: { mail: kindOf(async () => {}) } }).start()
  await database.db.transaction().execute((transaction) => enqueue(transaction, mail('ada'), testIds))
  assert.equal((await ended(database, 'ada')).outcome, 'done')
})

test('a job that is due sooner than the next look is not kept waiting for it', async (t) => {
  const database = await temporaryDatabase(t)
  const runner = runnerOf(t, database, { kinds: { mail: kindOf(async () => {}) }, pollMs: HOUR_MS })
  await enqueue(database.db, { ...mail('soon'), runAt: Date.now() + 60 }, testIds)
  runner.start()
  assert.equal((await ended(database, 'soon')).outcome, 'done')
})

test('a failure is tried again after its backoff, with the error kept, until the attempts are used up', async (t) => {
  const database = await temporaryDatabase(t)
  const asked: number[] = []
  const backoff = (attempt: number) => {
    asked.push(attempt)
    return 1
  }
  const failing = kindOf(async ({ attempt }) => Promise.reject(new Error(`failure ${attempt}`)), { backoff })
  const passing = kindOf(async ({ attempt }) => {
    if (attempt < 3) throw new Error('not yet')
  })
  const runner = runnerOf(t, database, { kinds: { mail: failing, post: passing } })
  runner.start()
  await runner.enqueue(mail('ada'))
  await runner.enqueue({ ...mail('bob'), kind: 'post' })
  const [ada, bob] = [await ended(database, 'ada'), await ended(database, 'bob')]
  assert.deepEqual([ada.outcome, ada.attempt, ada.last_error], ['failed', 3, 'failure 3'])
  assert.deepEqual([bob.outcome, bob.attempt, bob.last_error], ['done', 3, null])
  assert.deepEqual(asked, [1, 2])
  assert.equal(runner.errors.length, 1)
  assert.equal(runner.warnings.length, 4)
})

test('of an error 1 000 characters are kept [limit: job-error]', async (t) => {
  const database = await temporaryDatabase(t)
  const failing = kindOf(async () => Promise.reject(new Error('x'.repeat(5_000))), { maxAttempts: 1 })
  const runner = runnerOf(t, database, { kinds: { mail: failing } })
  runner.start()
  await runner.enqueue(mail('ada'))
  assert.equal((await ended(database, 'ada')).last_error, 'x'.repeat(1_000))
})

test('backoff doubles up to its bound', () => {
  assert.deepEqual([1, 2, 3, 4, 60].map(doubling(1_000, 5_000)), [1_000, 2_000, 4_000, 5_000, 5_000])
})

test('no more of a kind run at once than it says, and a long queue does not hide another kind [limit: job-look]', async (t) => {
  const database = await temporaryDatabase(t)
  const open = Promise.withResolvers<void>()
  let atOnce = 0
  let most = 0
  const slow = kindOf(
    async () => {
      most = Math.max(most, ++atOnce)
      await open.promise
      atOnce--
    },
    { concurrency: 2 },
  )
  const runner = runnerOf(t, database, { kinds: { mail: slow, post: kindOf(async () => {}) } })
  const names = Array.from({ length: 150 }, (_, index) => `m${index}`)
  await database.db.transaction().execute(async (transaction) => {
    for (const name of names) await enqueue(transaction, { ...mail(name), runAt: 1 }, testIds)
    await enqueue(transaction, { ...mail('post'), kind: 'post' }, testIds)
  })
  runner.start()
  assert.equal((await ended(database, 'post')).outcome, 'done')
  await until(async () => runner.running() === 2) // the other's row says so a moment before it is off the list
  open.resolve()
  await until(async () => {
    const rows = database.db.selectFrom('job').select('id').where('ended_at', 'is', null)
    return (await rows.execute()).length === 0
  })
  assert.equal(most, 2)
})

test('a schedule runs again and again as one job, also after a failure', async (t) => {
  const database = await temporaryDatabase(t)
  let runs = 0
  const twice = Promise.withResolvers<void>()
  const sweep = every(5, async () => {
    runs++
    if (runs === 2) throw new Error('just once')
    if (runs === 5) twice.resolve()
  })
  const runner = runnerOf(t, database, { kinds: { sweep } })
  runner.start()
  await twice.promise
  await runner.stop()
  const rows = await database.db.selectFrom('job').selectAll().execute()
  assert.equal(rows.length, 1)
  assert.equal(rows[0]?.ended_at, null)
  assert.equal(runner.warnings.length, 1)
})

test('a stop tells handlers, waits for them, and leaves their jobs to the next process', async (t) => {
  const database = await temporaryDatabase(t)
  const reasons: unknown[] = []
  const begun = Promise.withResolvers<void>()
  const patient = kindOf(async (_job, { signal }) => {
    begun.resolve()
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    reasons.push(signal.reason)
    signal.throwIfAborted()
  })
  const runner = runnerOf(t, database, { kinds: { mail: patient } })
  runner.start()
  await runner.enqueue(mail('ada'))
  await begun.promise
  await runner.stop()
  assert.ok(reasons[0] instanceof JobInterrupted && reasons[0].reason === 'stopping')
  const row = await jobNamed(database, 'ada')
  assert.deepEqual([row.ended_at, row.owner, row.lease_until, row.last_error], [null, null, null, null])
  assert.deepEqual([runner.warnings, runner.errors], [[], []])
  runnerOf(t, database, { kinds: { mail: kindOf(async () => {}) }, owner: 'next' }).start()
  assert.equal((await ended(database, 'ada')).attempt, 2)
})

test('a stop does not wait for ever, and what is enqueued after it is left alone [limit: job-stop]', async (t) => {
  const database = await temporaryDatabase(t)
  const begun = Promise.withResolvers<void>()
  const deaf = kindOf(() => {
    begun.resolve()
    return new Promise(() => {})
  })
  const runner = runnerOf(t, database, { kinds: { mail: deaf }, stopMs: 20 })
  runner.start()
  await runner.enqueue(mail('ada'))
  await begun.promise
  await runner.stop()
  await runner.enqueue(mail('bob'))
  assert.equal((await jobNamed(database, 'bob')).attempt, 0)
  assert.equal((await jobNamed(database, 'ada')).owner, 'here')
})

test('JOB-2: a job that was lost is told so, and what its handler writes then is refused', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const database = await temporaryDatabase(t)
  const { db } = database
  const lost = Promise.withResolvers<unknown>()
  const answers: boolean[] = []
  const handler: JobHandler = async (job, { signal, stillMine }) => {
    answers.push(await stillMine())
    const theirs = { attempt: 9, owner: 'other', lease_until: Date.now() + HOUR_MS }
    await db.updateTable('job').set(theirs).where('id', '=', job.id).execute()
    const told = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    answers.push(await stillMine())
    answers.push(await db.transaction().execute((transaction) => stillMine(transaction)))
    t.mock.timers.tick(LEASE_MS / 4)
    await told
    lost.resolve(signal.reason)
    answers.push(await stillMine())
  }
  const runner = runnerOf(t, database, { kinds: { mail: kindOf(handler) }, leaseMs: LEASE_MS })
  runner.start()
  await runner.enqueue(mail('ada'))
  const reason = await lost.promise
  assert.ok(reason instanceof JobInterrupted && reason.reason === 'lost')
  await until(async () => runner.running() === 0)
  assert.deepEqual(answers, [true, false, false, false])
  const row = await jobNamed(database, 'ada')
  assert.deepEqual([row.owner, row.attempt, row.outcome], ['other', 9, null])
  assert.equal(runner.warnings.length, 1)
})

test('a handler that takes longer than its lease keeps it', async (t) => {
  const database = await temporaryDatabase(t)
  let starts = 0
  const slow = kindOf(async (job) => {
    starts++
    const first = (await jobNamed(database, job.name)).lease_until ?? 0
    const isOver = sql<{ over: number }>`select ${databaseNow()} > ${first} as over`
    await until(async () => (await isOver.execute(database.db)).rows[0]?.over === 1)
  })
  const runner = runnerOf(t, database, { kinds: { mail: slow }, leaseMs: 1_000 })
  runner.start()
  await runner.enqueue(mail('ada'))
  assert.equal((await ended(database, 'ada')).attempt, starts)
})

/** Lets queries fail as when the file is locked, as long as `isAway` says so. */
function failingDatabase(database: OpenedDatabase, isAway: (kind: string) => boolean): OpenedDatabase {
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      if (isAway(node.kind)) throw databaseUnavailable(new Error('locked'))
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return { ...database, db: database.db.withPlugin(plugin) }
}

test('a job that ended while the database was away is written when it is back, and not run again', async (t) => {
  const database = await temporaryDatabase(t)
  let refused = 0
  let endedOnce = false
  const away = (kind: string) => endedOnce && kind === 'RawNode' && refused++ < 1
  let starts = 0
  const kind = kindOf(async () => {
    starts++
    endedOnce = true
  })
  const runner = runnerOf(t, failingDatabase(database, away), { kinds: { mail: kind } })
  runner.start()
  await runner.enqueue(mail('ada'))
  assert.deepEqual([(await ended(database, 'ada')).attempt, starts], [1, 1])
  assert.ok(refused >= 1)
})

test('while the database is away nothing is started, with one word in the log; then it goes on', async (t) => {
  const database = await temporaryDatabase(t)
  let looks = 0
  const isAway = (kind: string) => kind === 'SelectQueryNode' && ++looks <= 3
  const runner = runnerOf(t, failingDatabase(database, isAway), { kinds: { mail: kindOf(async () => {}) } })
  await enqueue(database.db, mail('ada'), testIds)
  runner.start()
  assert.equal((await ended(database, 'ada')).outcome, 'done')
  assert.equal(runner.warnings.length, 1)
})

test('a job that ends no start of it is given up in the end', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  await enqueue(db, mail('poison'), testIds)
  await db.updateTable('job').set({ attempt: 8, owner: 'dead', lease_until: 1 }).execute()
  let starts = 0
  const runner = runnerOf(t, database, { kinds: { mail: kindOf(async () => void starts++) } })
  runner.start()
  const row = await ended(database, 'poison')
  assert.deepEqual([row.outcome, row.last_error, starts], ['failed', 'Started 8 times, and never came to an end.', 0])
})

interface OtherOptions {
  readonly path: string
  readonly leaseMs: number
  /** Freezes as soon as a job begins, with nothing of it under way in the database. */
  readonly freezes?: boolean
}

/** Another process with a runner of its own on the same file. Its `mail` handler tells of every start and waits for a line. */
function otherProcess(t: TestContext, { path, leaseMs, freezes = false }: OtherOptions) {
  const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)
  const code = `
    import { writeSync } from 'node:fs'
    import { createInterface } from 'node:readline'
    import { openLocation } from ${url('../../test/support/database.ts')}
    import { createJobRunner } from ${url('./runner.ts')}
    const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
    const say = (fields) => writeSync(1, JSON.stringify(fields) + '\\n')
    const { db } = await openLocation(${JSON.stringify(path)})
    const log = { warn: (fields, message) => say({ message }), error: (fields, message) => say({ message }) }
    const handler = async ({ name, attempt }, { stillMine }) => {
      say({ begun: name, attempt })
      if (${freezes}) process.kill(process.pid, 'SIGSTOP')
      await lines.next()
      say({ mine: await stillMine(), inTransaction: await db.transaction().execute((inside) => stillMine(inside)) })
    }
    const mail = { handler, backoff: () => 0, maxAttempts: 5, concurrency: 1 }
    let serial = 0
    createJobRunner({ db, ids: { job: () => 'job_other' + serial++ }, owner: 'other', log, pollMs: 20,
      clock: () => performance.now(), leaseMs: ${leaseMs}, kinds: { mail } }).start()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { child, line: async () => JSON.parse(String((await lines.next()).value)) }
}

/** A runner here whose handler notes when it began, by the database's clock. */
function takingOver(t: TestContext, database: OpenedDatabase) {
  const starts: { readonly attempt: number; readonly at: number }[] = []
  const kind = kindOf(async ({ attempt }) => {
    const at = await sql<{ now: number }>`select ${databaseNow()} as now`.execute(database.db)
    starts.push({ attempt, at: Number(at.rows[0]?.now) })
  })
  return { starts, runner: runnerOf(t, database, { kinds: { mail: kind } }) }
}

test('JOB-2: a process that is killed in a job loses it after the lease to another, which alone runs it then [limit: job-lease]', async (t) => {
  const path = await currentLocation(t)
  const database = await temporaryDatabase(t, path)
  await enqueue(database.db, mail('ada'), testIds)
  const { child, line } = otherProcess(t, { path, leaseMs: HOUR_MS })
  assert.deepEqual(await line(), { begun: 'ada', attempt: 1 })
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  // A lease as short as this might have run out while the process lived, on a machine that stood still.
  await database.db
    .updateTable('job')
    .set({ lease_until: sql<number>`${databaseNow()} + 500` })
    .execute()
  const { lease_until: leaseUntil } = await jobNamed(database, 'ada')
  const { starts, runner } = takingOver(t, database)
  runner.start()
  const row = await ended(database, 'ada')
  assert.deepEqual([row.outcome, row.attempt], ['done', 2])
  assert.equal(starts.length, 1)
  assert.ok((starts[0]?.at ?? 0) >= (leaseUntil ?? Number.POSITIVE_INFINITY))
})

test('JOB-1, JOB-2: a process that was frozen beyond its lease finds its job taken, and its late writes refused', async (t) => {
  const path = await currentLocation(t)
  const database = await temporaryDatabase(t, path)
  await enqueue(database.db, mail('ada'), testIds)
  const { child, line } = otherProcess(t, { path, leaseMs: 700, freezes: true })
  assert.deepEqual(await line(), { begun: 'ada', attempt: 1 })
  const { starts, runner } = takingOver(t, database)
  runner.start()
  const row = await ended(database, 'ada')
  child.stdin.write('go on\n')
  child.kill('SIGCONT')
  assert.deepEqual(await line(), { mine: false, inTransaction: false })
  assert.deepEqual(await line(), { message: 'job was taken over by another process' })
  assert.deepEqual(await jobNamed(database, 'ada'), row)
  assert.equal(starts.length, 1)
})

test('two processes share a queue: every job is run once, none by both', async (t) => {
  const path = await currentLocation(t)
  const database = await temporaryDatabase(t, path)
  const names = Array.from({ length: 40 }, (_, index) => `m${index}`)
  const { child, line } = otherProcess(t, { path, leaseMs: 60_000 })
  await enqueue(database.db, mail('first'), testIds)
  assert.deepEqual(await line(), { begun: 'first', attempt: 1 })
  await database.db.transaction().execute(async (transaction) => {
    for (const name of names) await enqueue(transaction, { ...mail(name), runAt: 1 }, testIds)
  })
  const here: string[] = []
  const there: string[] = ['first']
  child.stdin.on('error', () => undefined) // it may be dead before its last lines are read
  const listening = (async () => {
    for (child.stdin.write('\n'); ; child.stdin.write('\n')) {
      const { begun, mine } = await line()
      if (begun !== undefined) there.push(begun)
      else if (mine === undefined) return
    }
  })().catch(() => undefined)
  const kind = kindOf(async ({ name }) => void here.push(name), { concurrency: 1 })
  runnerOf(t, database, { kinds: { mail: kind } }).start()
  for (const name of names) assert.equal((await ended(database, name)).attempt, 1)
  child.kill('SIGKILL')
  await listening
  assert.deepEqual([...here, ...there].sort(), ['first', ...names].sort())
})
