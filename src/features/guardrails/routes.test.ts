import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../test/support/database.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { callerOf as dataPlaneCaller } from '../../../test/support/ledger/data-plane.ts'
import { MAX_WINDOW } from '../../domain/guardrails/matcher.ts'
import { callerOf } from '../../http/caller.ts'
import { auditWriter } from '../audit/log.ts'
import { createActiveGuardrails } from './active.ts'
import {
  guardrailsRoutes,
  MAX_GUARDRAILS,
  MAX_HOOK_TIMEOUT_MS,
  MAX_PATTERN_LENGTH,
  MAX_RULES,
  MAX_WORDS,
} from './routes.ts'

const PATH = '/guardrails'
const SECRETS = { kind: 'secrets', action: 'mask' }

async function setUp(t: TestContext) {
  const fixture = await openCreditFixture(t)
  const { db, now } = fixture
  const routes = guardrailsRoutes({
    ...{ db, now, ids: testIds, callerOf, cursorKey: Buffer.alloc(32, 1) },
    writeAudit: auditWriter({ now, ids: testIds }),
    changed: () => {},
    allowPrivateNetworks: () => false,
    secretOf: (account) => `whsec_${account}`,
  })
  const request = await serveRoutes(t, fixture, [routes])
  const { id: account } = await fixture.account('pro')
  const add = (rules: readonly object[] = [SECRETS], over: object = {}) =>
    request(PATH, account, { method: 'POST', body: { name: 'house', rules, ...over } })
  return { db, clock: fixture.clock, request, account, add, newAccount: () => fixture.account('pro') }
}

test('a guardrail is created, listed, changed and deleted, each with its audit row', async (t) => {
  const { db, clock, request, account, add } = await setUp(t)
  const { status, body } = await add()
  const created = new Date(clock.now).toISOString()
  assert.equal(status, 201)
  assert.deepEqual(body, {
    id: body.id,
    object: 'guardrail',
    name: 'house',
    rules: [SECRETS],
    teams: null,
    keys: null,
    enabled: true,
    signing_secret: null,
    created_at: created,
    updated_at: created,
  })
  assert.deepEqual((await request(PATH, account)).body, { data: [body], has_more: false, next_cursor: null })
  clock.now += 1_000
  const changed = await request(`${PATH}/${body.id}`, account, { method: 'PATCH', body: { enabled: false } })
  assert.deepEqual(changed.body, { ...body, enabled: false, updated_at: new Date(clock.now).toISOString() })
  assert.equal((await request(`${PATH}/${body.id}`, account, { method: 'DELETE' })).status, 204)
  assert.equal((await request(`${PATH}/${body.id}`, account)).status, 404)
  const events = await db.selectFrom('audit').select(['action', 'result']).orderBy('id').execute()
  assert.deepEqual(
    events.map(({ action }) => action),
    ['guardrail.created', 'guardrail.changed', 'guardrail.deleted'],
  )
})

test("another account's guardrail is unknown", async (t) => {
  const { request, add, newAccount } = await setUp(t)
  const { id } = (await add()).body
  const { id: foreign } = await newAccount()
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    const answer = await request(`${PATH}/${id}`, foreign, {
      method,
      ...(method === 'PATCH' && { body: { name: 'x' } }),
    })
    assert.equal(answer.status, 404, method)
  }
})

test('an account has a limited number of guardrails, with limited rules [limit: guardrails]', async (t) => {
  const { add } = await setUp(t)
  const tooMany = Array.from({ length: MAX_RULES + 1 }, () => SECRETS)
  const words = Array.from({ length: MAX_WORDS + 1 }, (_, at) => `word${at}`)
  assert.equal((await add(tooMany)).status, 400)
  assert.equal(
    (await add([{ kind: 'regex', action: 'mask', pattern: 'a'.repeat(MAX_PATTERN_LENGTH + 1) }])).status,
    400,
  )
  assert.equal((await add([{ kind: 'regex', action: 'mask', words }])).status, 400)
  const hook = { kind: 'http', url: 'https://hooks.example.com/', timeout_ms: MAX_HOOK_TIMEOUT_MS + 1 }
  assert.equal((await add([hook])).status, 400)
  for (let made = 0; made < MAX_GUARDRAILS; made++) assert.equal((await add()).status, 201)
  assert.equal((await add()).status, 409)
})

test('a pattern withholds a limited number of characters [limit: guardrail-window]', async (t) => {
  const { add } = await setUp(t)
  const statusWith = async (window: number) =>
    (await add([{ kind: 'regex', action: 'mask', pattern: 'a', window }])).status
  assert.deepEqual([await statusWith(MAX_WINDOW), await statusWith(MAX_WINDOW + 1)], [201, 400])
})

test('guardrails of least recently used accounts are read again [limit: cached-guardrails]', async (t) => {
  const { db, account, add, newAccount, request } = await setUp(t)
  const { id: other } = await newAccount()
  await add()
  await request(PATH, other, { method: 'POST', body: { name: 'other', rules: [SECRETS] } })
  const active = createActiveGuardrails({ db, hookOf: () => async () => undefined, capacity: 1 })
  const guardOf = (accountId: typeof account) => active.guardOf(dataPlaneCaller({ accountId, guardrails: 1 }))
  assert.equal(
    active.guardOf(dataPlaneCaller({ accountId: account })),
    undefined,
    'an account without any costs nothing',
  )
  await guardOf(account)
  assert.ok(!(guardOf(account) instanceof Promise), 'from memory')
  await guardOf(other)
  assert.ok(guardOf(account) instanceof Promise, 'read again')
})
