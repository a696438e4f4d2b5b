import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ORDER, openAgentApi } from '../../../test/support/agents/agents.ts'
import { testIds } from '../../../test/support/ids.ts'
import type { KeyId } from '../../domain/ids.ts'
import { RUN_JOB } from './lifecycle.ts'
import { failure } from './run.ts'

test('an agent is created with its run, message, events and job, and is shown as it is', async (t) => {
  const { ask, app, accountId } = await openAgentApi(t)
  const { status, body } = await ask('POST', '', {
    body: { ...ORDER, branch: 'main', max_cost_usd: 0.5, max_steps: 7 },
  })
  assert.equal(status, 201)
  const { id, created_at, ...rest } = body
  assert.match(id, /^agt_[0-9A-Za-z]{22}$/)
  assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000)
  assert.deepEqual(rest, {
    object: 'agent',
    name: 'Fix it',
    status: 'queued',
    repository: 'acme/website',
    model: 'turnpike-simulator',
    base_branch: 'main',
    team_id: null,
    branch: `turnpike/${id}`,
    summary: null,
    error: null,
    usage: { tokens: 0, cost_usd: 0 },
    runs: 1,
    started_at: null,
    ended_at: null,
    created_by: { type: 'key', id: rest.created_by.id, name: 'test' },
    asked_by: rest.created_by,
    branch_url: null,
    pull_request_url: null,
    pull_request_disabled_reason: 'no_credential',
  })
  assert.match(rest.created_by.id, /^key_/)
  assert.deepEqual((await ask('GET', `/${id}`)).body, body)
  const [run] = (await ask('GET', `/${id}/runs`)).body.data
  assert.deepEqual([run.number, run.status, run.max_steps, run.max_cost_usd, run.steps], [1, 'queued', 7, 0.5, 0])
  const [message] = (await ask('GET', `/${id}/messages`)).body.data
  assert.match(message.id, /^msg_[0-9A-Za-z]{22}$/)
  assert.deepEqual([message.kind, message.content, message.run_id], ['user', ORDER.prompt, run.id])
  const job = await app.database.db.selectFrom('job').selectAll().where('kind', '=', RUN_JOB).executeTakeFirst()
  assert.deepEqual([job?.name, job?.lane], [run.id, accountId])
  assert.deepEqual(JSON.parse(job?.payload ?? ''), { accountId, agentId: id, runId: run.id })
})

const REFUSED: readonly (readonly [order: object, status: number, code: string, param: string])[] = [
  [{ name: undefined }, 400, 'missing_field', 'name'],
  [{ repository: undefined }, 400, 'missing_field', 'repository'],
  [{ prompt: undefined }, 400, 'missing_field', 'prompt'],
  [{ name: '' }, 400, 'out_of_range', 'name'],
  [{ name: 'x'.repeat(101) }, 400, 'out_of_range', 'name'],
  [{ name: 'a\u001b[31mb' }, 400, 'invalid_value', 'name'],
  [{ prompt: 'x'.repeat(100_001) }, 400, 'out_of_range', 'prompt'],
  [{ prompt: 'a\u0000' }, 400, 'invalid_value', 'prompt'],
  [{ prompt: 7 }, 400, 'invalid_type', 'prompt'],
  [{ repository: 'website' }, 400, 'invalid_value', 'repository'],
  [{ repository: 'acme/../website' }, 400, 'invalid_value', 'repository'],
  [{ repository: '-acme/website' }, 400, 'invalid_value', 'repository'],
  [{ branch: '--upload-pack=x' }, 400, 'invalid_value', 'branch'],
  [{ max_cost_usd: 0 }, 400, 'out_of_range', 'max_cost_usd'],
  [{ max_cost_usd: 0.1234567891 }, 400, 'invalid_value', 'max_cost_usd'],
  [{ max_steps: 0 }, 400, 'out_of_range', 'max_steps'],
  [{ max_steps: 501 }, 400, 'out_of_range', 'max_steps'],
  [{ status: 'completed' }, 400, 'unknown_field', 'status'],
  [{ model: 'turnpike-simulater' }, 422, 'model_not_found', 'model'],
  [{ model: undefined }, 422, 'model_not_found', 'model'],
]

test('[limit: agent-fields] what cannot be done is refused, by its field, and leaves nothing', async (t) => {
  const { ask } = await openAgentApi(t)
  for (const [order, status, code, param] of REFUSED) {
    const answer = await ask('POST', '', { body: { ...ORDER, ...order } })
    assert.deepEqual(
      [answer.status, answer.body.error.code, answer.body.error.param],
      [status, code, param],
      answer.text,
    )
  }
  assert.deepEqual((await ask('GET', '')).body.data, [])
  const most = { name: 'x'.repeat(100), prompt: 'ü'.repeat(100_000), max_steps: 500, max_cost_usd: 0.000000001 }
  assert.equal((await ask('POST', '', { body: { ...ORDER, ...most, branch: null } })).status, 201)
})

test('TEN-3: agents come in pages, in both orders, by status and repository', async (t) => {
  const { ask, create } = await openAgentApi(t)
  const ids: string[] = []
  for (let made = 0; made < 5; made++) {
    ids.push((await create({ repository: `acme/r${made % 2}` })).id)
    await new Promise((resolve) => setTimeout(resolve, 2)) // ids of one millisecond are in no order
  }
  await ask('POST', `/${ids[0]}/cancel`)
  const walk = async (query: string): Promise<string[]> => {
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await ask('GET', `?limit=2${query}${cursor}`)
      found.push(...body.data.map(({ id }: { id: string }) => id))
      if (!body.has_more) return found
      cursor = `&cursor=${body.next_cursor}`
    }
  }
  assert.deepEqual(await walk(''), ids.toReversed())
  assert.deepEqual(await walk('&order=asc'), ids)
  assert.deepEqual(await walk('&status=cancelled'), [ids[0]])
  assert.deepEqual(await walk('&status=queued&repository=acme/r0&order=asc'), [ids[2], ids[4]])
  const { next_cursor: cursor } = (await ask('GET', '?limit=2')).body
  for (const query of [`status=queued&cursor=${cursor}`, `order=asc&cursor=${cursor}`, 'status=paused', 'limit=101']) {
    assert.equal((await ask('GET', `?${query}`)).status, 400, query)
  }
})

test('TEN-1: nobody sees, steers or deletes an agent of another account', async (t) => {
  const { ask, app, create } = await openAgentApi(t)
  const { id } = await create()
  const token = await app.key(await app.account('Away'))
  assert.deepEqual((await ask('GET', '', { token })).body.data, [])
  for (const path of ['', '/runs', '/messages', '/diff', '/events']) {
    const theirs = await ask('GET', `/${id}${path}`, { token })
    assert.equal(theirs.status, 404, path)
    const nobodys = await ask('GET', `/agt_zzzzzzzzzzzzzzzzzzzzzz${path}`, { token })
    const shown = ({ body }: typeof theirs) => ({ ...body.error, request_id: '' })
    assert.deepEqual(shown(theirs), shown(nobodys))
  }
  const body = { prompt: 'more' }
  assert.equal((await ask('POST', `/${id}/followup`, { token, body })).status, 404)
  assert.equal((await ask('POST', `/${id}/cancel`, { token })).status, 404)
  assert.equal((await ask('DELETE', `/${id}`, { token })).status, 404)
  assert.equal((await ask('GET', `/${id}`)).body.status, 'queued')
})

test('a follow-up to one that waits or runs is a message, to one that has ended a further run', async (t) => {
  const { ask, create, start, end } = await openAgentApi(t)
  const { id } = await create({ max_steps: 9, max_cost_usd: 1.5 })
  const tell = (prompt: string) => ask('POST', `/${id}/followup`, { body: { prompt } })
  assert.deepEqual(await tell('two').then(({ status, body }) => [status, body.status, body.runs]), [202, 'queued', 1])
  const claim = await start(id)
  assert.deepEqual(await tell('three').then(({ body }) => [body.status, body.runs]), ['running', 1])
  const done = { status: 'completed', summary: 'Done.' } as const
  assert.equal(await end(claim, { ...done, seen: 2 }), 'unseen')
  assert.equal(await end(claim, { ...done, seen: 3 }), 'ended')
  const ended = (await ask('GET', `/${id}`)).body
  assert.deepEqual([ended.status, ended.summary, ended.ended_at === null], ['completed', 'Done.', false])
  const { body } = await tell('four')
  const { status, runs, started_at, ended_at, summary } = body
  assert.deepEqual([status, runs, started_at, ended_at, summary], ['queued', 2, null, null, 'Done.'])
  const messages = (await ask('GET', `/${id}/messages?order=asc`)).body.data
  assert.deepEqual(
    messages.map(({ content }: { content: string }) => content),
    [ORDER.prompt, 'two', 'three', 'four'],
  )
  const [second, first] = (await ask('GET', `/${id}/runs`)).body.data
  assert.deepEqual([second.number, second.max_steps, second.max_cost_usd, second.status], [2, 9, 1.5, 'queued'])
  assert.deepEqual([first.status, first.summary, messages[3].run_id], ['completed', 'Done.', second.id])
})

test('whoever has a run begun is whose rights and budget it has', async (t) => {
  const { ask, app, accountId, create } = await openAgentApi(t)
  const { id } = await create()
  await ask('POST', `/${id}/cancel`)
  const creator = async () => {
    const row = await app.database.db.selectFrom('agent').select(['key_id', 'creator']).executeTakeFirstOrThrow()
    return { keyId: row.key_id, creator: JSON.parse(row.creator) }
  }
  const first = await creator()
  assert.deepEqual(first.creator, { kind: 'key', keyId: first.keyId, address: '127.0.0.1' })
  const token = await app.key(accountId)
  await ask('POST', `/${id}/followup`, { token, body: { prompt: 'go on' } })
  const second = await creator()
  assert.notEqual(second.keyId, first.keyId)
  assert.equal(second.creator.keyId, second.keyId)
  const restricted = await ask('POST', '', { body: ORDER, token: await restrictedKey(app, token) })
  assert.deepEqual([restricted.status, restricted.body.error.code], [403, 'model_not_allowed'])
  await ask('POST', `/${id}/cancel`)
  const refused = await ask('POST', `/${id}/followup`, {
    body: { prompt: 'x' },
    token: await restrictedKey(app, token),
  })
  assert.equal(refused.body.error.code, 'model_not_allowed')
})

async function restrictedKey({ ask }: Awaited<ReturnType<typeof openAgentApi>>['app'], token: string): Promise<string> {
  const made = await ask('POST', '/v1/keys', { token, body: { name: 'small', models: ['other'] } })
  return made.json<{ key: string }>().key
}

test('people and devices that asked are called by their names, and webhooks do not tell who it was', async (t) => {
  const { app, ask, accountId } = await openAgentApi(t)
  const { db } = app.database
  const ada = await app.person(accountId, 'developer', 'ada@example.com')
  const token = await app.token(await app.browser(ada))
  const { body } = await ask('POST', '', { token, body: ORDER })
  assert.deepEqual(body.created_by, { type: 'member', id: ada.userId, name: 'ada@example.com' })
  const id = testIds.device()
  const device = { account_id: accountId, id, user_id: ada.userId, client_id: 'turnpike-cli', scopes: '[]' }
  await db
    .insertInto('device')
    .values({ ...device, created_at: 0, changed_at: 0 })
    .execute()
  const creator = JSON.stringify({ kind: 'token', keyId: id, userId: ada.userId, address: '127.0.0.1' })
  await db
    .updateTable('agent')
    .set({ key_id: `${id}` as KeyId, creator })
    .execute() // usage is booked on both alike
  const [listed] = (await ask('GET', '')).body.data
  assert.deepEqual(listed.created_by, { type: 'device', id, name: 'turnpike-cli of ada@example.com' })
  await db
    .updateTable('agent')
    .set({ creator: creator.replace(id, 'key_gone'), key_id: testIds.key() })
    .execute()
  assert.deepEqual((await ask('GET', `/${body.id}`)).body.created_by, { type: 'device', id: 'key_gone', name: null })
  await ask('POST', `/${body.id}/cancel`)
  const { data } = await db.selectFrom('event').select('data').executeTakeFirstOrThrow()
  assert.equal(JSON.parse(data).agent.status, 'cancelled')
  assert.doesNotMatch(data, /created_by|asked_by|ada@example/)
})

test('cancelling ends one that waits, asks the worker of one that runs, and says no where nothing runs', async (t) => {
  const { ask, create, start, end } = await openAgentApi(t)
  const { id } = await create()
  for (const _ of [1, 2]) {
    const { status, body } = await ask('POST', `/${id}/cancel`)
    assert.deepEqual([status, body.status], [202, 'cancelled'])
  }
  const running = (await create()).id
  const claim = await start(running)
  const runOf = async () => (await ask('GET', `/${running}/runs`)).body.data[0]
  assert.deepEqual(await ask('POST', `/${running}/cancel`).then(({ status, body }) => [status, body.status]), [
    202,
    'running',
  ])
  const { cancel_requested_at: asked } = await runOf()
  assert.ok(asked !== null)
  await ask('POST', `/${running}/cancel`)
  assert.equal((await runOf()).cancel_requested_at, asked)
  await end(claim)
  const { status, body } = await ask('POST', `/${running}/cancel`)
  assert.deepEqual([status, body.error.code], [409, 'conflict'])
})

test('only one that has ended is deleted, and then nothing is left of it', async (t) => {
  const { ask, app, create, start, end } = await openAgentApi(t)
  const { id } = await create()
  assert.equal((await ask('DELETE', `/${id}`)).status, 409)
  const claim = await start(id)
  assert.equal((await ask('DELETE', `/${id}`)).status, 409)
  await end(claim, failure('max_steps'))
  assert.equal((await ask('DELETE', `/${id}`)).status, 204)
  assert.equal((await ask('GET', `/${id}`)).status, 404)
  for (const table of ['agent', 'run', 'agent_message', 'agent_event', 'run_artifact'] as const) {
    assert.deepEqual(await app.database.db.selectFrom(table).selectAll().execute(), [], table)
  }
})
