/** What a key with limits, and what it made before it had them, can come to: never more than the key itself. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SCOPES } from '../../src/domain/identity/caller.ts'
import type { AccountId } from '../../src/domain/ids.ts'
import { type ActiveKey, loadKeyById } from '../../src/features/keys/authenticator.ts'
import type { KeyRights } from '../../src/features/keys/key.ts'
import { createKey, FULL_ACCESS } from '../../src/features/keys/queries.ts'
import { type AppForTests, openApp } from '../support/browser/signed-in.ts'
import { testIds } from '../support/database.ts'
import { collectRoutes, type TableRow } from '../support/http/routes.ts'
import { smallestBody } from '../support/http/smallest-body.ts'
import { RESOURCES } from '../support/process/resources.ts'

const born = { now: Date.now, ids: testIds }
const HOUR_MS = 3_600_000
const LIMITS: Readonly<Record<string, () => Partial<KeyRights>>> = {
  'a budget': () => ({ monthlyBudgetNanoUsd: 10_000_000n }),
  models: () => ({ models: ['m1'] }),
  'a rate': () => ({ requestsPerMinute: 1_000 }),
  'an expiry': () => ({ expiresAt: Date.now() + HOUR_MS }),
}
/** Anything that somebody could present instead of the key. */
const CREDENTIAL = /\b(tp_|tpi_|tpa_|tpr_|tpd_)[0-9A-Za-z]{20,}|#token=|set-cookie/

interface Made {
  readonly keys: number
  readonly people: number
  readonly invitations: number
  readonly sessions: number
  readonly devices: number
}

async function made({ database: { db } }: AppForTests): Promise<Made> {
  const count = async (table: 'api_key' | 'member' | 'invitation' | 'session' | 'device') => {
    const { rows } = await db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
    return Number(rows)
  }
  const [keys, people, invitations] = [await count('api_key'), await count('member'), await count('invitation')]
  return { keys, people, invitations, sessions: await count('session'), devices: await count('device') }
}

function changing(routes: readonly TableRow[]): readonly TableRow[] {
  return routes.filter(({ method, scope }) => !['GET', 'HEAD', 'OPTIONS'].includes(method) && scope !== undefined)
}

test('no route gives a key with limits another credential, including the operator’s', async (t) => {
  const { made: app, routes } = await collectRoutes(() => openApp(t))
  const accountId = await app.account('Home')
  const { userId } = await app.person(accountId, 'owner')
  let asked = 0
  for (const [name, limits] of Object.entries(LIMITS)) {
    const rights = { ...FULL_ACCESS, ...limits(), accountId, scopes: SCOPES, name }
    const { key, secret: token } = await createKey(app.database.db, rights, born)
    for (const row of changing(routes)) {
      const resource = RESOURCES[row.path.slice(0, row.path.indexOf('/:'))]
      const id = row.path.includes('/:') && resource?.make ? await resource.make(app, { accountId, userId }) : key.id
      const ids = id.split('/')
      const url = row.path.replace(/:\w+|\*/g, () => encodeURIComponent(ids.shift() ?? 'x'))
      const body = row.body === undefined ? {} : { body: smallestBody(row.body) as object }
      const before = await made(app)
      const answer = await app.ask(row.method as 'POST', url, { token, ...body })
      const text = JSON.stringify([answer.headers, answer.body])
      assert.doesNotMatch(text, CREDENTIAL, `${name}: ${row.method} ${row.path}`)
      const after = await made(app)
      assert.deepEqual(after, before, `${name}: ${row.method} ${row.path}`)
      asked++
    }
  }
  assert.ok(asked > 80, `${asked}`)
})

const limit = fc.record(
  {
    monthly_budget_usd: fc.constantFrom(0, 0.01),
    models: fc.constant(['m1']),
    requests_per_minute: fc.constantFrom(1, 5),
    expires_at: fc.constant('2099-01-01T00:00:00.000Z'),
    scopes: fc.constant(['chat', 'webhooks']),
    ip_allowlist: fc.constant(['203.0.113.0/24']),
  },
  { requiredKeys: [] },
)
const pick = fc.nat(20)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('create' as const), with: pick, limit }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('patch' as const), with: pick, of: pick, limit }) },
  fc.record({ kind: fc.constant('lift' as const), with: pick, of: pick }),
  fc.record({ kind: fc.constant('webhook' as const), with: pick }),
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
const LIFTED = { models: [], monthly_budget_usd: null, requests_per_minute: null, expires_at: null, ip_allowlist: [] }

interface Held {
  readonly id: string
  readonly secret: string
}

async function take(app: AppForTests, held: Held[], what: Step): Promise<void> {
  const at = (index: number) => held[index % held.length]
  const token = at(what.with)?.secret ?? ''
  if (what.kind === 'webhook') {
    await app.ask('POST', '/v1/webhooks', { token, body: { url: 'https://hooks.example.com/' } })
    return
  }
  if (what.kind === 'create') {
    const answer = await app.ask('POST', '/v1/keys', { token, body: { name: 'k', ...what.limit } })
    if (answer.statusCode === 201) held.push({ id: answer.json().id, secret: answer.json().key })
    return
  }
  const id = at(what.of)?.id
  await app.ask('PATCH', `/v1/keys/${id}`, { token, body: what.kind === 'patch' ? what.limit : LIFTED })
}

/** Said without the code's own comparison. */
function assertWithin(known: ActiveKey, root: ActiveKey): void {
  const { caller } = known
  for (const scope of caller.scopes) assert.ok(root.caller.scopes.has(scope), scope)
  assert.ok(known.expiresAt <= root.expiresAt)
  const { models, requestsPerMinute, monthlyBudgetNanoUsd, keyId } = root.caller
  if (models !== undefined) assert.ok(caller.models && [...caller.models].every((model) => models.has(model)))
  if (requestsPerMinute !== undefined) {
    assert.ok((caller.requestsPerMinute ?? Number.POSITIVE_INFINITY) <= requestsPerMinute)
    assert.equal(caller.rateKeyId, keyId, 'one count for all of them')
  }
  const budgets = [{ keyId: caller.keyId, nanoUsd: caller.monthlyBudgetNanoUsd }, ...(caller.ancestors ?? [])]
  assert.equal(budgets.find((budget) => budget.keyId === keyId)?.nanoUsd, monthlyBudgetNanoUsd)
  assert.ok(root.allowed.every((ranges) => known.allowed.some((list) => list.length === ranges.length)))
}

test('whatever a key has made, and however its owner limits it later, nothing of that exceeds the key; and it ends with it', async (t) => {
  const app = await openApp(t)
  const { db } = app.database
  let keys = 0
  let asked = 0
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 3, maxLength: 8 }),
    limit,
    fc.array(step, { maxLength: 6 }),
    async (before, limitOfOwner, after) => {
      const accountId: AccountId = await app.account('Run')
      const owner = await app.key(accountId)
      const { key, secret } = await createKey(db, { ...FULL_ACCESS, accountId, name: 'root' }, born)
      const held: Held[] = [{ id: key.id, secret }]
      for (const one of before) await take(app, held, one)
      await app.ask('PATCH', `/v1/keys/${key.id}`, { token: owner, body: limitOfOwner })
      for (const one of after) await take(app, held, one)
      const root = await loadKeyById(db, { accountId, keyId: key.id })
      assert.ok(root)
      for (const one of held) {
        const known = await loadKeyById(db, { accountId, keyId: one.id as typeof key.id })
        if (known !== undefined) assertWithin(known, root)
        keys++
      }
      assert.equal((await app.ask('DELETE', `/v1/keys/${key.id}`, { token: owner })).statusCode, 204)
      for (const { secret: token } of held) {
        // Unknown keys from one address are throttled.
        const address = `198.51.100.${++asked % 250}`
        assert.equal((await app.ask('GET', '/v1/me', { token, address })).statusCode, 401)
      }
      const webhooks = await db.selectFrom('webhook').selectAll().where('account_id', '=', accountId).execute()
      for (const webhook of webhooks) assert.ok(webhook.disabled_at !== null && webhook.creator_gone_at !== null)
    },
  )
  await fc.assert(property, { numRuns: 25 })
  assert.ok(keys > 40, `${keys}`)
})

test('with cascade=false the keys and webhooks that a key made stay, with its limits', async (t) => {
  const app = await openApp(t)
  const accountId = await app.account()
  const owner = await app.key(accountId)
  const { key, secret } = await createKey(app.database.db, { ...FULL_ACCESS, accountId, name: 'root' }, born)
  const child = (await app.ask('POST', '/v1/keys', { token: secret, body: { name: 'child' } })).json()
  await app.ask('POST', '/v1/webhooks', { token: child.key, body: { url: 'https://hooks.example.com/' } })
  assert.equal(child.parent_id, key.id)
  await app.ask('PATCH', `/v1/keys/${key.id}`, { token: owner, body: { requests_per_minute: 7 } })
  const shown = (await app.ask('GET', `/v1/keys/${key.id}`, { token: owner })).json()
  assert.deepEqual([shown.created_keys, shown.created_webhooks], [1, 1])
  assert.equal((await app.ask('DELETE', `/v1/keys/${key.id}?cascade=false`, { token: owner })).statusCode, 204)
  assert.equal((await app.ask('GET', '/v1/me', { token: secret })).statusCode, 401)
  assert.equal((await app.ask('GET', '/v1/me', { token: child.key })).statusCode, 200)
  const known = await loadKeyById(app.database.db, { accountId, keyId: child.id })
  assert.deepEqual([known?.caller.requestsPerMinute, known?.caller.rateKeyId], [7, key.id])
  const [webhook] = (await app.ask('GET', '/v1/webhooks', { token: owner })).json().data
  assert.equal(webhook.status, 'enabled')
  assert.equal((await app.ask('DELETE', `/v1/keys/${child.id}?cascade=maybe`, { token: owner })).statusCode, 400)
})

test('keys are nested 8 deep at most [limit: nested-keys]', async (t) => {
  const app = await openApp(t)
  let token = await app.key(await app.account())
  for (let depth = 1; depth <= 8; depth++) {
    token = (await app.ask('POST', '/v1/keys', { token, body: { name: `${depth}` } })).json().key
  }
  const refused = await app.ask('POST', '/v1/keys', { token, body: { name: 'too deep' } })
  assert.deepEqual([refused.statusCode, refused.json().error.code], [409, 'conflict'])
})
