import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AgentApi, ORDER, openAgentApi } from '../../../test/support/agents/agents.ts'
import { createKey, FULL_ACCESS, type NewKey } from '../keys/queries.ts'

type Rights = Partial<Omit<NewKey, 'accountId' | 'name'>>
const more = { body: { prompt: 'more' } }

async function keyOf({ app, accountId, ids }: AgentApi, rights: Rights) {
  const key = { ...FULL_ACCESS, accountId, name: 'k', ...rights }
  return createKey(app.database.db, key, { now: Date.now, ids })
}

test('a follow-up to a run needs what the run has; of a key without that, it begins a run of its own once that has ended', async (t) => {
  const api = await openAgentApi(t)
  const { ask, create } = api
  const { id } = await create()
  const weaker: readonly Rights[] = [
    { scopes: ['agents:write'] },
    { scopes: ['agents:read', 'agents:write'] },
    { monthlyBudgetNanoUsd: 1n },
    { requestsPerMinute: 5 },
    { models: ['turnpike-simulator'] },
    { expiresAt: Date.now() + 3_600_000 },
  ]
  const keys = await Promise.all(weaker.map((rights) => keyOf(api, rights)))
  for (const isRunning of [false, true]) {
    if (isRunning) await api.start(id)
    for (const [at, { secret: token }] of keys.entries()) {
      const refused = await ask('POST', `/${id}/followup`, { ...more, token })
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'insufficient_scope'], String(at))
      assert.match(refused.body.error.message, /works for somebody who may do more/)
    }
  }
  const elsewhere = await keyOf(api, { models: ['other'] })
  assert.equal((await ask('POST', `/${id}/followup`, { ...more, token: elsewhere.secret })).status, 403)
  const { body: page } = await ask('GET', `/${id}/messages`)
  assert.equal(page.data.length, 1)
  await api.end(await api.claim(id, 1))
  const [, , budget] = keys
  const begun = await ask('POST', `/${id}/followup`, { ...more, token: budget?.secret ?? '' })
  assert.deepEqual([begun.status, begun.body.created_by.id], [202, budget?.key.id])
})

test('who asked for a run may follow up, whatever their limits; so may a key that created the run’s key, and one of the same rights', async (t) => {
  const api = await openAgentApi(t)
  const limited = await keyOf(api, { requestsPerMinute: 60 })
  const own = await api.ask('POST', '', { body: ORDER, token: limited.secret })
  assert.equal((await api.ask('POST', `/${own.body.id}/followup`, { ...more, token: limited.secret })).status, 202)
  assert.equal((await api.ask('POST', `/${own.body.id}/followup`, more)).status, 202)

  const parent = await keyOf(api, { scopes: ['keys', 'chat', 'agents:read', 'agents:write'] })
  const child = await keyOf(api, { parentId: parent.key.id })
  await api.app.database.db
    .updateTable('api_key')
    .set({ monthly_budget_nano_usd: 5n })
    .where('id', '=', parent.key.id)
    .execute()
  const { body: agent } = await api.ask('POST', '', { body: ORDER, token: child.secret })
  assert.equal((await api.ask('POST', `/${agent.id}/followup`, { ...more, token: parent.secret })).status, 202)
})

test('each message of a person has its author', async (t) => {
  const api = await openAgentApi(t)
  const { id } = await api.create()
  const other = await keyOf(api, {})
  await api.ask('POST', `/${id}/followup`, { ...more, token: other.secret })
  const { body } = await api.ask('GET', `/${id}/messages?order=asc`)
  const [first, second] = body.data.map(({ author }: { author: { type: string; id: string } }) => author)
  assert.deepEqual([first.type, second], ['key', { type: 'key', id: other.key.id }])
  assert.notEqual(first.id, other.key.id)
})

test('a key that may start agents and not read them gets the id of what it did, also as a repeat of another key’s answer', async (t) => {
  const api = await openAgentApi(t)
  const writer = await keyOf(api, { scopes: ['chat', 'agents:write'] })
  const token = writer.secret
  const made = await api.ask('POST', '', { body: ORDER, token, key: 'a' })
  assert.equal(made.status, 201)
  assert.deepEqual(Object.keys(made.body).sort(), ['id', 'object'])
  const nothing = { id: made.body.id, object: 'agent' }
  assert.deepEqual((await api.ask('POST', `/${made.body.id}/followup`, { ...more, token, key: 'b' })).body, nothing)
  assert.equal((await api.ask('POST', `/${made.body.id}/followup`, { ...more, key: 'b' })).body.name, ORDER.name)
  const seen = await api.create()
  await api.ask('POST', '', { body: ORDER, key: 'c' })
  const repeat = await api.ask('POST', '', { body: ORDER, token, key: 'c' })
  assert.deepEqual([Object.keys(repeat.body).sort(), repeat.headers['idempotent-replayed']], [['id', 'object'], 'true'])
  assert.deepEqual((await api.ask('POST', `/${seen.id}/cancel`, { token })).body, { id: seen.id, object: 'agent' })
})
