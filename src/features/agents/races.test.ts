import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AgentApi, ORDER, openAgentApi } from '../../../test/support/agents/agents.ts'
import { isEnded } from '../../domain/agent.ts'
import { RUN_JOB } from './lifecycle.ts'

const TWENTY = Array.from({ length: 20 }, (_, index) => index)
const more = { prompt: 'more' }

/** What must hold whatever came first. */
async function assertWhole({ app: { database } }: AgentApi, agentId: string): Promise<void> {
  const { db } = database
  const agent = await db
    .selectFrom('agent')
    .selectAll()
    .where('id', '=', agentId as never)
    .executeTakeFirst()
  const rows = async (table: 'run' | 'agent_message' | 'agent_event') =>
    (
      await db
        .selectFrom(table)
        .select('agent_id')
        .where('agent_id', '=', agentId as never)
        .execute()
    ).length
  const counts = [await rows('run'), await rows('agent_message'), await rows('agent_event')]
  assert.deepEqual(counts, agent === undefined ? [0, 0, 0] : [agent.runs, agent.messages, agent.events])
  const open = await db
    .selectFrom('run')
    .select('status')
    .where('agent_id', '=', agentId as never)
    .where('status', 'in', ['queued', 'running'])
    .execute()
  assert.equal(open.length, agent === undefined || isEnded(agent.status) ? 0 : 1)
}

test('IDEM-3: of 20 creations at once with one key there is one agent, and all get the same answer', async (t) => {
  const api = await openAgentApi(t)
  const answers = await Promise.all(TWENTY.map(() => api.ask('POST', '', { body: ORDER, key: 'k' })))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  const replayed = answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true')
  assert.equal(replayed.length, 19)
  assert.equal((await api.ask('GET', '')).body.data.length, 1)
  const jobs = await api.app.database.db.selectFrom('job').select('id').where('kind', '=', RUN_JOB).execute()
  assert.equal(jobs.length, 1)
})

test('IDEM-2: the same key with another body is 409, and does nothing; of another account it is another key', async (t) => {
  const { ask, app } = await openAgentApi(t)
  const first = await ask('POST', '', { body: ORDER, key: 'k' })
  const { prompt, ...rest } = ORDER
  assert.equal((await ask('POST', '', { body: { prompt, ...rest }, key: 'k' })).text, first.text)
  const other = await ask('POST', '', { body: { ...ORDER, name: 'Another' }, key: 'k' })
  assert.deepEqual([other.status, other.body.error.code], [409, 'idempotency_key_reused'])
  const away = await app.key(await app.account('Away'))
  const theirs = await ask('POST', '', { body: ORDER, key: 'k', token: away })
  assert.equal(theirs.status, 201)
  assert.notEqual(theirs.body.id, first.body.id)
  assert.equal((await ask('GET', '')).body.data.length, 1)
  assert.equal((await ask('POST', '', { body: ORDER, key: 'ä' })).body.error.code, 'invalid_header')
})

test('IDEM-5: what was refused frees its key; an answer is repeated for 24 hours, whatever has become of the agent', async (t) => {
  const { ask, app } = await openAgentApi(t)
  assert.equal((await ask('POST', '', { body: { ...ORDER, model: 'none' }, key: 'k' })).status, 422)
  const first = await ask('POST', '', { body: ORDER, key: 'k' })
  assert.equal(first.status, 201)
  await ask('POST', `/${first.body.id}/cancel`)
  const repeat = await ask('POST', '', { body: ORDER, key: 'k' })
  assert.deepEqual([repeat.status, repeat.text, repeat.body.status], [201, first.text, 'queued'])
  assert.equal(repeat.headers['content-type'], first.headers['content-type'])
  const { db } = app.database
  await db
    .updateTable('idempotency')
    .set({ ended_at: Date.now() - 24 * 3_600_000 - 60_000 })
    .execute()
  const later = await ask('POST', '', { body: ORDER, key: 'k' })
  assert.deepEqual([later.status, later.headers['idempotent-replayed']], [201, undefined])
  assert.notEqual(later.body.id, first.body.id)
})

test('IDEM-6: the key is kept exactly if the agent is', async (t) => {
  const { ask, app, create } = await openAgentApi(t)
  await create()
  const { db } = app.database
  const job = await db.selectFrom('job').select(['id']).where('kind', '=', RUN_JOB).executeTakeFirstOrThrow()
  // The next job cannot be written: the last step of the transaction fails.
  await db.schema.alterTable('job').renameTo('job_away').execute()
  assert.equal((await ask('POST', '', { body: ORDER, key: 'k' })).status, 500)
  await db.schema.alterTable('job_away').renameTo('job').execute()
  assert.ok(job.id)
  assert.deepEqual(await db.selectFrom('idempotency').selectAll().execute(), [])
  assert.equal((await ask('GET', '')).body.data.length, 1)
  const answer = await ask('POST', '', { body: ORDER, key: 'k' })
  assert.deepEqual([answer.status, answer.headers['idempotent-replayed']], [201, undefined])
})

test('IDEM-3: of 20 follow-ups at once with one key one is heard; without a key all are', async (t) => {
  const api = await openAgentApi(t)
  const { id } = await api.create()
  await api.ask('POST', `/${id}/cancel`)
  const answers = await Promise.all(TWENTY.map(() => api.ask('POST', `/${id}/followup`, { body: more, key: 'k' })))
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  assert.deepEqual([answers[0]?.status, answers[0]?.body.runs], [202, 2])
  const all = await Promise.all(
    TWENTY.map((index) => api.ask('POST', `/${id}/followup`, { body: { prompt: `m${index}` } })),
  )
  for (const { status, body } of all) assert.deepEqual([status, body.runs, body.status], [202, 2, 'queued'])
  const { data } = (await api.ask('GET', `/${id}/messages?limit=100`)).body
  assert.equal(data.length, 22)
  assert.equal(new Set(data.map(({ id: message }: { id: string }) => message)).size, 22)
  const other = await api.create()
  const elsewhere = await api.ask('POST', `/${other.id}/followup`, { body: more, key: 'k' })
  assert.deepEqual([elsewhere.status, elsewhere.body.id], [202, other.id])
  await assertWhole(api, id)
})

test('20 follow-ups at once to one that has ended begin one run', async (t) => {
  const api = await openAgentApi(t)
  const { id } = await api.create()
  await api.ask('POST', `/${id}/cancel`)
  const answers = await Promise.all(TWENTY.map(() => api.ask('POST', `/${id}/followup`, { body: more })))
  for (const { status, body } of answers) assert.deepEqual([status, body.runs], [202, 2])
  await assertWhole(api, id)
})

test('follow-ups, cancellings and deletions at once leave an agent whole, or nothing of it', async (t) => {
  const api = await openAgentApi(t)
  for (const order of [0, 1, 2]) {
    const { id } = await api.create()
    const acts = [
      () => api.ask('POST', `/${id}/cancel`),
      () => api.ask('POST', `/${id}/followup`, { body: more }),
      () => api.ask('DELETE', `/${id}`),
    ]
    const answers = await Promise.all(TWENTY.map((index) => acts[(index + order) % 3]?.()))
    for (const answer of answers) assert.ok([202, 204, 404, 409].includes(answer?.status ?? 0), String(answer?.text))
    await assertWhole(api, id)
  }
})

test('R-H3: whatever comes first, a run that ends or a follow-up: the follow-up is heard', async (t) => {
  const api = await openAgentApi(t)
  for (let round = 0; round < 5; round++) {
    const { id } = await api.create()
    const claim = await api.start(id)
    const told = api.ask('POST', `/${id}/followup`, { body: more })
    const end = await api.end(claim, { status: 'completed', summary: 'Done.', seen: 1 })
    assert.equal((await told).status, 202)
    const { status } = (await api.ask('GET', `/${id}`)).body
    assert.equal(status, end === 'unseen' ? 'running' : 'queued')
    await assertWhole(api, id)
  }
})

test('[limit: unanswered-messages] an agent is told a hundred things before it has answered', async (t) => {
  const { ask, create } = await openAgentApi(t)
  const { id } = await create()
  const tell = () => ask('POST', `/${id}/followup`, { body: more })
  for (let told = 1; told < 100; told++) assert.equal((await tell()).status, 202)
  const { status, body } = await tell()
  assert.deepEqual([status, body.error.code], [409, 'conflict'])
})

test('[limit: open-agents] a thousand agents of an account wait or run', async (t) => {
  const { ask, app, create } = await openAgentApi(t)
  const { id } = await create()
  const { db } = app.database
  const row = await db.selectFrom('agent').selectAll().executeTakeFirstOrThrow()
  const others = Array.from({ length: 998 }, (_, index) => ({ ...row, id: `${row.id}${index}` as typeof row.id }))
  for (let at = 0; at < others.length; at += 200)
    await db
      .insertInto('agent')
      .values(others.slice(at, at + 200))
      .execute()
  await create()
  const { status, body, headers } = await ask('POST', '', { body: ORDER })
  assert.deepEqual([status, body.error.code, headers['retry-after']], [429, 'rate_limit_exceeded', '30'])
  await ask('POST', `/${id}/cancel`)
  await create()
  assert.equal((await ask('POST', `/${id}/followup`, { body: more })).status, 429)
})

test('[limit: agent-deletion] of one that did much, 500 rows go with it at once, the others in the background', async (t) => {
  const { ask, app, create } = await openAgentApi(t)
  const { id } = await create()
  await ask('POST', `/${id}/cancel`)
  const { db } = app.database
  const row = await db.selectFrom('agent_event').selectAll().executeTakeFirstOrThrow()
  const more = Array.from({ length: 600 }, (_, index) => ({ ...row, sequence: index + 10 }))
  await db.insertInto('agent_event').values(more).execute()
  assert.equal((await ask('DELETE', `/${id}`)).status, 204)
  assert.equal((await ask('GET', `/${id}/messages`)).status, 404)
  const left = await db.selectFrom('agent_event').select('sequence').execute()
  assert.equal(left.length, 103)
  const { deletionJobs } = await import('./lifecycle.ts')
  const job = await db.selectFrom('job').selectAll().where('kind', '=', 'agents.clear').executeTakeFirstOrThrow()
  const signal = new AbortController().signal
  const context = { signal, stillMine: async () => true }
  const asked = { ...job, payload: JSON.parse(job.payload), createdAt: 0 }
  await deletionJobs({ db })['agents.clear']?.handler(asked, context)
  for (const table of ['agent_event', 'agent_message', 'run'] as const)
    assert.deepEqual(await db.selectFrom(table).selectAll().execute(), [])
})
