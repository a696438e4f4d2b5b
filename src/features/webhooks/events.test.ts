import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CompiledQuery, type KyselyPlugin, type RootOperationNode, sql } from 'kysely'
import { type AgentApi, openAgentApi } from '../../../test/support/agents/agents.ts'
import { dialect, testIds } from '../../../test/support/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { AccountId, AgentId, EventId } from '../../domain/ids.ts'
import type { RunEnding } from '../agents/run.ts'
import { deliveriesOfEvents, listEventsOfAgent, MAX_RUNS } from './events.ts'

const DONE: RunEnding = { status: 'completed', summary: 'Done.', seen: 1 }
const ALL = { limit: 100, order: 'desc', after: undefined } as const

interface Listed {
  readonly id: EventId
  readonly type: string
  readonly data: { readonly agent: { readonly id: string } }
}

async function setUp(t: TestContext) {
  const api = await openAgentApi(t)
  const list = async (query: string, token = api.token) => {
    const answer = await api.app.ask('GET', `/v1/events?${query}`, { token })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json<{ data: readonly Listed[]; next_cursor: string | null }>()
  }
  const work = async (agentId: string, ending?: RunEnding) => {
    const mine = await api.start(agentId)
    const started = Date.now()
    while (Date.now() === started) await new Promise(setImmediate) // ids of one millisecond are in no order
    return api.end(mine, ending)
  }
  return { ...api, list, work }
}

/** More rows like the one that there is, with what is different in each. */
async function addLike<Table extends 'run' | 'event' | 'delivery'>(
  { app: { database } }: Pick<AgentApi, 'app'>,
  table: Table,
  changes: readonly Partial<Database[Table]>[],
): Promise<void> {
  const query = sql<Record<string, unknown>>`select * from ${sql.table(table)} order by id limit 1`
  const [pattern] = (await query.execute(database.db)).rows
  assert.ok(pattern)
  for (let at = 0; at < changes.length; at += 500) {
    const rows = changes.slice(at, at + 500).map((change) => ({ ...pattern, ...change }))
    await database.db
      .insertInto(table)
      .values(rows as never)
      .execute()
  }
}

test('TEN-1: what is told of an agent through all of its runs, and only that, only to its account', async (t) => {
  const { app, accountId, create, ask, claim, deps, list, work } = await setUp(t)
  const { id } = await create()
  const { id: other } = await create()
  await work(id)
  await ask('POST', `/${id}/followup`, { body: { prompt: 'Again.' } })
  await work(id, DONE)
  await work(other)
  const { runId } = await claim(id)
  const { db } = app.database
  const run = await db.selectFrom('run').selectAll().where('id', '=', runId).executeTakeFirstOrThrow()
  const [twin] = (await list(`agent_id=${other}&type=agent.failed`)).data
  assert.ok(twin)
  await deps.recordEvent(db, { accountId, type: 'agent.failed', data: twin.data, createdAt: run.ended_at } as never)
  const types = (rows: readonly Listed[]) => rows.map(({ type }) => type)
  const newest = (await list(`agent_id=${id}`)).data
  assert.deepEqual(types(newest), ['agent.completed', 'agent.started', 'agent.failed', 'agent.started'])
  assert.ok(newest.every(({ data }) => data.agent.id === id))
  assert.deepEqual((await list(`agent_id=${id}&order=asc`)).data, newest.toReversed())
  assert.deepEqual((await list(`agent_id=${id}&type=agent.failed`)).data, [newest[2]])
  const paged: Listed[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await list(`agent_id=${id}&limit=1${cursor && `&cursor=${cursor}`}`)
    paged.push(...page.data)
    cursor = page.next_cursor
  }
  assert.deepEqual(paged, newest)
  const outsider = await app.key(await app.account())
  assert.deepEqual((await list(`agent_id=${id}`, outsider)).data, [])
  for (const wrong of ['', 'agt_', "x'%25", accountId]) assert.deepEqual((await list(`agent_id=${wrong}`)).data, [])
  const { next_cursor: cursor } = await list(`agent_id=${id}&limit=1`)
  const elsewhere = await app.ask('GET', `/v1/events?agent_id=${other}&cursor=${cursor}`, {
    token: await app.key(accountId),
  })
  assert.equal(elsewhere.statusCode, 400)
  await ask('DELETE', `/${id}`)
  assert.deepEqual((await list(`agent_id=${id}`)).data, [])
})

test('[limit: runs-of-agent-events] what is told of the newest 1 000 runs of an agent is found', async (t) => {
  const api = await setUp(t)
  const { id } = await api.create()
  await api.work(id)
  const start = Date.now()
  const runs = Array.from({ length: MAX_RUNS }, (_, at) => ({ number: at + 2, id: testIds.run() }))
  await addLike(
    api,
    'run',
    runs.map((run) => ({ ...run, started_at: start + run.number, ended_at: null })),
  )
  const events = runs.map(({ number }) => ({ id: testIds.event(), created_at: start + number }))
  await addLike(api, 'event', events)
  const filter = { accountId: api.accountId, agentId: id as AgentId, type: undefined }
  const found = await listEventsOfAgent(api.app.database.db, filter, { ...ALL, limit: 2_000 })
  assert.deepEqual(found.map((row) => row.id).sort(), events.map((row) => row.id).sort())
})

test('neither events of an agent nor where they went are looked for in all events and deliveries', async (t) => {
  const api = await setUp(t)
  const { accountId } = api
  const { db } = api.app.database
  const body = { url: 'https://receiver.example.com/', events: ['agent.failed'] }
  assert.equal((await api.app.ask('POST', '/v1/webhooks', { token: api.token, body })).statusCode, 201)
  const { id } = await api.create()
  await api.work(id)
  const rows = Array.from({ length: 20_000 }, (_, at) => ({ id: testIds.event(), created_at: at }))
  await addLike(api, 'event', rows)
  const deliveries = rows.map((row) => ({ id: `dlv_00000001${row.id.slice(12)}` as never, event_id: row.id }))
  await addLike(api, 'delivery', deliveries)
  for (const query of dialect === 'postgres' ? ['analyze event', 'analyze delivery', 'analyze run'] : [])
    await db.executeQuery(CompiledQuery.raw(query))
  const plans = await plansOf(api, async (noted) => {
    const found = await listEventsOfAgent(noted, { accountId, agentId: id as AgentId, type: undefined }, ALL)
    assert.equal(found.length, 2)
    const [ended] = found
    assert.ok(ended)
    const of = await deliveriesOfEvents(
      noted,
      accountId as AccountId,
      found.map((row) => row.id),
    )
    assert.deepEqual([of(ended.id).length, found[1] && of(found[1].id).length], [1, 0])
  })
  const [byTime] = plans.filter((plan) => plan.includes('event_created_at'))
  assert.ok(byTime, plans.join('\n\n'))
  const [byBirth] = plans.filter((plan) => /delivery/.test(plan))
  assert.ok(byBirth)
  assert.match(byBirth, dialect === 'sqlite' ? /webhook_id=\? AND id>\? AND id<\?/ : /id >= .*id < /)
  for (const plan of plans) assert.doesNotMatch(plan, /SCAN (event|delivery|run)\b|Seq Scan on (event|delivery)\b/)
})

/** How the database carries out what is asked. */
async function plansOf(
  { app: { database } }: AgentApi,
  ask: (db: typeof database.db) => Promise<void>,
): Promise<readonly string[]> {
  const asked: CompiledQuery[] = []
  const note: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      asked.push(database.db.getExecutor().compileQuery<unknown>(node, queryId))
      return node satisfies RootOperationNode
    },
    transformResult: async ({ result }) => result,
  }
  await ask(database.db.withPlugin(note))
  const explain = dialect === 'sqlite' ? 'explain query plan ' : 'explain (costs off) '
  const plans = asked.map(async ({ sql: text, parameters }) => {
    const raw = CompiledQuery.raw(explain + text, [...parameters])
    const { rows } = await database.db.executeQuery<Record<string, string>>(raw)
    return rows.map((row) => row['detail'] ?? row['QUERY PLAN']).join('\n')
  })
  return Promise.all(plans)
}
