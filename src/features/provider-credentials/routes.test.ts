import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../test/support/database.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { createSealer } from '../../db/sealed.ts'
import type { ProviderProbe } from '../../domain/provider-status.ts'
import { callerOf } from '../../http/caller.ts'
import { auditWriter } from '../audit/log.ts'
import { MAX_CREDENTIALS, MAX_TEST_MS } from './manage.ts'
import { providerCredentialsRoutes } from './routes.ts'
import { placeOf, resealCredentials } from './store.ts'

const KEY = 'sk-canary-of-an-account-7Fq'
const OTHER_KEY = 'sk-canary-of-an-account-8Xw'
const CURRENT = Buffer.alloc(32, 5)
const ACCEPTED: ProviderProbe = { kind: 'answered', status: 200 }
const PATH = '/provider-credentials'

type Probe = (provider: string, apiKey: string, waitMs: number) => Promise<ProviderProbe> | undefined

async function setUp(t: TestContext, probe: Probe = async () => ACCEPTED) {
  const fixture = await openCreditFixture(t)
  const { db, now } = fixture
  const sealer = createSealer({ current: CURRENT })
  const changes: number[] = []
  const routes = providerCredentialsRoutes({
    ...{ db, now, ids: testIds, callerOf, sealer, probe },
    cursorKey: Buffer.alloc(32, 1),
    writeAudit: auditWriter({ now, ids: testIds }),
    changed: () => void changes.push(now()),
    providers: () => ['up', 'down'],
  })
  const request = await serveRoutes(t, fixture, [routes])
  const { id: account } = await fixture.account('pro')
  const add = (body: object = {}) =>
    request(PATH, account, { method: 'POST', body: { provider: 'up', api_key: KEY, ...body } })
  const rows = () => db.selectFrom('provider_credential').selectAll().orderBy('id').execute()
  const version = async () =>
    (await db.selectFrom('account').selectAll().where('id', '=', account).executeTakeFirstOrThrow())
      .provider_credentials
  return { db, clock: fixture.clock, sealer, request, account, add, rows, version, changes }
}

test('a credential is sealed for its place; the list and the audit log show its end alone', async (t) => {
  const { db, clock, sealer, request, account, add, rows, version, changes } = await setUp(t)
  const { status, body, text } = await add({ name: 'ours' })
  assert.equal(status, 201, text)
  assert.match(body.id, /^pcr_[0-9A-Za-z]{22}$/)
  assert.deepEqual(body, {
    id: body.id,
    object: 'provider_credential',
    provider: 'up',
    name: 'ours',
    last4: '-7Fq',
    key_id: null,
    allow_fallback: false,
    status: 'verified',
    last_tested_at: new Date(clock.now).toISOString(),
    rotated_at: null,
    created_at: new Date(clock.now).toISOString(),
    created_by: null,
  })
  assert.deepEqual((await request(PATH, account)).body, { data: [body], has_more: false, next_cursor: null })
  assert.deepEqual((await request(`${PATH}/${body.id}`, account)).body, body)
  const [row] = await rows()
  assert.ok(row)
  assert.equal(sealer.open(row.secret, placeOf(row)), KEY)
  assert.equal(sealer.open(row.secret, placeOf({ ...row, provider: 'down' })), undefined)
  assert.deepEqual([await version(), changes.length], [1, 1])
  const [event] = await db.selectFrom('audit').selectAll().execute()
  assert.deepEqual([event?.action, event?.subject, event?.result], ['provider_credential.created', body.id, 'done'])
  assert.doesNotMatch(JSON.stringify([event, body]), /canary/)
})

test('a rotation tests and replaces the key; each change raises the version of the account', async (t) => {
  const { db, clock, sealer, request, account, add, rows, version } = await setUp(t)
  const { id } = (await add()).body
  clock.now += 1_000
  const change = (body: object) => request(`${PATH}/${id}`, account, { method: 'PATCH', body })
  const rotated = await change({ api_key: OTHER_KEY })
  assert.deepEqual([rotated.body.last4, rotated.body.rotated_at], ['-8Xw', new Date(clock.now).toISOString()])
  assert.equal((await change({ allow_fallback: true, name: 'new' })).body.allow_fallback, true)
  const [row] = await rows()
  assert.equal(row && sealer.open(row.secret, placeOf(row)), OTHER_KEY)
  assert.deepEqual([(await change({})).body.last4, await version()], ['-8Xw', 3], 'nothing is no change')
  assert.equal((await request(`${PATH}/${id}`, account, { method: 'DELETE' })).status, 204)
  assert.deepEqual([await rows(), await version()], [[], 4])
  const events = await db.selectFrom('audit').select('action').orderBy('id').execute()
  assert.deepEqual(
    events.map(({ action }) => action.replace('provider_credential.', '')),
    ['created', 'rotated', 'changed', 'deleted'],
  )
  assert.equal((await request(`${PATH}/${id}`, account, { method: 'DELETE' })).status, 404)
})

test('a key that the provider rejects is not stored, and the attempt is in the audit log', async (t) => {
  const { db, add, rows } = await setUp(t, async () => ({ kind: 'refused', status: 401 }))
  const { status, body } = await add()
  assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_value', 'api_key'])
  assert.deepEqual(await rows(), [])
  const [event] = await db.selectFrom('audit').selectAll().execute()
  assert.deepEqual([event?.action, event?.result], ['provider_credential.created', 'denied'])
  assert.doesNotMatch(JSON.stringify([event, body]), /canary/)
})

test('a provider that is away or says nothing about keys leaves the key untested; others take none', async (t) => {
  const outcomes: Readonly<Record<string, ProviderProbe>> = {
    silent: { kind: 'silent' },
    away: { kind: 'unreachable', reason: 'ECONNREFUSED' },
    failing: { kind: 'failing', status: 500 },
    limited: { kind: 'limited', status: 429 },
    listless: { kind: 'answered', status: 404 },
    scripted: { kind: 'built_in' },
  }
  const { add } = await setUp(t, (name) => outcomes[name] && Promise.resolve(outcomes[name]))
  for (const provider of ['silent', 'away', 'failing', 'limited', 'listless']) {
    assert.equal((await add({ provider })).body.status, 'untested', provider)
  }
  for (const provider of ['scripted', 'nobody']) {
    const { status, body } = await add({ provider })
    assert.deepEqual([status, body.error.param], [404, 'provider'])
    assert.match(body.error.message, /known are up, down/)
  }
})

test('a key is tested for at most 10 s, and only one of an account at a time [limit: credential-test]', async (t) => {
  assert.equal(MAX_TEST_MS, 10_000)
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<ProviderProbe>()
  const waits: number[] = []
  const { add } = await setUp(t, (_name, _key, waitMs) => {
    waits.push(waitMs)
    begun.resolve()
    return end.promise
  })
  const first = add()
  await begun.promise
  assert.equal((await add({ provider: 'down' })).status, 409)
  end.resolve(ACCEPTED)
  assert.equal((await first).status, 201)
  assert.equal((await add({ provider: 'down' })).status, 201)
  assert.deepEqual(waits, [MAX_TEST_MS, MAX_TEST_MS])
})

test('an account has at most 100 provider credentials [limit: provider-credentials]', async (t) => {
  assert.equal(MAX_CREDENTIALS, 100)
  const { add } = await setUp(t)
  for (let at = 0; at < MAX_CREDENTIALS; at++) assert.equal((await add({ provider: `up-${at}` })).status, 201)
  const { status, body } = await add()
  assert.deepEqual([status, body.error.code], [409, 'conflict'])
})

test('while the secret of the installation is changed, keys are sealed again', async (t) => {
  const { db, add, rows } = await setUp(t)
  await add()
  const changing = createSealer({ current: Buffer.alloc(32, 6), previous: CURRENT })
  assert.equal(await resealCredentials({ db, sealer: changing }), 1)
  assert.equal(await resealCredentials({ db, sealer: changing }), 0)
  const [row] = await rows()
  assert.equal(row && createSealer({ current: Buffer.alloc(32, 6) }).open(row.secret, placeOf(row)), KEY)
})

test('managing provider credentials requires the right `keys`', async (t) => {
  const { request, account } = await setUp(t)
  for (const [path, method] of [
    [PATH, 'GET'],
    [PATH, 'POST'],
    [`${PATH}/pcr_x`, 'GET'],
    [`${PATH}/pcr_x`, 'PATCH'],
    [`${PATH}/pcr_x`, 'DELETE'],
  ] as const) {
    const { status } = await request(path, `${account} chat,billing,webhooks`, { method })
    assert.equal(status, 403, `${method} ${path}`)
  }
})
