import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../test/support/database.ts'
import {
  ACCOUNT,
  ADA,
  OTHER_ACCOUNT,
  sessionOf,
  startOAuthServer,
} from '../../../test/support/identity/oauth-server.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { KeyId, UserId } from '../../domain/ids.ts'
import { createHttpServer } from '../../http/server.ts'
import { devicesRoutes } from './devices.ts'

const BOB = 'usr_bob' as UserId

async function setUp(t: TestContext) {
  const it = await startOAuthServer(t)
  let caller = callerWith()
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: [],
    onError: () => undefined,
    draining: () => false,
  })
  t.after(() => app.close())
  await app.register(devicesRoutes({ ...it.deps, callerOf: () => caller, cursorKey: Buffer.alloc(32, 1) }))
  const as = async (who: Caller, method: 'GET' | 'DELETE', url: string) => {
    caller = who
    const { statusCode, body } = await app.inject({ method, url })
    return { status: statusCode, body: body === '' ? undefined : JSON.parse(body), text: body }
  }
  const connect = async (session = sessionOf()) => {
    const { access_token } = await it.connect('chat', session)
    return { id: (await it.authenticator.authenticate(access_token)).keyId, token: access_token }
  }
  return { ...it, as, connectDevice: connect }
}

function callerWith(over: Partial<Caller> = {}): Caller {
  return {
    ...{ kind: 'session', accountId: ACCOUNT, keyId: ADA as string as KeyId, userId: ADA, role: 'owner', plan: 'free' },
    ...{ models: undefined, requestsPerMinute: undefined, monthlyBudgetNanoUsd: undefined, scopes: new Set() },
    ...over,
  } as Caller
}

const idsOf = ({ body }: { body: { data: readonly { id: string }[] } }) => body.data.map(({ id }) => id)

test('people list their own devices, owners and admins all with all=true, and a key those of its account', async (t) => {
  const it = await setUp(t)
  const mine = await it.connectDevice()
  const bobs = await it.connectDevice(sessionOf({ userId: BOB }))
  const elsewhere = await it.connectDevice(sessionOf({ accountId: OTHER_ACCOUNT }))
  const both = [bobs.id, mine.id]
  for (const [who, query, seen] of [
    [callerWith(), '', [mine.id]],
    [callerWith(), '?all=true', both],
    [callerWith({ role: 'admin' }), '?all=true', both],
    [callerWith({ role: 'developer' }), '?all=true', [mine.id]],
    [callerWith({ role: 'billing', userId: BOB }), '?all=true', [bobs.id]],
    [callerWith({ kind: 'key', userId: undefined, role: undefined }), '', both],
    [callerWith({ kind: 'token', keyId: mine.id }), '?all=true', [mine.id]],
    [callerWith({ accountId: OTHER_ACCOUNT }), '?all=true', [elsewhere.id]],
  ] as const) {
    assert.deepEqual(idsOf(await it.as(who, 'GET', `/devices${query}`)), seen)
  }
})

test('the list shows what identifies a device', async (t) => {
  const it = await setUp(t)
  const { id } = await it.connectDevice()
  const { body } = await it.as(callerWith(), 'GET', '/devices')
  assert.deepEqual(body, {
    data: [
      {
        ...{ id, object: 'device', client_id: 'turnpike-cli', client_name: 'Turnpike command line', user_id: ADA },
        ...{ user_email: 'ada@example.com', scopes: ['chat'], address: '127.0.0.1', user_agent: 'Device' },
        ...{ created_at: '2027-01-01T00:00:00.000Z', last_used_at: null, revoked_at: null },
      },
    ],
    has_more: false,
    next_cursor: null,
  })
})

test('a device is disconnected once and at once, and the list shows it', async (t) => {
  const it = await setUp(t)
  const { id, token } = await it.connectDevice()
  assert.equal((await it.as(callerWith(), 'DELETE', `/devices/${id}`)).status, 204)
  await assert.rejects(async () => it.authenticator.authenticate(token), { code: 'invalid_credential' })
  assert.equal((await it.as(callerWith(), 'DELETE', `/devices/${id}`)).status, 404)
  const { body } = await it.as(callerWith(), 'GET', '/devices')
  assert.equal(body.data[0].revoked_at, '2027-01-01T00:00:00.000Z')
  const event = it.audit.at(-1)
  assert.deepEqual(
    [event?.action, event?.subject, event?.actor],
    ['device.revoked', id, { kind: 'session', id: ADA, name: 'ada@example.com' }],
  )
})

test('TEN-2: another’s device, another account’s and none at all are answered alike', async (t) => {
  const it = await setUp(t)
  const bobs = await it.connectDevice(sessionOf({ userId: BOB }))
  const elsewhere = await it.connectDevice(sessionOf({ accountId: OTHER_ACCOUNT }))
  const answers = []
  for (const id of [bobs.id, elsewhere.id, 'dev_0000000000000000000000', 'x']) {
    answers.push(await it.as(callerWith({ role: 'developer' }), 'DELETE', `/devices/${id}`))
  }
  const texts = new Set(answers.map(({ text }) => text.replace(/req_\w+/, '')))
  assert.deepEqual([texts.size, answers[0]?.status], [1, 404])
  assert.equal((await it.as(callerWith({ role: 'admin' }), 'DELETE', `/devices/${bobs.id}`)).status, 204)
  await it.authenticator.authenticate(elsewhere.token)
})

test('the list goes by pages, and a cursor is of one list', async (t) => {
  const it = await setUp(t)
  const ids = []
  for (let at = 0; at < 5; at++) ids.push((await it.connectDevice()).id)
  const seen: string[] = []
  let cursor = ''
  for (let page = 0; page < 3; page++) {
    const answer = await it.as(callerWith(), 'GET', `/devices?limit=2&order=asc${cursor}`)
    seen.push(...idsOf(answer))
    cursor = `&cursor=${answer.body.next_cursor}`
    if (page > 0) continue
    const foreign = `/devices?limit=2&order=asc&all=true${cursor}`
    assert.equal((await it.as(callerWith(), 'GET', foreign)).status, 400)
  }
  assert.deepEqual(seen, [...ids].sort())
})
