/** How databases carry out what looks for jobs: it costs what is asked for, whatever waits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompiledQuery, type KyselyPlugin, type RootOperationNode, sql } from 'kysely'
import { dialect, postgresTest, temporaryDatabase } from '../../test/support/database.ts'
import type { OpenedDatabase } from '../db/open.ts'
import { claim, finish } from './queue.ts'
import { findReadyKinds, findSleeping, findTurn, wakeSleeping } from './waiting.ts'

const LEASE_MS = 60_000
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
  const { jobs } = await findTurn(db, { kind: 'mail', room: 40, laneConcurrency: 10, after: 'lane 5' })
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
  assert.equal((await findTurn(db, { kind: 'mail', room: 30, laneConcurrency: 10, after: '' })).jobs.length, 30)
  assert.ok(asked.length >= 3)
  for (const { sql: text, parameters } of asked) {
    const explain = CompiledQuery.raw(`explain (analyze, format json) ${text}`, [...parameters])
    const { rows } = await database.db.executeQuery<{ 'QUERY PLAN': string }>(explain)
    const [{ Plan: plan }] = JSON.parse(rows[0]?.['QUERY PLAN'] ?? '') as [{ Plan: Plan }] // as PostgreSQL says it is
    assert.ok(rowsRead(plan) < 200, `${rowsRead(plan)} rows of ${text}`)
  }
})
