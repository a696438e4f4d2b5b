import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type OAuthServer, ORIGIN, sessionOf, startOAuthServer } from '../../../test/support/identity/oauth-server.ts'
import type { SessionId } from '../../domain/ids.ts'
import { ADDRESS_LIMIT, ALARM, type AttemptState, countWrong, SESSION_LIMIT } from './activation.ts'
import {
  CODE_LIFETIME_MS,
  formatUserCode,
  mintUserCode,
  parseUserCode,
  USER_CODE_ALPHABET,
  USER_CODE_LENGTH,
} from './device-codes.ts'

const WRONG = 'BBBB-BBBB'

function look({ activation }: OAuthServer, typed: string, from: { session?: string; address?: string } = {}) {
  const { session = 'ses_1', address = ORIGIN.address } = from
  return activation.find(typed, {
    session: sessionOf({ id: session as SessionId }),
    origin: { ...ORIGIN, address },
  })
}

test('the approval page shows the device and its scopes [limit: device-user-agent]', async (t) => {
  const it = await startOAuthServer(t)
  const headers = { 'user-agent': `Zed\t on linux ${'x'.repeat(300)}`, 'x-forwarded-for': '203.0.113.7' }
  const { user_code } = (
    await it.post('/device/code', { client_id: 'turnpike-ide', scope: 'chat offline_access' }, headers)
  ).body
  const found = await look(it, user_code)
  assert.ok(found.kind === 'found')
  const { userAgent, ...request } = found.request
  assert.match(userAgent ?? '', /^Zed {2}on linux x+$/)
  assert.equal(userAgent?.length, 200)
  assert.deepEqual(request, {
    userCode: user_code,
    clientName: 'Turnpike for IDEs',
    address: '203.0.113.7',
    requestedAt: it.now(),
    expiresAt: it.now() + 900_000,
    scopes: ['chat'],
    offline: true,
  })
})

test('DEV-1: a code is accepted in any case, with spaces and dashes', () => {
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat()), fc.func(fc.constantFrom('', ' ', '-', ' – ', '·')), (numbers, between) => {
      const code = mintUserCode((limit) => (numbers.next().value ?? 0) % limit)
      assert.equal(parseUserCode(formatUserCode(code)), code)
      assert.equal(parseUserCode([...code.toLowerCase()].map((letter, at) => between(at) + letter).join('')), code)
    }),
  )
  for (const typed of ['', 'BCDF', 'BCDF-GHJK-L', 'ABCD-FGHJ', '1CDF-GHJK', `${'-'.repeat(1_000)}BCDFGHJK`]) {
    assert.equal(parseUserCode(typed), undefined, typed)
  }
})

test('DEV-2: unknown, expired and decided codes have the same answer', async (t) => {
  const it = await startOAuthServer(t)
  const [decided, expired] = [await it.begin(), await it.begin()]
  await it.decide(decided.user_code, false)
  it.advance(900_000)
  for (const typed of [WRONG, 'no code', decided.user_code, expired.user_code]) {
    assert.deepEqual(await look(it, typed), { kind: 'unknown' })
  }
})

test('DEV-2: after 5 wrong codes a session is blocked for 10 minutes, even with the right one [limit: user-codes]', async (t) => {
  const it = await startOAuthServer(t)
  const { user_code } = await it.begin()
  for (let at = 0; at < 5; at++) assert.equal((await look(it, WRONG)).kind, 'unknown')
  assert.deepEqual(await look(it, user_code), { kind: 'blocked', retryAfterMs: 600_000 })
  assert.deepEqual(await it.decide(user_code, true), { kind: 'blocked', retryAfterMs: 600_000 }, 'nor decided')
  assert.equal((await look(it, user_code, { session: 'ses_2' })).kind, 'found')
  it.advance(599_999)
  assert.equal((await look(it, user_code)).kind, 'blocked')
  it.advance(1)
  assert.equal((await look(it, user_code)).kind, 'found')
})

test('DEV-2: after 20 wrong codes an address is blocked for 10 minutes, in every session [limit: user-codes]', async (t) => {
  const it = await startOAuthServer(t)
  const { user_code } = await it.begin()
  for (let at = 0; at < 20; at++) {
    assert.equal((await look(it, WRONG, { session: `ses_${at}`, address: `2001:db8::${at}` })).kind, 'unknown')
  }
  assert.equal((await look(it, user_code, { session: 'new', address: '2001:db8::ffff' })).kind, 'blocked')
  assert.equal((await look(it, user_code, { session: 'new', address: '2001:db8:0:1::1' })).kind, 'found')
})

test('DEV-2: concurrent guesses in all processes count like sequential ones', async (t) => {
  const it = await startOAuthServer(t)
  const other = await startOAuthServer(t, { place: it.place })
  const looks = await Promise.all(Array.from({ length: 30 }, (_, at) => look(at % 2 ? it : other, WRONG)))
  assert.equal(looks.filter(({ kind }) => kind === 'unknown').length, 5)
  assert.equal(looks.filter(({ kind }) => kind === 'blocked').length, 25)
})

test('DEV-2: a decision without a lookup counts as a guess', async (t) => {
  const it = await startOAuthServer(t)
  const { user_code } = await it.begin()
  for (let at = 0; at < 5; at++) assert.equal(await it.decide(WRONG, true), false)
  assert.equal((await look(it, user_code)).kind, 'blocked')
})

test('DEV-2: more than 100 wrong codes in a minute are logged, once a minute', async (t) => {
  const it = await startOAuthServer(t)
  const guess = async (count: number) => {
    for (let at = 0; at < count; at++) {
      await look(it, WRONG, { session: `ses_${it.now()}_${at}`, address: `10.0.${at >> 8}.${at & 255}` })
    }
  }
  await guess(100)
  assert.deepEqual(it.warnings, [])
  await guess(10)
  assert.equal(it.warnings.length, 1)
  it.advance(60_000)
  await guess(101)
  assert.equal(it.warnings.length, 2)
  assert.deepEqual(it.activation.counts, { wrongCodes: 211, alarms: 2 })
})

/** How many codes are looked at of somebody who tries without pause while a code lives. */
function looksWithin(lifetimeMs: number, limit: typeof ADDRESS_LIMIT): number {
  let state: AttemptState | undefined
  let looks = 0
  for (let now = 1; now <= lifetimeMs; now += 100) {
    if ((state?.blocked_until ?? 0) > now) continue
    state = countWrong(state, limit, now)
    looks++
  }
  return looks
}

test('DEV-2: the probability of guessing a code within its lifetime is below 2^-20', () => {
  const codes = USER_CODE_ALPHABET.length ** USER_CODE_LENGTH
  const ofSession = looksWithin(CODE_LIFETIME_MS, SESSION_LIMIT)
  const ofAddress = looksWithin(CODE_LIFETIME_MS, ADDRESS_LIMIT)
  assert.deepEqual([ofSession, ofAddress], [10, 40])
  assert.ok(ofAddress / codes < 2 ** -29)
  // From however many places, as long as nobody is told about it.
  const unnoticed = (ALARM.wrong * CODE_LIFETIME_MS) / ALARM.windowMs
  assert.ok(unnoticed / codes < 2 ** -24)
  assert.ok((ofAddress * 600) / codes < 2 ** -20, 'and from 600 addresses that all go on after the alarm')
})

test('of a concurrent approval and denial one counts', async (t) => {
  const it = await startOAuthServer(t)
  const { user_code } = await it.begin()
  const outcomes = await Promise.all([true, false, true, true].map((approve) => it.decide(user_code, approve)))
  assert.equal(outcomes.filter((isDone) => isDone).length, 1)
  assert.ok((await it.db.selectFrom('device').selectAll().execute()).length <= 1)
})
