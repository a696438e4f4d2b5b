import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { openApp } from '../../test/support/browser/signed-in.ts'
import { currentLocation } from '../../test/support/database.ts'
import { callerOf } from '../../test/support/ledger/data-plane.ts'
import type { Caller } from '../domain/identity/caller.ts'
import { createDispatcher } from './identity.ts'

test('a credential is told by its form alone; keys, the common case, first', () => {
  const asked: string[] = []
  const as =
    (kind: string) =>
    (credential = ''): Caller => {
      asked.push(`${kind} ${credential}`)
      return callerOf()
    }
  const authenticate = createDispatcher({
    keys: { authenticate: as('key') },
    tokens: { authenticate: as('token') },
    sessions: { authenticate: as('session') },
  })
  const basic = `Basic ${Buffer.from('tpa_x:').toString('base64')}`
  const cases: readonly (readonly [string | undefined, string])[] = [
    [undefined, 'key '],
    ['Bearer tp_x', 'key Bearer tp_x'],
    ['Bearer tp_a.b.c', 'key Bearer tp_a.b.c'],
    ['bearer  tpa_x', 'token tpa_x'],
    ['Bearer tpa_a.b.c', 'token tpa_a.b.c'],
    ['Bearer a.b.c', 'session a.b.c'],
    ['Bearer ..', 'session ..'],
    ['Bearer a.b', 'key Bearer a.b'],
    ['Bearer a.b.c.d', 'key Bearer a.b.c.d'],
    ['Bearer tpr_x', 'key Bearer tpr_x'],
    [basic, `key ${basic}`],
    ['Digest a.b.c', 'key Digest a.b.c'],
    [`Bearer ${'x.'.repeat(2)}${'x'.repeat(3_000)}`, `key Bearer x.x.${'x'.repeat(3_000)}`],
  ]
  for (const [authorization, expected] of cases) {
    authenticate(authorization, '127.0.0.1')
    assert.equal(asked.pop(), expected)
  }
})

test('KEY-5, JWT-4: every credential that is wrong gets the same answer, byte for byte', async (t) => {
  const { ask, account, person, browser, token } = await openApp(t)
  const good = await token(await browser(await person(await account(), 'owner')))
  const [header = '', payload = ''] = good.split('.')
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const none = encode({ alg: 'none', typ: 'JWT' })
  const forged = createHmac('sha256', 'secret').update(`${header}.${payload}`).digest('base64url')
  const wrong = [
    'x',
    `tp_${'a'.repeat(46)}`,
    `tpa_${'a'.repeat(46)}`,
    `tpr_${'a'.repeat(46)}`,
    'tpa_',
    'a.b.c',
    '..',
    `${none}.${payload}.`,
    `${header}.${payload}.`,
    `${header}.${payload}.${forged}`,
    `${good}=`,
    `${good}.${good}`,
    'x'.repeat(9_000),
    `${header}.${'x'.repeat(9_000)}.${forged}`,
  ]
  const answers = new Set<string>()
  for (const credential of wrong) {
    const { statusCode, body, headers } = await ask('GET', '/v1/models', { token: credential })
    assert.equal(statusCode, 401, credential.slice(0, 60))
    const { date: _date, 'x-request-id': requestId, ...others } = headers
    answers.add(JSON.stringify([body.replaceAll(String(requestId), ''), others]))
  }
  assert.equal(answers.size, 1)
  assert.equal((await ask('GET', '/v1/models', { token: good })).statusCode, 200)
})

test('JWT-4: a token of 64 kB is refused with the head of the request, before anybody looks at it', async (t) => {
  const { app } = await openApp(t)
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 })
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer a.${'b'.repeat(65_536)}.c` } })
  assert.equal(response.status, 431)
  await response.body?.cancel()
})

test('JWT-1: while the secret is being changed, tokens of the one before are good; without it they are not', async (t) => {
  const place = await currentLocation(t)
  const [old, next] = ['the old secret of this installation', 'the next secret of this installation']
  const before = await openApp(t, { place, secret: Buffer.from(old) })
  const access = await before.token(await before.browser(await before.person(await before.account(), 'owner')))
  const changing = await openApp(t, { place, secret: Buffer.from(next), settings: { TURNPIKE_SECRET_PREVIOUS: old } })
  assert.equal((await changing.ask('GET', '/v1/me', { token: access })).statusCode, 200)
  const changed = await openApp(t, { place, secret: Buffer.from(next) })
  assert.equal((await changed.ask('GET', '/v1/me', { token: access })).statusCode, 401)
})

test('a previous secret that is too short stops the start, by its variable', async (t) => {
  await assert.rejects(openApp(t, { settings: { TURNPIKE_SECRET_PREVIOUS: 'x'.repeat(31) } }), {
    problems: [
      'environment: TURNPIKE_SECRET_PREVIOUS: secret_previous: found a text (not shown), allowed: a text of at least 32 bytes',
    ],
  })
})
