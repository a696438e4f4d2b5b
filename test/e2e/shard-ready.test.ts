import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { Client } from 'pg'
import { ordinary } from '../support/answers.ts'
import { CHAT, eventually, hello, send } from '../support/client.ts'
import { sqliteTest as once } from '../support/database.ts'
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { everyRow, type LedgerRow } from '../support/money.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'

/** Tables whose rows belong to an account; `db/schema.ts` names the others and says why. */
const TENANT_TABLES = [
  'api_key',
  'completion',
  'usage_rollup',
  'usage_hour',
  'key_spending',
  'hold',
  'ledger',
  'idempotency',
  'invoice',
  'usage_alert',
]

/** What looks across accounts on purpose: background work, every few seconds or minutes, and never for a request. */
const BACKGROUND: readonly (readonly [what: RegExp, why: string])[] = [
  [/from "hold" .*left join "instance"/s, 'the sweep of holds whose process is gone'],
  [/from "?hold"? .*"?instance_id"? =/s, 'holds of a process that is recovered'],
  [/"?idempotency"? where .*"?ended_at"? </s, 'retention'],
  [/"?idempotency"? .*"?lease_until"?/s, 'leases of keys, renewed for all of a process in one statement'],
  [/"?changed_at"?/, 'what other processes have changed'],
  [/from "?(completion|ledger|invoice)"? .*(group by|distinct|limit)/s, 'closing of months and retention'],
]

const MENTIONS = new RegExp(`\\b(?:from|join|into|update)\\s+"?(?:${TENANT_TABLES.join('|')})"?(?![\\w.])`, 'i')
const BY_ACCOUNT =
  /account_id"?\s*(?:=|in\b|is\b)|=\s*(?:"?\w+"?\.)?"?account_id\b|insert into "?\w+"?\s*\(\s*"?account_id\b|\("?account_id"?,/i

let postgres: PostgresServer
let provider: FakeProvider
let gateway: Gateway

before(async () => {
  if (process.env['TURNPIKE_TEST_DATABASE_URL'] !== undefined) return
  const settings = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track_utility': 'off' }
  postgres = await startPostgres({ settings })
  provider = await startFakeProvider(ordinary)
  const env = { DATABASE_URL: postgres.url, TURNPIKE_SECRET: 'a secret of tests, known to everybody' }
  gateway = await startGateway({ config: oneModel(provider.url), env, args: ['--migrate'] })
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
  const key = await gateway.key('--account', account, '--monthly-budget-usd', '1')
  for (const stream of [true, false]) await send(gateway, CHAT, { key, body: hello({ stream, max_tokens: 10 }) })
  const headers = { 'idempotency-key': 'once' }
  for (const _ of [1, 2]) await send(gateway, CHAT, { key, body: hello({ max_tokens: 10 }), headers })
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
  ]
  for (const path of reads) assert.equal((await send(gateway, path, { key })).status, 200, path)
  assert.equal((await send(gateway, '/v1/admin/accounts', { key: operator })).status, 200)
  const body = { monthly_budget_usd: 1 }
  assert.equal((await send(gateway, '/v1/account', { key, method: 'PATCH', body })).status, 200)
  await send(gateway, '/v1/keys', { key, body: { name: 'second' } })
}

once(
  'every statement that a request runs on a tenant table names the account, so that accounts can be sharded',
  async () => {
    const client = new Client({ connectionString: postgres.url })
    await client.connect()
    try {
      await client.query('create extension pg_stat_statements')
      await doEverything()
      const { rows } = await client.query<{ query: string }>('select distinct query from pg_stat_statements')
      const onTenants = rows.map(({ query }) => query).filter((query) => MENTIONS.test(query))
      const astray = onTenants.filter(
        (query) => !BY_ACCOUNT.test(query) && !BACKGROUND.some(([pattern]) => pattern.test(query)),
      )
      console.log(`sharding: ${onTenants.length} statements on tenant tables, ${astray.length} without their account`)
      assert.ok(onTenants.length > 20, 'the walk has run statements')
      assert.deepEqual(astray, [])
    } finally {
      await client.end()
    }
  },
)
