/** The schema sharded by account, on a PostgreSQL of its own. Runs on one database: that one. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { CHAT, eventually, hello, send } from '../support/client.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { everyRow, type LedgerRow } from '../support/ledger/money.ts'
import { type PostgresServer, startPostgres } from '../support/process/postgres-server.ts'
import { ordinary } from '../support/providers/answers.ts'
import { type FakeProvider, startFakeProvider } from '../support/providers/fake-provider.ts'

/** Tables whose rows belong to an account; `db/schema.ts` names the others and says why. */
const TENANT_TABLES = [
  'api_key',
  'completion',
  'usage_rollup',
  'usage_hour',
  'usage_dimension',
  'usage_progress',
  'usage_late',
  'rejection',
  'performance_hour',
  'performance_day',
  'retired_usage',
  'key_spending',
  'budget',
  'budget_window',
  'budget_raise',
  'budget_alert',
  'hold',
  'ledger',
  'idempotency',
  'response',
  'completion_content',
  'invoice',
  'usage_alert',
  'payment_account',
  'payment',
  'member',
  'invitation',
  'device',
  'device_token',
  'audit',
  'provider_credential',
  'telemetry_destination',
  'guardrail',
  'webhook',
  'event',
  'delivery',
  'delivery_attempt',
  'agent',
  'run',
  'agent_message',
  'agent_event',
  'run_artifact',
]

/** What looks across accounts on purpose: background work, every few seconds or minutes, and never for a request. */
const BACKGROUND: readonly (readonly [what: RegExp, why: string])[] = [
  [/from "hold" .*left join "instance"/s, 'the sweep of holds whose process is gone'],
  [/from "?hold"? .*"?instance_id"? =/s, 'holds of a process that is recovered'],
  [/"?idempotency"? where .*"?ended_at"? </s, 'retention'],
  [/"?idempotency"? .*"?lease_until"?/s, 'leases of keys, renewed for all of a process in one statement'],
  [/"?changed_at"?/, 'what other processes have changed'],
  [/from "?(completion|ledger|invoice)"? .*(group by|distinct|limit)/s, 'closing of months and retention'],
  [/"(device_token|invitation)"[^;]*"expires_at" </s, 'retention'],
  [/from "api_key" .*"expiry_alert_due"/s, 'alerts of keys that expire soon'],
  [/^insert into plan_allowance /, 'a migration: allowances that were granted before it'],
  [/from "usage_alert" where "told" =/, 'alerts that are not told yet'],
  [/from "budget_alert" where "told" =/, 'alerts of budgets that are not told yet'],
  [/from "budget_raise" where "end_alerted" =/, 'alerts of raises that have ended'],
  [/from "budget" inner join "budget_window" as "used"/, 'metrics of budgets'],
  [/from "usage_progress" where "account_id" >/, 'sums by dimension'],
  [/from "performance_hour" where "hour" </, 'retention'],
  [/from "(response|rejection)" where "created_at" </, 'retention'],
  [/from "telemetry_destination" where "enabled" =/, 'what a process exports to'],
  [/from "response" where "sealed_with" </, 'a change of the secret'],
  [/from "(delivery|event)" where "(ended|created)_at" </, 'retention'],
  [/^update response set bytes = /, 'a migration: responses that were stored before it'],
  [/^update api_key set scopes = /, 'a migration: keys of operators that listed every scope'],
  [
    /from "run" where "status" = \$\d+ and ("(id|created_at|seen_at|cancel_requested_at)" (<|in)|exists)/,
    'runs that nobody has begun, or that have fallen silent',
  ],
]

/** Requests of people, who are asked which accounts are theirs: at sign-in, and when they go from one to another. */
const OF_A_PERSON = /from "member" .*"member"\."user_id" = /s

const MENTIONS = new RegExp(`\\b(?:from|join|into|update)\\s+"?(?:${TENANT_TABLES.join('|')})"?(?![\\w.])`, 'i')
const BY_ACCOUNT =
  /account_id"?\s*(?:=|in\b|is\b)|=\s*(?:"?\w+"?\.)?"?account_id\b|insert into "?\w+"?\s*\([^)]*\baccount_id\b|\("?account_id"?,/i

let postgres: PostgresServer
let provider: FakeProvider
let gateway: Gateway

before(async () => {
  if (process.env['TURNPIKE_TEST_DATABASE_URL'] !== undefined) return
  const settings = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track_utility': 'off' }
  postgres = await startPostgres({ settings })
  provider = await startFakeProvider(ordinary)
  const env = { DATABASE_URL: postgres.url, TURNPIKE_SECRET: 'a secret of tests, known to everybody' }
  gateway = await startGateway({
    config: oneModel(provider.url, {}, { responses: { store: true } }),
    env,
    args: ['--migrate'],
  })
})

after(async () => {
  await gateway?.stop()
  await provider?.close()
  await postgres?.stop()
})

async function doEverything(): Promise<void> {
  const operator = await gateway.key('--operator')
  const account = await gateway.cli('accounts', 'create', '--name', 'tenant', '--plan', 'free')
  await gateway.cli('credits', 'grant', '--account', account, '--usd', '1')
  const key = await gateway.key('--account', account)
  const limited = await gateway.key('--account', account, '--monthly-budget-usd', '1')
  for (const stream of [true, false])
    await send(gateway, CHAT, { key: limited, body: hello({ stream, max_tokens: 10 }) })
  const headers = { 'idempotency-key': 'once' }
  for (const _ of [1, 2]) await send(gateway, CHAT, { key: limited, body: hello({ max_tokens: 10 }), headers })
  await eventually(
    () => everyRow<LedgerRow>(gateway, key, '/v1/ledger?kind=charge'),
    ({ length }) => length >= 3,
  )
  const reads = [
    '/v1/usage?group_by=day',
    '/v1/usage/completions?status=completed&model=m1',
    '/v1/usage/reconcile',
    '/v1/ledger',
    '/v1/invoices',
    '/v1/keys',
    '/v1/account',
    '/v1/budgets',
  ]
  for (const path of reads) assert.equal((await send(gateway, path, { key })).status, 200, path)
  assert.equal((await send(gateway, '/v1/admin/accounts', { key: operator })).status, 200)
  const budgets = [{ usd: 1, window: 'day' }]
  const body = { monthly_budget_usd: 1, budgets }
  assert.equal((await send(gateway, '/v1/account', { key, method: 'PATCH', body })).status, 200)
  assert.equal((await send(gateway, CHAT, { key, body: hello({ max_tokens: 10 }) })).status, 200)
  const listed = await send(gateway, '/v1/budgets', { key })
  const raise = { usd: 1, ends_at: '2100-01-01T00:00:00Z', reason: 'test' }
  const raises = `/v1/budgets/${JSON.parse(listed.text).data[0].id}/raises`
  assert.equal((await send(gateway, raises, { key, body: raise })).status, 201)
  await send(gateway, '/v1/keys', { key, body: { name: 'second' } })
  await continueResponses(key)
  await doWhatPeopleDo(key)
  await workWithAgents(key)
}

async function continueResponses(key: string): Promise<void> {
  const ask = async (body: object): Promise<{ id: string; output: readonly { id: string }[] }> => {
    const answer = await send(gateway, '/v1/responses', { key, body: { model: 'm1', ...body } })
    assert.equal(answer.status, 200, answer.text)
    return JSON.parse(answer.text)
  }
  const one = await ask({ input: 'One.' })
  const two = await ask({ input: 'Two.', previous_response_id: one.id })
  await ask({
    input: [
      { type: 'item_reference', id: two.output[0]?.id },
      { role: 'user', content: 'Three.' },
    ],
  })
  const path = `/v1/responses/${two.id}`
  for (const read of [path, `${path}/input_items`]) assert.equal((await send(gateway, read, { key })).status, 200, read)
  assert.equal((await send(gateway, path, { key, method: 'DELETE' })).status, 200)
}

/** All that a request can do with one. Whether the worker has it already, or has found no repository, differs from time to time. */
async function workWithAgents(key: string): Promise<void> {
  const order = { name: 'one', repository: 'acme/website', prompt: 'Do it.', model: 'turnpike-simulator' }
  const headers = { 'idempotency-key': 'agent' }
  const made = await send(gateway, '/v1/agents', { key, body: order, headers })
  assert.equal(made.status, 201, made.text)
  const path = `/v1/agents/${JSON.parse(made.text).id}`
  const tell = () => send(gateway, `${path}/followup`, { key, body: { prompt: 'more' } })
  const cancel = () => send(gateway, `${path}/cancel`, { key, method: 'POST' })
  const statusNow = async () => JSON.parse((await send(gateway, path, { key })).text).status
  assert.equal((await tell()).status, 202)
  for (const _ of [1, 2]) assert.ok([202, 409].includes((await cancel()).status))
  await eventually(statusNow, (status) => status === 'cancelled' || status === 'failed')
  for (const part of ['', '/messages', '/runs?order=asc', '/events'])
    assert.equal((await send(gateway, `${path}${part}`, { key })).status, 200, part)
  assert.equal((await send(gateway, `${path}/diff`, { key })).status, 404)
  for (const query of ['status=cancelled&repository=acme/website', 'limit=1&order=asc'])
    assert.equal((await send(gateway, `/v1/agents?${query}`, { key })).status, 200, query)
  assert.equal((await send(gateway, '/v1/usage?group_by=agent', { key })).status, 200)
  assert.equal((await tell()).status, 202)
  await cancel()
  await eventually(
    () => send(gateway, path, { key, method: 'DELETE' }),
    ({ status }) => status === 204,
  )
}

/** Signs the owner in by the link, connects a device, invites, changes and removes members. */
async function doWhatPeopleDo(key: string): Promise<void> {
  const headers = { 'sec-fetch-site': 'same-origin' }
  const link = await gateway.cli('login-link')
  const signedIn = await send(gateway, '/auth/link', { headers, body: { token: link.split('=')[1] } })
  assert.equal(signedIn.status, 200, signedIn.text)
  const cookie = signedIn.headers['set-cookie']?.split(';', 1)[0] ?? ''
  const { access_token: session, user } = JSON.parse(signedIn.text)
  const client = { client_id: 'turnpike-cli' }
  const device = JSON.parse(
    (await send(gateway, '/device/code', { body: { ...client, scope: 'api offline_access' } })).text,
  )
  const decision = String(new URLSearchParams({ user_code: device.user_code, decision: 'approve' }))
  const form = { ...headers, cookie, 'content-type': 'application/x-www-form-urlencoded' }
  const decided = await send(gateway, '/activate/decision', { headers: form, body: decision })
  assert.equal(decided.headers['location'], '/activate/approved')
  const grant = {
    ...client,
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: device.device_code,
  }
  const tokens = JSON.parse((await send(gateway, '/oauth/token', { body: grant })).text)
  const again = { ...client, grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  assert.equal((await send(gateway, '/oauth/token', { body: again })).status, 200)
  for (const body of [{ role: 'admin' }, { role: 'billing', email: 'a@example.com' }]) {
    const made = await send(gateway, '/v1/invitations', { key: session, body })
    assert.equal(made.status, 201, made.text)
    const url = new URL(JSON.parse(made.text).url)
    const token = String(new URLSearchParams({ token: url.hash.slice('#token='.length), accept: 'yes' }))
    await send(gateway, '/invitation', { headers: form, body: token })
    await send(gateway, `/v1/invitations/${JSON.parse(made.text).id}`, { key: session, method: 'DELETE' })
  }
  for (const path of ['members', 'invitations', 'audit?action=key.created', 'devices?all=true', 'sessions', 'me']) {
    for (const by of [session, key]) assert.equal((await send(gateway, `/v1/${path}`, { key: by })).status, 200, path)
  }
  const lastOne = `/v1/members/${user.id}`
  assert.equal((await send(gateway, lastOne, { key: session, method: 'PATCH', body: { role: 'admin' } })).status, 409)
  assert.equal((await send(gateway, lastOne, { key: session, method: 'DELETE' })).status, 409)
  const { data } = JSON.parse((await send(gateway, '/v1/devices', { key: session })).text)
  assert.equal((await send(gateway, `/v1/devices/${data[0].id}`, { key: session, method: 'DELETE' })).status, 204)
}

test('TEN-1: every statement that a request runs on a tenant table names the account, so that accounts can be sharded', async () => {
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  try {
    await client.query('create extension pg_stat_statements')
    await doEverything()
    const { rows } = await client.query<{ query: string }>('select distinct query from pg_stat_statements')
    const onTenants = rows.map(({ query }) => query).filter((query) => MENTIONS.test(query))
    const astray = onTenants.filter(
      (query) => ![BY_ACCOUNT, OF_A_PERSON, ...BACKGROUND.map(([pattern]) => pattern)].some((one) => one.test(query)),
    )
    console.log(`sharding: ${onTenants.length} statements on tenant tables, ${astray.length} without their account`)
    assert.ok(onTenants.length > 20, 'the walk has run statements')
    assert.deepEqual(astray, [])
  } finally {
    await client.end()
  }
})
