/** Data policies that accounts, teams and keys store: every client API, every kind of change, one process. Runs on one database. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { errorOf, eventually, getJson, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { ordinary } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const provider = await startFakeProvider(ordinary)
const at = (region: string) => ({
  protocol: 'openai',
  base_url: `${provider.url}/${region}/v1`,
  api_key: 'sk-up',
  ...(region === 'eu' && { zdr: true, data_collection: 'deny' }),
})
const gateway = await startGateway({
  config: {
    providers: { eu: at('eu'), us: at('us') },
    models: [
      {
        ...model('m1', 'us', 'm'),
        deployments: ['us', 'eu'].map((region, priority) => ({ provider: region, model: 'm', region, priority })),
      },
      { ...model('m2', 'us', 'm'), deployments: [{ provider: 'us', model: 'm', region: 'us' }] },
    ],
    routing: { max_attempts: 1 },
  },
})
const operator = await gateway.key('--operator')
after(async () => {
  await gateway.stop()
  await provider.close()
})

interface Created {
  readonly id: string
  readonly key: string
}

const regionsOf = (count: number) => ({ regions: Array.from({ length: count }, (_, each) => `r${each}`) })
const ZDR = { zdr: true }
const hello = [{ role: 'user', content: 'Hi' }]
const BODIES = {
  '/v1/chat/completions': { messages: hello },
  '/v1/messages': { messages: hello, max_tokens: 10 },
  '/v1/responses': { input: 'Hi' },
  '/v1/completions': { prompt: 'Hi' },
} as const

/** Where the request went, or why it did not. */
async function regionOf(key: string, path: keyof typeof BODIES = '/v1/chat/completions', of = 'm1'): Promise<string> {
  const before = provider.calls.length
  const answer = await send(gateway, path, { key, body: { ...BODIES[path], model: of } })
  const [call] = provider.calls.slice(before)
  return call === undefined ? `${answer.status} ${errorOf(answer).code}` : (call.path.split('/')[1] ?? '')
}

const change = (key: string, path: string, method: string, body: object) => send(gateway, path, { key, method, body })

async function createKey(by: string, body: object): Promise<Created> {
  const answer = await change(by, '/v1/keys', 'POST', { name: 'k', ...body })
  assert.equal(answer.status, 201, answer.text)
  return JSON.parse(answer.text)
}

test('the policy of an account applies to all its requests from the moment that it is set', async () => {
  const id = (await gateway.cli('accounts', 'create', '--name', 'strict')).trim()
  const key = (await gateway.cli('keys', 'create', '--name', 'k', '--account', id)).trim()
  assert.equal(await regionOf(key), 'us')
  const set = await change(key, '/v1/account', 'PATCH', { data_policy: { ...ZDR, regions: ['EU'] } })
  assert.deepEqual([set.status, JSON.parse(set.text).data_policy], [200, { ...ZDR, regions: ['EU'] }])
  for (const path of Object.keys(BODIES) as (keyof typeof BODIES)[]) {
    assert.equal(await regionOf(key, path), 'eu', path)
    assert.equal(await regionOf(key, path, 'm2'), '403 policy_not_satisfiable', path)
  }
  const { data_policy } = await getJson<{ readonly data_policy: object }>(gateway, operator, `/v1/admin/accounts/${id}`)
  assert.deepEqual(data_policy, { ...ZDR, regions: ['EU'] })
  const { data } = await getJson<{ readonly data: readonly { readonly details: object }[] }>(gateway, key, '/v1/audit')
  assert.ok(data.some(({ details }) => JSON.stringify(details).includes('EU')))
  await change(operator, `/v1/admin/accounts/${id}`, 'PATCH', { data_policy: { data_collection: 'deny' } })
  assert.equal(await regionOf(key), 'eu')
  await change(key, '/v1/account', 'PATCH', { data_policy: null })
  assert.equal(await regionOf(key), 'us')
  await gateway.cli('accounts', 'set-policy', id, '--zdr', '--regions', 'eu,ch')
  await eventually(
    () => regionOf(key),
    (region) => region === 'eu',
  )
  assert.match(await gateway.cli('accounts', 'set-policy', id), /no data policy/)
})

test('only those who manage members change the policy of an account, and only to a valid one [limit: policy-regions]', async () => {
  const billing = (await gateway.cli('keys', 'create', '--name', 'b', '--scopes', 'billing')).trim()
  const refused = await change(billing, '/v1/account', 'PATCH', { data_policy: ZDR })
  assert.deepEqual([refused.status, errorOf(refused).code], [403, 'insufficient_scope'])
  for (const data_policy of [{ zdr: 'yes' }, { regions: [] }, { retention: 0 }, 'strict', regionsOf(21)]) {
    assert.equal((await change(operator, '/v1/account', 'PATCH', { data_policy })).status, 400)
  }
  for (const data_policy of [regionsOf(20), null])
    assert.equal((await change(operator, '/v1/account', 'PATCH', { data_policy })).status, 200)
})

test('the policy of a key applies to it and to the keys that it creates, which cannot loosen it', async () => {
  const account = await gateway.keyOfNewAccount()
  const strict = await createKey(account, { data_policy: ZDR })
  const child = await createKey(strict.key, {})
  assert.deepEqual([await regionOf(account), await regionOf(strict.key), await regionOf(child.key)], ['us', 'eu', 'eu'])
  for (const [path, method, body] of [
    ['/v1/keys', 'POST', { name: 'k', data_policy: { data_collection: 'deny' } }],
    [`/v1/keys/${strict.id}`, 'PATCH', { data_policy: null }],
    [`/v1/keys/${child.id}`, 'PATCH', { data_policy: null }],
  ] as const) {
    const refused = await change(strict.key, path, method, body)
    assert.deepEqual([refused.status, errorOf(refused).param], [403, 'data_policy'], `${method} ${path}`)
  }
  const narrowed = await change(account, `/v1/keys/${strict.id}`, 'PATCH', { data_policy: { ...ZDR, regions: ['us'] } })
  assert.deepEqual(JSON.parse(narrowed.text).data_policy, { ...ZDR, regions: ['us'] })
  assert.equal(await regionOf(child.key), '403 policy_not_satisfiable')
  await change(account, `/v1/keys/${strict.id}`, 'PATCH', { data_policy: null })
  assert.deepEqual([await regionOf(strict.key), await regionOf(child.key)], ['us', 'eu'])
})

test('the policy of a team applies to its keys, to those that they create, and to requests as the team', async () => {
  const id = (await gateway.cli('accounts', 'create', '--name', 'teams')).trim()
  const account = (await gateway.cli('keys', 'create', '--name', 'k', '--account', id)).trim()
  const made = await change(account, '/v1/teams', 'POST', { name: 'EU', data_policy: { regions: ['EU'] } })
  const team = JSON.parse(made.text)
  assert.deepEqual([made.status, team.data_policy], [201, { regions: ['EU'] }])
  const own = await createKey(account, { team_id: team.id })
  const child = await createKey(own.key, {})
  for (const key of [own.key, child.key]) {
    assert.equal(await regionOf(account), 'us', 'nobody else')
    for (const path of Object.keys(BODIES) as (keyof typeof BODIES)[]) {
      assert.equal(await regionOf(key, path), 'eu', path)
      assert.equal(await regionOf(key, path, 'm2'), '403 policy_not_satisfiable', path)
    }
  }
  const asTeam = (of: string) =>
    send(gateway, '/v1/chat/completions', {
      key: account,
      body: { model: of, messages: hello },
      headers: { 'x-turnpike-team': team.id },
    })
  const [fits, refused] = [await asTeam('m1'), await asTeam('m2')]
  assert.equal(fits.status, 200, fits.text)
  assert.equal(provider.calls.at(-1)?.path.split('/')[1], 'eu')
  assert.deepEqual([refused.status, errorOf(refused).code], [403, 'policy_not_satisfiable'])
  const update = (data_policy: object | null) => change(account, `/v1/teams/${team.id}`, 'PATCH', { data_policy })
  for (const demand of [ZDR, { data_collection: 'deny' }]) {
    assert.equal((await update(demand)).status, 200)
    assert.deepEqual(
      [await regionOf(own.key), await regionOf(own.key, '/v1/messages', 'm2')],
      ['eu', '403 policy_not_satisfiable'],
    )
  }
  await update(null)
  assert.equal(await regionOf(own.key), 'us')
  const strict = await createKey(account, { team_id: team.id, data_policy: { regions: ['us'] } })
  await update({ regions: ['eu'] })
  assert.equal(await regionOf(strict.key), '403 policy_not_satisfiable', 'both policies hold')
  await gateway.cli('teams', 'update', team.id, '--regions', '')
  await eventually(
    () => regionOf(own.key),
    (region) => region === 'us',
  )
  await gateway.cli('teams', 'update', team.id, '--zdr')
  await eventually(
    () => regionOf(own.key),
    (region) => region === 'eu',
  )
})

test('turnpike keys create takes a policy', async () => {
  const key = (await gateway.cli('keys', 'create', '--name', 'k', '--data-collection', 'deny')).trim()
  assert.equal(await regionOf(key), 'eu')
})
