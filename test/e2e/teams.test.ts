/** Teams over HTTP: what they allow their keys, and what roles in them allow their people. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TeamRole } from '../../src/domain/identity/caller.ts'
import type { AccountId, CompletionId, KeyId } from '../../src/domain/ids.ts'
import { MAX_TEAMS } from '../../src/features/teams/manage.ts'
import { insertTeam } from '../../src/features/teams/queries.ts'
import { type AppForTests, type Browser, openApp } from '../support/browser/signed-in.ts'
import { eventually } from '../support/client.ts'
import { testIds } from '../support/database.ts'

let app: AppForTests
let accountId: AccountId
let full: string
const ends: (() => unknown)[] = []

before(async () => {
  app = await openApp(
    { after: (end: () => unknown) => void ends.push(end) },
    { settings: { TURNPIKE_SIMULATOR: 'true' } },
  )
  accountId = await app.account()
  full = await app.key(accountId)
})
after(async () => {
  for (const end of ends) await end()
})

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

async function ask(token: string, method: Method, url: string, body?: object) {
  const answer = await app.ask(method, url, { token, ...(body && { body }) })
  return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json() }
}

async function team(settings: object = {}): Promise<string> {
  const { status, body } = await ask(full, 'POST', '/v1/teams', { name: 'Search', ...settings })
  assert.equal(status, 201, JSON.stringify(body))
  return body.id
}

async function keyOf(teamId: string, more: object = {}) {
  const { status, body } = await ask(full, 'POST', '/v1/keys', { name: 'one', team_id: teamId, ...more })
  assert.equal(status, 201, JSON.stringify(body))
  assert.equal(body.team_id, teamId)
  return body as { readonly id: string; readonly key: string }
}

function chat(token: string, model = 'turnpike-simulator', headers: Record<string, string> = {}) {
  const body = { model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 4 }
  return app.ask('POST', '/v1/chat/completions', { token, body, headers })
}

test('a team has budgets, which a change without them keeps and another list replaces', async () => {
  const id = await team({ budgets: [{ usd: 5, window: 'week', timezone: 'Asia/Tokyo' }] })
  const shown = (body: { budgets: Record<string, unknown>[] }) =>
    body.budgets.map(({ level, subject, usd, window }) => [level, subject, usd, window])
  await ask(full, 'PATCH', `/v1/teams/${id}`, { name: 'Ads' })
  assert.deepEqual(shown((await ask(full, 'GET', `/v1/teams/${id}`)).body), [['team', id, 5, 'week']])
  const { body } = await ask(full, 'PATCH', `/v1/teams/${id}`, { budgets: [{ usd: 7, window: 'total' }] })
  assert.deepEqual(shown(body), [['team', id, 7, 'total']])
  const wrong = await ask(full, 'PATCH', `/v1/teams/${id}`, { budgets: [{ usd: 7, window: 'year' }] })
  assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'budgets[0].window'])
})

test('a team is created, listed, read, changed and archived', async () => {
  const id = await team({ models: ['m1'], endpoints: ['chat'], requests_per_minute: 10 })
  assert.match(id, /^team_/)
  const read = await ask(full, 'GET', `/v1/teams/${id}`)
  const { created_at, ...fields } = read.body
  assert.match(created_at, /^\d{4}-/)
  assert.deepEqual(fields, {
    id,
    object: 'team',
    name: 'Search',
    models: ['m1'],
    endpoints: ['chat'],
    requests_per_minute: 10,
    data_policy: null,
    tags: {},
    require_tags: [],
    archived_at: null,
    members: 0,
    keys: 0,
    budgets: [],
  })
  const changed = await ask(full, 'PATCH', `/v1/teams/${id}`, { name: 'Ads', models: [], requests_per_minute: null })
  assert.deepEqual(
    [changed.body.name, changed.body.models, changed.body.endpoints, changed.body.requests_per_minute],
    ['Ads', [], ['chat'], null],
  )
  const listed = async (status: string): Promise<string[]> => {
    const { body } = await ask(full, 'GET', `/v1/teams?status=${status}`)
    return body.data.map((each: { id: string }) => each.id)
  }
  assert.ok((await listed('active')).includes(id))
  assert.equal((await ask(full, 'DELETE', `/v1/teams/${id}`)).status, 204)
  assert.ok(!(await listed('active')).includes(id) && (await listed('archived')).includes(id))
  assert.notEqual((await ask(full, 'GET', `/v1/teams/${id}`)).body.archived_at, null)
  assert.equal((await ask(full, 'DELETE', `/v1/teams/${id}`)).status, 404)
  assert.equal((await ask(full, 'PATCH', `/v1/teams/${id}`, { name: 'x' })).status, 404)
})

test('a team of another account is 404, for itself and for keys', async () => {
  const foreign = await app.key(await app.account('Other'))
  const id = await team()
  for (const [method, url, body] of [
    ['GET', `/v1/teams/${id}`],
    ['PATCH', `/v1/teams/${id}`, { name: 'x' }],
    ['DELETE', `/v1/teams/${id}`],
    ['GET', `/v1/teams/${id}/members`],
    ['GET', `/v1/keys?team_id=${id}`],
    ['POST', '/v1/keys', { name: 'x', team_id: id }],
  ] as const) {
    assert.equal((await ask(foreign, method, url, body)).status, 404, `${method} ${url}`)
  }
})

test('usage of a key belongs to its team, also after the key is deleted', async () => {
  const id = await team()
  const { key, id: keyId } = await keyOf(id)
  const answer = await chat(key)
  assert.equal(answer.statusCode, 200, answer.body)
  await ask(full, 'DELETE', `/v1/keys/${keyId}`)
  const teamOf = (completionId: CompletionId) => {
    const row = app.database.db.selectFrom('completion').select('team_id').where('id', '=', completionId)
    return eventually(
      () => row.executeTakeFirst(),
      (found) => found !== undefined,
    )
  }
  assert.equal((await teamOf(answer.json().id))?.team_id, id)
  assert.equal((await teamOf((await chat(full)).json().id))?.team_id, null)
})

test('a key of a team can do no more than its team, whatever it allows itself', async () => {
  const id = await team({ models: ['other-model'], endpoints: ['embeddings'] })
  const { key } = await keyOf(id, { models: ['turnpike-simulator', 'other-model'] })
  const refused = await chat(key)
  assert.deepEqual([refused.statusCode, refused.json().error.code], [403, 'endpoint_not_allowed'])
  await ask(full, 'PATCH', `/v1/teams/${id}`, { endpoints: ['chat'] })
  const model = await chat(key)
  assert.deepEqual([model.statusCode, model.json().error.code], [403, 'model_not_allowed'])
  await ask(full, 'PATCH', `/v1/teams/${id}`, { models: [] })
  assert.equal((await chat(key)).statusCode, 200)
  await ask(full, 'PATCH', `/v1/teams/${id}`, { endpoints: ['agents'] })
  assert.equal((await chat(key)).statusCode, 403)
})

test('the rate of a team counts the requests of all its keys', async () => {
  const id = await team({ requests_per_minute: 3 })
  const keys = [await keyOf(id), await keyOf(id, { requests_per_minute: 2 })] as const
  const [one, other] = [keys[0].key, keys[1].key]
  const answers = await Promise.all([one, other, one, one, other].map((key) => chat(key))) // before a request comes back
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [200, 200, 200, 429, 429])
})

test('archiving a team stops its keys, and no key can be made for it', async () => {
  const id = await team()
  const { key } = await keyOf(id)
  assert.equal((await chat(key)).statusCode, 200)
  await ask(full, 'DELETE', `/v1/teams/${id}`)
  assert.equal((await chat(key)).statusCode, 401)
  assert.equal((await ask(full, 'POST', '/v1/keys', { name: 'x', team_id: id })).status, 404)
})

test('keys that a key of a team creates are of the team, and it manages the team’s keys alone', async () => {
  const [id, elsewhere] = [await team(), await team()]
  const { key } = await keyOf(id)
  const child = await ask(key, 'POST', '/v1/keys', { name: 'child' })
  assert.deepEqual([child.status, child.body.team_id], [201, id])
  assert.equal((await ask(key, 'POST', '/v1/keys', { name: 'x', team_id: elsewhere })).status, 404)
  const ofAccount = await ask(full, 'POST', '/v1/keys', { name: 'account' })
  const other = await keyOf(elsewhere)
  for (const foreign of [ofAccount.body.id, other.id]) {
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const body = method === 'PATCH' ? { name: 'x' } : undefined
      assert.equal((await ask(key, method, `/v1/keys/${foreign}`, body)).status, 404)
    }
  }
  const listed = await ask(key, 'GET', '/v1/keys?limit=100')
  assert.deepEqual(new Set(listed.body.data.map((each: { team_id: string }) => each.team_id)), new Set([id]))
  assert.equal((await ask(key, 'GET', `/v1/keys?team_id=${elsewhere}`)).status, 404)
  const filtered = await ask(full, 'GET', `/v1/keys?team_id=${elsewhere}`)
  assert.deepEqual(
    filtered.body.data.map((each: { id: string }) => each.id),
    [other.id],
  )
})

test('requests of a team have its tags, unless they or their key say otherwise, and those that it requires', async () => {
  const id = await team({ tags: { env: 'prod', squad: 'search' }, require_tags: ['customer'] })
  const { key } = await keyOf(id, { tags: { squad: 'ads' } })
  const refused = await chat(key)
  assert.deepEqual([refused.statusCode, refused.json().error.code], [400, 'missing_field'])
  assert.match(refused.json().error.message, /requires the tag 'customer'/)
  const tagsOf = async (token: string, headers: Record<string, string>) => {
    const answer = await chat(token, undefined, { ...headers, 'x-turnpike-tags': 'customer=northwind' })
    assert.equal(answer.statusCode, 200, answer.body)
    const row = () => ask(full, 'GET', `/v1/usage/completions/${answer.json().id}`)
    return (await eventually(row, ({ status }) => status === 200)).body.tags
  }
  assert.deepEqual(await tagsOf(key, {}), { customer: 'northwind', env: 'prod', squad: 'ads' })
  const asTeam = { 'x-turnpike-team': id }
  assert.deepEqual(await tagsOf(full, asTeam), { customer: 'northwind', env: 'prod', squad: 'search' })
  assert.equal((await chat(full, undefined, asTeam)).statusCode, 400)
  const changed = await ask(full, 'PATCH', `/v1/teams/${id}`, { require_tags: [] })
  assert.deepEqual([changed.body.tags, changed.body.require_tags], [{ env: 'prod', squad: 'search' }, []])
  assert.equal((await chat(key)).statusCode, 200)
})

test('a key of a team reads the usage, the budgets and the agents of its team alone', async () => {
  const id = await team({ budgets: [{ usd: 5, window: 'week' }] })
  const { key } = await keyOf(id)
  const [own, other] = [(await chat(key)).json().id, (await chat(full)).json().id]
  const read = async (path: string, token = key) => (await ask(token, 'GET', path)).body
  await eventually(
    () => Promise.all([own, other].map((each) => ask(full, 'GET', `/v1/usage/completions/${each}`))),
    (answers) => answers.every(({ status }) => status === 200),
  )
  const { total_requests: all } = await read('/v1/usage', full)
  assert.deepEqual([(await read('/v1/usage')).total_requests, all > 1], [1, true])
  assert.equal((await read('/v1/usage?group_by=team')).groups[0].key, id)
  assert.equal((await ask(key, 'GET', '/v1/usage?team_id=team_other')).status, 404)
  const { data, overview } = await read('/v1/usage/completions?include=overview')
  assert.deepEqual(
    data.map((row: { id: string }) => row.id),
    [own],
  )
  const counted = overview.buckets.reduce((sum: number, { completed }: { completed: number }) => sum + completed, 0)
  assert.equal(counted, 1)
  assert.equal((await ask(key, 'GET', `/v1/usage/completions/${own}`)).status, 200)
  assert.equal((await ask(key, 'GET', `/v1/usage/completions/${other}`)).status, 404)
  const focus = async (token: string, query = '') =>
    (await app.ask('GET', `/v1/usage?format=focus${query}`, { token })).body.trim().split('\r\n')
  const ofTeam = await focus(key)
  assert.equal(ofTeam.length, 2, 'a header and one row')
  assert.deepEqual(await focus(full, `&team_id=${id}`), ofTeam)
  assert.ok((await focus(full)).length > 2)
  for (const whole of ['reconcile', 'performance'])
    assert.equal((await ask(key, 'GET', `/v1/usage/${whole}`)).status, 403, whole)
  const budgets = await read('/v1/budgets?level=account')
  assert.deepEqual(
    budgets.data.map((budget: { subject: string }) => budget.subject),
    [id],
  )
  const agent = testIds.agent()
  const row = {
    account_id: accountId,
    id: agent,
    name: 'a',
    status: 'cancelled',
    repository: 'o/r',
    model: 'm',
  } as const
  const none = { base_branch: null, summary: null, error_code: null, error_message: null, team_id: null }
  const counts = { runs: 1, messages: 1, events: 1, created_at: 1, started_at: 1, ended_at: 2 }
  const creator = { key_id: 'key_x' as KeyId, creator: '{}' }
  await app.database.db
    .insertInto('agent')
    .values({ ...row, ...none, ...counts, ...creator })
    .execute()
  assert.deepEqual((await read('/v1/agents')).data, [])
  for (const path of ['', '/messages', '/runs', '/events?follow=false']) {
    assert.equal((await ask(key, 'GET', `/v1/agents/${agent}${path}`)).status, 404, path)
    const seen = await app.ask('GET', `/v1/agents/${agent}${path}`, { token: full })
    assert.equal(seen.statusCode, 200, `${path}: ${seen.body}`)
  }
})

test('a key of a team reaches nothing of the account', async () => {
  const { key } = await keyOf(await team())
  for (const [method, url, body] of [
    ['POST', '/v1/teams', { name: 'x' }],
    ['GET', '/v1/members'],
    ['POST', '/v1/invitations', { role: 'developer' }],
    ['GET', '/v1/account'],
    ['GET', '/v1/audit'],
    ['GET', '/v1/webhooks'],
    ['GET', '/v1/provider-credentials'],
    ['POST', '/v1/provider-credentials', { provider: 'simulator', api_key: 'x' }],
  ] as const) {
    assert.equal((await ask(key, method, url, body)).status, 403, `${method} ${url}`)
  }
})

interface PersonInTeam extends Browser {
  readonly token: string
}

let people = 0

async function personIn(teamId: string, role: TeamRole | undefined, ofAccount: 'developer' | 'billing' = 'developer') {
  const browser = await app.browser(await app.person(accountId, ofAccount, `p${++people}@example.com`))
  const added = role && (await ask(full, 'POST', `/v1/teams/${teamId}/members`, { user_id: browser.userId, role }))
  if (added !== undefined) assert.deepEqual([added.status, added.body.role, added.body.by_group], [201, role, false])
  return { ...browser, token: await app.token(browser) } satisfies PersonInTeam
}

test('each role in a team has its rights there: the matrix of roles and routes', async () => {
  const roles = ['admin', 'member', 'viewer', undefined] as const
  const expected = {
    read: [200, 200, 200, 200],
    keys: [200, 200, 200, 200],
    'create key': [201, 201, 403, 403],
    'change key': [200, 403, 403, 403],
    'revoke key': [204, 403, 403, 403],
    'add member': [201, 403, 403, 403],
    'change member': [200, 403, 403, 403],
    'remove member': [204, 403, 403, 403],
    'change team': [403, 403, 403, 403],
    'archive team': [403, 403, 403, 403],
  }
  for (const [at, role] of roles.entries()) {
    const id = await team()
    const { token } = await personIn(id, role)
    const key = (await keyOf(id)).id
    const { userId: user_id } = await app.person(accountId, 'developer', `x${++people}@example.com`)
    const spare = await personIn(id, 'viewer')
    const answers = {
      read: await ask(token, 'GET', `/v1/teams/${id}`),
      keys: await ask(token, 'GET', `/v1/keys?team_id=${id}`),
      'create key': await ask(token, 'POST', '/v1/keys', { name: 'x', team_id: id }),
      'change key': await ask(token, 'PATCH', `/v1/keys/${key}`, { name: 'y' }),
      'revoke key': await ask(token, 'DELETE', `/v1/keys/${key}`),
      'add member': await ask(token, 'POST', `/v1/teams/${id}/members`, { user_id, role: 'admin' }),
      'change member': await ask(token, 'PATCH', `/v1/teams/${id}/members/${spare.userId}`, { role: 'member' }),
      'remove member': await ask(token, 'DELETE', `/v1/teams/${id}/members/${spare.userId}`),
      'change team': await ask(token, 'PATCH', `/v1/teams/${id}`, { name: 'x' }),
      'archive team': await ask(token, 'DELETE', `/v1/teams/${id}`),
    }
    for (const [what, { status, body }] of Object.entries(answers)) {
      const wanted = expected[what as keyof typeof expected][at]
      assert.equal(status, wanted, `${what} by ${role ?? 'nobody'}: ${JSON.stringify(body)}`)
    }
  }
})

test('a member of a team changes and revokes the keys that they created there', async () => {
  const id = await team()
  const { token } = await personIn(id, 'member')
  const { body } = await ask(token, 'POST', '/v1/keys', { name: 'mine', team_id: id })
  assert.equal((await ask(token, 'PATCH', `/v1/keys/${body.id}`, { name: 'renamed' })).status, 200)
  assert.equal((await ask(token, 'DELETE', `/v1/keys/${body.id}`)).status, 204)
})

test('a user without the right to keys in the account has it in the teams that they administer, and only there', async () => {
  const id = await team()
  const { token } = await personIn(id, 'admin', 'billing')
  assert.equal((await ask(token, 'POST', '/v1/keys', { name: 'x' })).status, 403)
  const made = await ask(token, 'POST', '/v1/keys', { name: 'x', team_id: id })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { body } = await ask(token, 'GET', '/v1/keys?limit=100')
  assert.deepEqual(
    body.data.map((each: { id: string }) => each.id),
    [made.body.id],
  )
  assert.equal((await chat(made.body.key)).statusCode, 200)
  const { token: none } = await personIn(id, undefined, 'billing')
  assert.equal((await ask(none, 'GET', '/v1/keys')).status, 403)
})

test('the keys of a person who leaves a team stop working, and work again on return', async () => {
  const id = await team()
  const { token, userId } = await personIn(id, 'member')
  const { key } = (await ask(token, 'POST', '/v1/keys', { name: 'mine', team_id: id })).body
  assert.equal((await chat(key)).statusCode, 200)
  await ask(full, 'PATCH', `/v1/teams/${id}/members/${userId}`, { role: 'viewer' })
  assert.equal((await chat(key)).statusCode, 401)
  assert.equal((await ask(token, 'POST', '/v1/keys', { name: 'x', team_id: id })).status, 403)
  await ask(full, 'PATCH', `/v1/teams/${id}/members/${userId}`, { role: 'member' })
  assert.equal((await chat(key)).statusCode, 200)
  assert.equal((await ask(token, 'DELETE', `/v1/teams/${id}/members/${userId}`)).status, 204)
  assert.equal((await chat(key)).statusCode, 401)
})

test('an account has a maximum number of teams [limit: teams-of-account]', async () => {
  const crowded = await app.account('Crowded')
  const { db } = app.database
  const settings = { name: 'one', models: [], endpoints: [], requestsPerMinute: undefined, dataPolicy: undefined }
  await db.transaction().execute(async (inside) => {
    for (let at = 0; at < MAX_TEAMS; at++) {
      await insertTeam(inside, { accountId: crowded, id: testIds.team(), ...settings }, Date.now())
    }
  })
  const key = await app.key(crowded)
  const refused = await ask(key, 'POST', '/v1/teams', { name: 'more' })
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  const [first] = (await ask(key, 'GET', '/v1/teams?limit=1')).body.data
  assert.equal((await ask(key, 'DELETE', `/v1/teams/${first.id}`)).status, 204)
  assert.equal((await ask(key, 'POST', '/v1/teams', { name: 'more' })).status, 201)
})

test('a person sends requests as a team that they may use, with its limits', async () => {
  const id = await team({ endpoints: ['chat'], models: ['turnpike-simulator'] })
  const header = { 'x-turnpike-team': id }
  const { token } = await personIn(id, 'member', 'billing')
  assert.equal((await chat(token)).statusCode, 403)
  const answer = await chat(token, 'turnpike-simulator', header)
  assert.equal(answer.statusCode, 200, answer.body)
  const row = app.database.db.selectFrom('completion').select('team_id').where('id', '=', answer.json().id)
  const found = await eventually(
    () => row.executeTakeFirst(),
    (one) => one !== undefined,
  )
  assert.equal(found?.team_id, id)
  assert.equal((await chat(token, 'other', header)).statusCode, 422)
  await ask(full, 'PATCH', `/v1/teams/${id}`, { endpoints: ['embeddings'] })
  assert.equal((await chat(token, 'turnpike-simulator', header)).json().error.code, 'endpoint_not_allowed')
  const [viewer, outsider] = [await personIn(id, 'viewer'), await personIn(id, undefined)]
  for (const other of [viewer, outsider]) {
    assert.equal((await chat(other.token, 'turnpike-simulator', header)).statusCode, 403)
  }
  const foreign = await app.key(await app.account('Elsewhere'))
  assert.equal((await chat(foreign, 'turnpike-simulator', header)).statusCode, 404)
  const { key } = await keyOf(await team())
  assert.equal((await chat(key, 'turnpike-simulator', header)).statusCode, 404)
  await ask(full, 'DELETE', `/v1/teams/${id}`)
  assert.equal((await chat(token, 'turnpike-simulator', header)).statusCode, 404)
})

test('the audit log has every change of a team', async () => {
  const id = await team()
  const { userId } = await personIn(id, 'member')
  await ask(full, 'PATCH', `/v1/teams/${id}`, { name: 'New' })
  await ask(full, 'DELETE', `/v1/teams/${id}/members/${userId}`)
  await ask(full, 'DELETE', `/v1/teams/${id}`)
  const { body } = await ask(full, 'GET', '/v1/audit?limit=100')
  const actions = body.data
    .filter((each: { subject: string | null }) => each.subject === id)
    .map((each: { action: string }) => each.action)
  assert.deepEqual(actions, [
    'team.archived',
    'team.member_removed',
    'team.changed',
    'team.member_added',
    'team.created',
  ])
})
