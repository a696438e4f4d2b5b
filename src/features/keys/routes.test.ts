import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase, testIds } from '../../../test/support/database.ts'
import { completionRecord, recordCompletions } from '../../../test/support/ledger/completions.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId } from '../../domain/ids.ts'
import { callerOf, requireCaller } from '../../http/caller.ts'
import { createHttpServer } from '../../http/server.ts'
import { createBudgets } from '../credit/budgets/store.ts'
import { createAuthenticator } from './authenticator.ts'
import { recordExpiryAlerts } from './expiry-alerts.ts'
import { createKey, FULL_ACCESS, type NewKey } from './queries.ts'
import { keysRoutes } from './routes.ts'

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  readonly body: any
  readonly text: string
}

const MAX_KEYS = 20

async function setUp(t: TestContext) {
  let time = Date.UTC(2026, 0, 1)
  const now = () => time++
  const database = await temporaryDatabase(t)
  const { db, batch, onChange } = database
  for (const name of ['a', 'b']) {
    await db
      .insertInto('account')
      .values({ id: `acc_${name}` as AccountId, name, plan: 'free', created_at: 1, changed_at: 1 })
      .execute()
  }
  const interrupted: ((caller: Caller) => boolean)[] = []
  const onEnded = (isEnded: (caller: Caller) => boolean) => void interrupted.push(isEnded)
  const authenticator = createAuthenticator({ db, batch, onChange, now, onEnded })
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    onError: () => {},
    draining: () => false,
  })
  t.after(() => app.close())
  requireCaller(app, authenticator.authenticate)
  const events: AuditEvent[] = []
  const writeAudit = async (_db: unknown, event: AuditEvent): Promise<void> => void events.push(event)
  const deps = {
    db,
    now,
    ids: testIds,
    callerOf,
    cursorKey: Buffer.alloc(32, 1),
    changed: authenticator.refresh,
    writeAudit,
    maxKeys: () => MAX_KEYS,
    budgets: createBudgets({ db, now, ids: testIds, writeAudit }),
  }
  await app.register(keysRoutes(deps))
  const create = (rights: Partial<NewKey> = {}) =>
    createKey(db, { accountId: 'acc_a' as AccountId, name: 'k', ...FULL_ACCESS, ...rights }, { now, ids: testIds })
  const ask = async (
    secret: string,
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    body?: object,
  ): Promise<Answer> => {
    const headers = { authorization: `Bearer ${secret}` }
    const response = await app.inject({ method, url, headers, ...(body === undefined ? {} : { payload: body }) })
    return {
      status: response.statusCode,
      body: response.body === '' ? undefined : response.json(),
      text: response.body,
    }
  }
  const pass = (ms: number): void => {
    time += ms
  }
  return { create, ask, now, pass, events, database, authenticator, interrupted }
}

test('creating a key returns 201 and the secret, once, which works at once', async (t) => {
  const { create, ask } = await setUp(t)
  const { key: first, secret } = await create()
  const { status, body } = await ask(secret, 'POST', '/keys', { name: 'ci' })
  assert.equal(status, 201)
  const { id, key, prefix, last4, created_at, ...rest } = body
  assert.match(id, /^key_[0-9A-Za-z]{20,}$/)
  assert.match(key, /^tp_[0-9A-Za-z]{46}$/)
  assert.ok(key.startsWith(prefix) && key.endsWith(last4) && last4.length === 4)
  assert.match(created_at, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  assert.deepEqual(rest, {
    object: 'key',
    name: 'ci',
    scopes: [],
    ip_allowlist: [],
    monthly_budget_usd: null,
    requests_per_minute: null,
    models: [],
    data_policy: null,
    last_used_at: null,
    expires_at: null,
    revoked_at: null,
    disabled_at: null,
    previous_secret: null,
    tags: {},
    require_tags: [],
    created_by: null,
    parent_id: first.id,
    team_id: null,
    spent_usd: null,
    resets_at: null,
    budgets: [],
  })
  const list = await ask(key, 'GET', '/keys')
  assert.equal(list.status, 200)
  assert.ok(!list.text.includes(key) && !list.text.includes(secret))
  const listed = list.body.data.find((each: { id: string }) => each.id === id)
  assert.deepEqual(listed, { id, prefix, last4, created_at, ...rest })
  assert.equal(list.body.data.length, 2)
})

test('an account has a maximum number of keys, and a revoked one counts for a day after its creation [limit: keys-of-account]', async (t) => {
  const { create, ask, database } = await setUp(t)
  const { secret } = await create()
  const make = () => ask(secret, 'POST', '/keys', { name: 'k' })
  for (let made = 1; made < MAX_KEYS - 1; made++) await create()
  const [first, ...others] = await Promise.all([make(), make(), make()])
  const answers = [first, ...others]
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409], 'the last one is given once')
  const refused = answers.find(({ status }) => status === 409)
  assert.equal(refused?.body.error.code, 'conflict')
  assert.match(refused?.body.error.message, /^An account has at most 20 API keys/)
  const made = answers.find(({ status }) => status === 201)
  assert.equal((await ask(secret, 'DELETE', `/keys/${made?.body.id}`)).status, 204)
  assert.equal((await make()).status, 409, 'revoked, and still of the last 24 hours')
  await database.db.updateTable('api_key').set({ created_at: 1 }).execute()
  assert.equal((await make()).status, 201)
  await create({ accountId: 'acc_b' as AccountId })
  assert.equal(
    (await ask((await create({ accountId: 'acc_b' as AccountId })).secret, 'POST', '/keys', { name: 'k' })).status,
    201,
  )
})

test('every field can be set at creation and is returned unchanged', async (t) => {
  const { create, ask } = await setUp(t)
  const { secret } = await create()
  const rights = {
    scopes: ['chat', 'usage:read'],
    ip_allowlist: ['203.0.113.0/24', '2001:db8::1'],
    monthly_budget_usd: 12.345678901,
    requests_per_minute: 30,
    models: ['m1', 'vendor/m2'],
    expires_at: '2030-01-01T00:00:00.000Z',
  }
  const { status, body } = await ask(secret, 'POST', '/keys', { name: 'x', ...rights })
  assert.equal(status, 201)
  for (const [field, value] of Object.entries(rights)) assert.deepEqual(body[field], value, field)
})

test('an invalid body is 400 with the name of the field', async (t) => {
  const { create, ask } = await setUp(t)
  const { secret } = await create()
  const cases: readonly [object, string, string][] = [
    [{}, 'name', 'missing_field'],
    [{ name: 5 }, 'name', 'invalid_type'],
    [{ name: '' }, 'name', 'out_of_range'],
    [{ name: 'a\u0000b' }, 'name', 'invalid_value'],
    [{ name: 'x', account_id: 'acc_b' }, 'account_id', 'unknown_field'],
    [{ name: 'x', key: 'tp_mine' }, 'key', 'unknown_field'],
    [{ name: 'x', scopes: ['chat', 'root'] }, 'scopes[1]', 'invalid_value'],
    [{ name: 'x', scopes: 'chat' }, 'scopes', 'invalid_type'],
    [{ name: 'x', ip_allowlist: ['10.0.0.0/8', '10.0.0.0/40'] }, 'ip_allowlist[1]', 'invalid_value'],
    [{ name: 'x', requests_per_minute: 0 }, 'requests_per_minute', 'out_of_range'],
    [{ name: 'x', requests_per_minute: 1.5 }, 'requests_per_minute', 'invalid_type'],
    [{ name: 'x', monthly_budget_usd: -1 }, 'monthly_budget_usd', 'out_of_range'],
    [{ name: 'x', expires_at: 'tomorrow' }, 'expires_at', 'invalid_value'],
    [{ name: 'x', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at', 'out_of_range'],
  ]
  for (const [body, param, code] of cases) {
    const answer = await ask(secret, 'POST', '/keys', body)
    assert.deepEqual(
      [answer.status, answer.body.error.param, answer.body.error.code],
      [400, param, code],
      JSON.stringify(body),
    )
    if (param === 'name' && code === 'missing_field') continue
    const { name: _, ...patch } = { name: '', ...body }
    const patched = await ask(secret, 'PATCH', '/keys/key_x', param === 'name' ? body : patch)
    assert.deepEqual([patched.status, patched.body.error.param], [400, param], JSON.stringify(body))
  }
})

test('KEY-3: a key grants no more than it has, when creating and when changing keys', async (t) => {
  const { create, ask } = await setUp(t)
  const { key: strong } = await create({ ipAllowlist: ['10.0.0.0/8'] })
  const { key, secret } = await create({ scopes: ['keys', 'chat'], ipAllowlist: ['127.0.0.0/8'] })
  const inherited = await ask(secret, 'POST', '/keys', { name: 'x' })
  assert.deepEqual([inherited.body.scopes, inherited.body.ip_allowlist], [['keys', 'chat'], ['127.0.0.0/8']])
  const refused: readonly [object, string][] = [
    [{ scopes: ['operator'] }, 'scopes'],
    [{ scopes: ['billing'] }, 'scopes'],
    [{ ip_allowlist: ['128.0.0.1'] }, 'ip_allowlist'],
  ]
  for (const [body, param] of refused) {
    for (const [method, url] of [
      ['POST', '/keys'],
      ['PATCH', `/keys/${key.id}`],
    ] as const) {
      const answer = await ask(secret, method, url, { name: 'x', ...body })
      assert.deepEqual(
        [answer.status, answer.body.error.type, answer.body.error.param],
        [403, 'permission_denied', param],
      )
    }
  }
  for (const body of [{ scopes: [] }, { ip_allowlist: [] }]) {
    assert.equal((await ask(secret, 'PATCH', `/keys/${key.id}`, body)).status, 403, JSON.stringify(body))
  }
  assert.equal((await ask(secret, 'PATCH', `/keys/${strong.id}`, { ip_allowlist: ['127.0.0.1'] })).status, 403)
  assert.equal((await ask(secret, 'PATCH', `/keys/${strong.id}`, { name: 'renamed' })).status, 200)
})

test('a key with a budget, models, a rate or an expiry cannot create keys, and the error names the reason', async (t) => {
  const { create, ask, now } = await setUp(t)
  const limits = [
    { monthlyBudgetNanoUsd: 10_000_000n },
    { models: ['m1'] },
    { requestsPerMinute: 9 },
    { expiresAt: now() + 1_000_000 },
  ]
  for (const limit of limits) {
    for (const scopes of [[], ['keys', 'chat']] as const) {
      const { key, secret } = await create({ ...limit, scopes })
      for (const [method, url, body] of [
        ['POST', '/keys', { name: 'x' }],
        ['PATCH', `/keys/${key.id}`, { monthly_budget_usd: null }],
        ['DELETE', `/keys/${key.id}`, undefined],
        ['GET', '/keys', undefined],
      ] as const) {
        const { status, body: answer } = await ask(secret, method, url, body)
        assert.deepEqual([status, answer.error.code], [403, 'insufficient_scope'], `${method} ${Object.keys(limit)}`)
        assert.match(answer.error.message, /A key with a budget, models, a rate or an expiry cannot manage keys/)
      }
    }
  }
})

test('a limited key with the scope keys is rejected, at creation and when limits are added', async (t) => {
  const { create, ask } = await setUp(t)
  const { secret } = await create()
  const made = await ask(secret, 'POST', '/keys', { name: 'x', scopes: ['keys'], requests_per_minute: 5 })
  assert.deepEqual([made.status, made.body.error.param], [400, 'scopes'])
  const { id } = (await ask(secret, 'POST', '/keys', { name: 'x', scopes: ['keys'] })).body
  const later = await ask(secret, 'PATCH', `/keys/${id}`, { models: ['m1'] })
  assert.deepEqual([later.status, later.body.error.param], [400, 'scopes'])
})

test('only a key with operator grants it over HTTP, and only on request', async (t) => {
  const { create, ask } = await setUp(t)
  const { secret: plain } = await create()
  assert.equal((await ask(plain, 'POST', '/keys', { name: 'x', scopes: ['operator'] })).status, 403)
  const { secret } = await create({ scopes: ['keys', 'operator'] })
  assert.deepEqual((await ask(secret, 'POST', '/keys', { name: 'x', scopes: ['operator'] })).body.scopes, ['operator'])
  assert.deepEqual((await ask(secret, 'POST', '/keys', { name: 'x' })).body.scopes, ['keys'])
})

test('a change affects only the sent fields, and is in force with the response', async (t) => {
  const { create, ask } = await setUp(t)
  const { secret } = await create()
  const made = (await ask(secret, 'POST', '/keys', { name: 'x', models: ['m1'], requests_per_minute: 5 })).body
  const { status, body } = await ask(secret, 'PATCH', `/keys/${made.id}`, {
    scopes: ['chat'],
    requests_per_minute: null,
  })
  assert.equal(status, 200)
  const { key, ...before } = made
  assert.deepEqual(body, { ...before, scopes: ['chat'], requests_per_minute: null })
  const answer = await ask(key, 'GET', '/keys')
  assert.deepEqual([answer.status, answer.body.error.code], [403, 'insufficient_scope'])
})

test('a revoked key is rejected from the response on, and stays in the list', async (t) => {
  const { create, ask } = await setUp(t)
  const { secret } = await create()
  const { id, key } = (await ask(secret, 'POST', '/keys', { name: 'x' })).body
  assert.equal((await ask(key, 'GET', '/keys')).status, 200)
  const { status, text } = await ask(secret, 'DELETE', `/keys/${id}`)
  assert.deepEqual([status, text], [204, ''])
  assert.equal((await ask(key, 'GET', '/keys')).status, 401)
  const { data } = (await ask(secret, 'GET', '/keys')).body
  const revoked = data.filter(({ revoked_at: at }: { revoked_at: string | null }) => at !== null)
  assert.deepEqual(
    revoked.map((each: { id: string }) => each.id),
    [id],
  )
  assert.equal((await ask(secret, 'DELETE', `/keys/${id}`)).status, 404)
  assert.equal((await ask(secret, 'PATCH', `/keys/${id}`, { name: 'y' })).status, 404)
})

test('TEN-2: a key of another account has the same answer as an unknown one', async (t) => {
  const { create, ask } = await setUp(t)
  const { secret } = await create()
  const foreign = await create({ accountId: 'acc_b' as AccountId })
  for (const [method, body] of [
    ['PATCH', { name: 'x' }],
    ['PATCH', { scopes: [] }],
    ['DELETE', undefined],
    ['GET', undefined],
  ] as const) {
    const [theirs, nobodys] = await Promise.all(
      [foreign.key.id, 'key_0000000000000000000000'].map((id) => ask(secret, method, `/keys/${id}`, body)),
    )
    assert.equal(theirs?.status, 404)
    const withoutId = ({ body: { error } }: Answer) => ({ ...error, request_id: '' })
    assert.deepEqual(theirs && withoutId(theirs), nobodys && withoutId(nobodys))
  }
  assert.ok(!(await ask(secret, 'GET', '/keys')).text.includes(foreign.key.id))
  assert.equal((await ask(foreign.secret, 'GET', '/keys')).status, 200)
})

test('the list has pages in both orders, and a cursor is valid only for its account', async (t) => {
  const { create, ask } = await setUp(t)
  const { secret } = await create()
  for (let count = 0; count < 6; count++) await create({ name: `k${count}` })
  const walk = async (order: string) => {
    const ids: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await ask(secret, 'GET', `/keys?limit=3&order=${order}${cursor}`)
      ids.push(...body.data.map(({ id }: { id: string }) => id))
      assert.equal(body.has_more, body.next_cursor !== null)
      if (body.next_cursor === null) return ids
      cursor = `&cursor=${body.next_cursor}`
    }
  }
  const ascending = await walk('asc')
  assert.equal(new Set(ascending).size, 7)
  assert.deepEqual(await walk('desc'), [...ascending].reverse())
  const { next_cursor } = (await ask(secret, 'GET', '/keys?limit=3')).body
  const other = await create({ accountId: 'acc_b' as AccountId })
  const stolen = await ask(other.secret, 'GET', `/keys?cursor=${next_cursor}`)
  assert.deepEqual([stolen.status, stolen.body.error.param], [400, 'cursor'])
  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=x', 'limit'],
    ['limit=101', 'limit'],
    ['order=up', 'order'],
  ] as const) {
    const answer = await ask(secret, 'GET', `/keys?${query}`)
    assert.deepEqual([answer.status, answer.body.error.param], [400, param], query)
  }
})

test('a key names its creator, even after they left', async (t) => {
  const { create, ask, database } = await setUp(t)
  const { secret } = await create()
  const person = { id: testIds.user(), email: 'ada@example.com', name: 'Ada', created_at: 1, changed_at: 1 }
  await database.db
    .insertInto('person')
    .values({ ...person, disabled_at: 1 })
    .execute()
  const of = { user_id: person.id, email: 'ada@example.com', name: 'Ada' }
  const { key } = await create({ createdBy: person.id })
  const { body } = await ask(secret, 'GET', '/keys?order=asc')
  assert.deepEqual(
    body.data.map(({ created_by }: { created_by: unknown }) => created_by),
    [null, of],
  )
  assert.deepEqual((await ask(secret, 'GET', `/keys/${key.id}`)).body.created_by, of)
  assert.deepEqual((await ask(secret, 'PATCH', `/keys/${key.id}`, { name: 'y' })).body.created_by, of)
})

test('keys are filtered by status, and a cursor is valid only for its filter', async (t) => {
  const { create, ask, now } = await setUp(t)
  const { secret, key: asker } = await create({ name: 'asker' })
  const [used, expired, both] = await Promise.all([
    create({ expiresAt: now() + 86_400_000 }),
    create({ expiresAt: now() }),
    create({ expiresAt: now() }),
  ])
  for (const { key } of [both]) assert.equal((await ask(secret, 'DELETE', `/keys/${key.id}`)).status, 204)
  const ids = async (query: string) => {
    const { body } = await ask(secret, 'GET', `/keys${query}`)
    return body.data.map(({ id }: { id: string }) => id).toSorted()
  }
  const all = [asker, used.key, expired.key, both.key].map(({ id }) => id).toSorted()
  assert.deepEqual([await ids(''), await ids('?status=all')], [all, all])
  assert.deepEqual(await ids('?status=active'), [asker.id, used.key.id].toSorted())
  assert.deepEqual(await ids('?status=expired'), [expired.key.id])
  assert.deepEqual(await ids('?status=revoked'), [both.key.id])
  const { next_cursor } = (await ask(secret, 'GET', '/keys?status=active&limit=1')).body
  assert.equal((await ask(secret, 'GET', `/keys?status=active&cursor=${next_cursor}`)).status, 200)
  for (const query of [`cursor=${next_cursor}`, `status=revoked&cursor=${next_cursor}`, 'status=lost']) {
    assert.equal((await ask(secret, 'GET', `/keys?${query}`)).status, 400, query)
  }
})

test('a key with a budget has its spending of the month, and every key its recent requests', async (t) => {
  const { create, ask, database } = await setUp(t)
  const { secret } = await create()
  const accountId = 'acc_a' as AccountId
  const budget = { monthlyBudgetNanoUsd: 10_000_000_000n }
  const [plain, fresh, noted, old] = await Promise.all([create(), create(budget), create(budget), create(budget)])
  const january = Date.UTC(2026, 0, 1)
  const spend = (id: typeof plain.key.id, before: number) =>
    completionRecord({ accountId, keyId: id, costNanoUsd: 2_000_000_000n, createdAt: january - before })
  const hour = 3_600_000
  await recordCompletions(database, [
    spend(plain.key.id, 0),
    spend(plain.key.id, hour),
    spend(plain.key.id, 26 * hour),
    spend(fresh.key.id, 0),
    spend(fresh.key.id, hour),
  ])
  const spending = { account_id: accountId, spent_nano_usd: 7_500_000_000n, held_nano_usd: 1n }
  const month = (2026 - 1970) * 12
  await database.db
    .insertInto('key_spending')
    .values([
      { ...spending, key_id: noted.key.id, month },
      { ...spending, key_id: old.key.id, month: month - 1 },
    ])
    .execute()
  const shown = async ({ key }: typeof plain) => {
    const { body } = await ask(secret, 'GET', `/keys/${key.id}`)
    return [body.spent_usd, body.resets_at, body.requests_last_24h]
  }
  const february = '2026-02-01T00:00:00.000Z'
  assert.deepEqual(await shown(plain), [null, null, 2])
  assert.deepEqual(await shown(fresh), [2, february, 2])
  assert.deepEqual(await shown(noted), [7.5, february, 0])
  assert.deepEqual(await shown(old), [0, february, 0])
  const { data } = (await ask(secret, 'GET', '/keys')).body
  const listed = new Map(data.map((key: { id: string; spent_usd: number | null }) => [key.id, key.spent_usd]))
  assert.deepEqual(
    [plain, fresh, noted, old].map(({ key }) => listed.get(key.id)),
    [null, 2, 7.5, 0],
  )
})

test('every route of keys requires the scope keys', async (t) => {
  const { create, ask } = await setUp(t)
  const { key, secret } = await create({ scopes: ['chat'] })
  for (const [method, url] of [
    ['GET', '/keys'],
    ['GET', `/keys/${key.id}`],
    ['POST', '/keys'],
    ['PATCH', `/keys/${key.id}`],
    ['DELETE', `/keys/${key.id}`],
  ] as const) {
    assert.equal((await ask(secret, method, url, method === 'GET' ? undefined : { name: 'x' })).status, 403, method)
  }
})

test('the audit log has changes of keys, and requests for rights that the caller lacks', async (t) => {
  const { create, ask, events } = await setUp(t)
  const { secret, key } = await create({ scopes: ['keys', 'chat'] })
  const { body } = await ask(secret, 'POST', '/keys', { name: 'ci' })
  await ask(secret, 'PATCH', `/keys/${body.id}`, { name: 'cd' })
  await ask(secret, 'DELETE', `/keys/${body.id}`)
  assert.equal((await ask(secret, 'DELETE', `/keys/${body.id}`)).status, 404)
  assert.equal((await ask(secret, 'POST', '/keys', { name: 'x', scopes: ['billing'] })).status, 403)
  assert.equal((await ask(secret, 'PATCH', `/keys/${key.id}`, { scopes: ['billing'] })).status, 403)
  assert.deepEqual(
    events.map(({ action, subject, result }) => [action, subject, result]),
    [
      ['key.created', body.id, 'done'],
      ['key.changed', body.id, 'done'],
      ['key.revoked', body.id, 'done'],
      ['key.created', undefined, 'denied'],
      ['key.changed', key.id, 'denied'],
    ],
  )
  assert.deepEqual(events[0]?.details, { name: 'ci', scopes: ['keys', 'chat'], last4: body.last4 })
  assert.ok(events.every(({ actor, accountId }) => actor.id === key.id && accountId === 'acc_a'))
  assert.ok(!JSON.stringify(events).includes(body.key))
})

test('a rotated key has another secret and all else; at most two are valid, the former for the chosen time', async (t) => {
  const { create, ask, pass, events } = await setUp(t)
  const { secret: admin } = await create()
  const { key, secret: first } = await create({ name: 'ci', models: ['m'], requestsPerMinute: 60 })
  const rotate = (body?: object) => ask(admin, 'POST', `/keys/${key.id}/rotate`, body)
  const works = async (secret: string) => (await ask(secret, 'GET', '/keys')).status === 403
  const { status, body } = await rotate({ overlap_seconds: 60 })
  const { key: second, prefix, last4, previous_secret: previous, ...rest } = body
  assert.deepEqual([status, previous.last4, second.slice(-4)], [200, first.slice(-4), last4])
  const { prefix: _, last4: __, previous_secret: ___, ...before } = (await ask(admin, 'GET', `/keys/${key.id}`)).body
  assert.deepEqual({ ...before, ...rest }, before)
  assert.deepEqual([rest.id, rest.models, rest.requests_per_minute], [key.id, ['m'], 60])
  assert.deepEqual([await works(first), await works(second)], [true, true])
  const third = (await rotate()).body.key
  assert.deepEqual([await works(first), await works(second), await works(third)], [false, true, true])
  pass(86_400_000)
  assert.deepEqual([await works(second), await works(third)], [false, true])
  const fourth = (await rotate({ overlap_seconds: 0 })).body
  assert.deepEqual([await works(third), await works(fourth.key), fourth.previous_secret], [false, true, null])
  const { action, subject, details } = events.findLast(({ action }) => action === 'key.rotated') ?? {}
  assert.deepEqual([action, subject, details?.['overlap_seconds']], ['key.rotated', key.id, 0])
  assert.ok(![first, second, third, fourth.key].some((secret) => JSON.stringify(events).includes(secret)))
  assert.equal((await rotate({ overlap_seconds: -1 })).status, 400)
})

test('who rotates or enables a key has its rights; disabling it needs none, and refuses the keys below it too', async (t) => {
  const { create, ask, events } = await setUp(t)
  const { secret: limited } = await create({ scopes: ['keys', 'chat'] })
  const { secret: admin } = await create()
  const { key, secret } = await create({ scopes: ['keys', 'billing'] })
  const below = (await ask(secret, 'POST', '/keys', { name: 'below' })).body
  assert.equal((await ask(limited, 'POST', `/keys/${key.id}/rotate`)).status, 403)
  const disabled = await ask(limited, 'PATCH', `/keys/${key.id}`, { disabled: true })
  assert.match(disabled.body.disabled_at, /^2026-/)
  for (const one of [secret, below.key]) assert.equal((await ask(one, 'GET', '/keys')).status, 401)
  assert.equal((await ask(limited, 'PATCH', `/keys/${key.id}`, { disabled: false })).status, 403)
  const listed = (await ask(admin, 'GET', '/keys?status=disabled')).body.data
  assert.deepEqual(
    listed.map((each: { id: string }) => each.id),
    [key.id],
  )
  const active = (await ask(admin, 'GET', '/keys?status=active')).body.data
  assert.ok(active.every((each: { id: string }) => each.id !== key.id))
  assert.equal((await ask(admin, 'PATCH', `/keys/${key.id}`, { disabled: false })).body.disabled_at, null)
  for (const one of [secret, below.key]) assert.equal((await ask(one, 'GET', '/keys')).status, 200)
  assert.deepEqual(
    events.filter(({ subject }) => subject === key.id).map(({ action, result }) => [action, result]),
    [
      ['key.rotated', 'denied'],
      ['key.disabled', 'done'],
      ['key.changed', 'denied'],
      ['key.enabled', 'done'],
    ],
  )
  assert.equal((await ask(admin, 'DELETE', `/keys/${key.id}`)).status, 204)
  assert.equal((await ask(admin, 'POST', `/keys/${key.id}/rotate`)).status, 404)
})

test('disabling a key ends the requests in flight of the keys below it, and revoking it alone does not', async (t) => {
  const { create, ask, authenticator, interrupted } = await setUp(t)
  const { secret: admin } = await create()
  const { key, secret } = await create()
  const below = (await ask(secret, 'POST', '/keys', { name: 'below' })).body.key
  const callers = await Promise.all(
    [admin, secret, below].map((one) => authenticator.authenticate(`Bearer ${one}`, '127.0.0.1')),
  )
  const ended = () => callers.map((caller) => interrupted.some((is) => is(caller)))
  await ask(admin, 'PATCH', `/keys/${key.id}`, { disabled: true })
  assert.deepEqual(ended(), [false, true, true])
  await ask(admin, 'PATCH', `/keys/${key.id}`, { disabled: false })
  interrupted.length = 0
  assert.equal((await ask(admin, 'DELETE', `/keys/${key.id}?cascade=false`)).status, 204)
  assert.deepEqual(ended(), [false, true, false])
})

test('an expiry is announced 7 days and 1 day before, once each, and again when it was moved', async (t) => {
  const { create, ask, now, pass, database } = await setUp(t)
  const day = 86_400_000
  const { key } = await create({ name: 'ci', expiresAt: now() + 30 * day })
  await create({ name: 'short', expiresAt: now() + day / 2 })
  const { secret: admin } = await create()
  const told: unknown[] = []
  const record = () =>
    recordExpiryAlerts({
      ...{ db: database.db, now },
      recordEvent: async (_db, { data }) => {
        told.push(data)
        return testIds.event()
      },
    })
  const after = async (ms: number) => {
    pass(ms)
    return [await record(), await record()]
  }
  assert.deepEqual(await after(0), [0, 0])
  assert.deepEqual(await after(23.5 * day), [1, 0])
  assert.deepEqual(await after(5.6 * day), [1, 0])
  const [first] = told as readonly { readonly key_id: string; readonly last_used_at: unknown }[]
  assert.deepEqual([first?.key_id, first?.last_used_at], [key.id, null])
  await ask(admin, 'PATCH', `/keys/${key.id}`, { expires_at: new Date(now() + 20 * day).toISOString() })
  assert.deepEqual(await after(19.5 * day), [1, 0])
})
