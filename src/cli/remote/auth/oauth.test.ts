import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import {
  deviceCode,
  type FakeAuthorizationServer,
  granted,
  refused,
  startAuthorizationServer,
  type Told,
} from '../../../../test/support/identity/authorization-server.ts'
import {
  type AuthorizationServer,
  beginDeviceFlow,
  discover,
  type Outcome,
  type Poll,
  pollOnce,
  refreshTokens,
  revoke,
  waitForApproval,
} from './oauth.ts'

const METADATA = '/.well-known/oauth-authorization-server'
const { signal } = new AbortController()

let fake: FakeAuthorizationServer
let server: AuthorizationServer
beforeEach(async () => {
  fake = await startAuthorizationServer()
  server = await discover(fake.url)
  fake.asked.length = 0
})
afterEach(() => fake.close())

async function polled(told: Told): Promise<string> {
  fake.answers.set('/oauth/token', [told])
  const { kind } = await pollOnce(server, 'code', signal)
  return kind
}

test('a server without metadata uses the default paths', () => {
  assert.deepEqual(server, {
    url: fake.url,
    deviceUrl: `${fake.url}/device/code`,
    tokenUrl: `${fake.url}/oauth/token`,
    revokeUrl: `${fake.url}/oauth/revoke`,
  })
})

test('metadata is used only for endpoints of the same origin, so that tokens go nowhere else', async () => {
  const body = {
    issuer: fake.url,
    device_authorization_endpoint: `${fake.url}/elsewhere/code`,
    token_endpoint: 'https://evil.example/token',
    revocation_endpoint: 7,
  }
  fake.answers.set(METADATA, [{ body }])
  assert.deepEqual(await discover(fake.url), { ...server, deviceUrl: `${fake.url}/elsewhere/code` })
})

test('a redirect is not followed, since it would receive the credential', async () => {
  fake.answers.set('/oauth/token', [{ status: 307, headers: { location: `${fake.url}/x` }, body: {} }])
  await assert.rejects(pollOnce(server, 'code', signal), /redirects to .*\/x\. If you trust that address/)
  assert.deepEqual(
    fake.asked.map(({ path }) => path),
    ['/oauth/token'],
  )
})

test('a poll handles every code of RFC 8628, and transient failures', async () => {
  assert.equal(await polled(granted(1)), 'approved')
  assert.equal(await polled(refused('authorization_pending')), 'pending')
  assert.equal(await polled(refused('slow_down')), 'slow_down')
  assert.equal(await polled(refused('access_denied')), 'denied')
  assert.equal(await polled(refused('expired_token')), 'expired')
  const passing: readonly Told[] = [
    refused('temporarily_unavailable', 429),
    refused('server_error', 500),
    { status: 502, body: '<h1>Bad gateway</h1>' },
    { status: 200, body: '<h1>Pay for the hotel’s network</h1>' },
    { body: 'cut' },
  ]
  for (const told of passing) assert.equal(await polled(told), 'unknown')
  for (const code of ['invalid_grant', 'invalid_client', 'invalid_request', 'something_new']) {
    await assert.rejects(polled(refused(code)), /returned an unexpected response: No\. Run 'turnpike login' again/)
  }
})

test('a rate-limited poll waits for Retry-After, at most a minute', async () => {
  const wait = async (seconds: string) => {
    fake.answers.set('/oauth/token', [
      { ...refused('temporarily_unavailable', 429), headers: { 'retry-after': seconds } },
    ])
    const poll = await pollOnce(server, 'code', signal)
    return poll.kind === 'unknown' ? poll.waitMs : undefined
  }
  assert.deepEqual([await wait('7'), await wait('99999'), await wait('soon')], [7_000, 60_000, 0])
})

test('missing and extreme times of the server are bounded', async () => {
  const times = async (over: object) => {
    fake.answers.set('/device/code', [{ body: deviceCode(fake.url, over) }])
    const { intervalMs, lifetimeMs } = await beginDeviceFlow(server, signal)
    return [intervalMs, lifetimeMs]
  }
  assert.deepEqual(await times({ interval: undefined, expires_in: undefined }), [5_000, 900_000])
  assert.deepEqual(await times({ interval: 1e9, expires_in: 1e9 }), [60_000, 3_600_000])
  assert.deepEqual(await times({ interval: -1, expires_in: -1 }), [100, 1_000])
})

test('OA-2: a refresh with a lost response is repeated with the same token', async () => {
  fake.answers.set('/oauth/token', [{ body: 'cut' }, granted(2)])
  const tokens = await refreshTokens(server, 'tpr_1')
  assert.equal(tokens?.refreshToken, 'tpr_secret-refresh-2')
  const sent = fake.asked.map(({ form }) => form['refresh_token'])
  assert.deepEqual(sent, ['tpr_1', 'tpr_1'])
})

test('a rejected refresh token is not retried; without rotation it is kept', async () => {
  fake.answers.set('/oauth/token', [refused('invalid_grant')])
  assert.equal(await refreshTokens(server, 'tpr_1'), undefined)
  assert.equal(fake.asked.length, 1)
  fake.answers.set('/oauth/token', [granted(2, { refresh_token: undefined })])
  assert.equal((await refreshTokens(server, 'tpr_1'))?.refreshToken, 'tpr_1')
})

test('a token that does not fit into a header is rejected', async () => {
  const malformed = granted(1, { access_token: 'tpa_secret\r\nx: y' })
  await assert.rejects(polled(malformed), (error: Error) => !error.message.includes('secret'))
})

test('revocation sends the refresh token, else the access token, and returns the reason of a failure', async () => {
  const tokens = { accessToken: 'tpa_1', refreshToken: 'tpr_1', expiresAt: 0 }
  assert.equal(await revoke(server, tokens), undefined)
  assert.equal(await revoke(server, { ...tokens, refreshToken: undefined }), undefined)
  const sent = fake.asked.map(({ form }) => form['token'])
  assert.deepEqual(sent, ['tpr_1', 'tpa_1'])
  fake.answers.set('/oauth/revoke', [refused('invalid_client', 401)])
  assert.match((await revoke(server, tokens)) ?? '', /did not revoke the sign-in: No\./)
})

const TOKENS = { accessToken: 'tpa_1', refreshToken: undefined, expiresAt: 1 }
const pending: Poll = { kind: 'pending' }
const slowDown: Poll = { kind: 'slow_down' }
const approved: Poll = { kind: 'approved', tokens: TOKENS }
const away = { kind: 'unknown', message: 'It is away.', waitMs: 0 } as const satisfies Poll

interface Run {
  readonly outcome: Outcome
  /** When each poll was, in seconds. */
  readonly polledAt: readonly number[]
  readonly troubles: readonly (string | undefined)[]
}

/** @param oversleep What a pause takes longer than it should: the laptop was closed. */
async function run(answers: readonly Poll[], { lifetimeMs = 900_000, oversleep = 0 } = {}): Promise<Run> {
  let clock = 0
  const polledAt: number[] = []
  const troubles: (string | undefined)[] = []
  const left = [...answers]
  const outcome = await waitForApproval({
    poll: async () => {
      polledAt.push(clock / 1_000)
      return (left.length > 1 ? left.shift() : left[0]) ?? pending
    },
    sleep: async (ms) => {
      clock += ms + oversleep
    },
    now: () => clock,
    intervalMs: 5_000,
    expiresAt: lifetimeMs,
    onProblem: (message) => troubles.push(message),
  })
  return { outcome, polledAt, troubles }
}

test('polls at the interval of the server, and ends with the poll after the approval', async () => {
  const { outcome, polledAt } = await run([pending, pending, approved])
  assert.deepEqual(outcome, approved)
  assert.deepEqual(polledAt, [5, 10, 15])
})

test('DEV-1: each slow_down makes all further polls 5 seconds slower', async () => {
  const { polledAt } = await run([slowDown, pending, slowDown, pending, approved])
  assert.deepEqual(polledAt, [5, 15, 25, 40, 55])
})

test('a denial and an expiry end the polling', async () => {
  assert.deepEqual((await run([pending, { kind: 'denied' }])).outcome, { kind: 'denied' })
  assert.deepEqual((await run([{ kind: 'expired' }])).outcome, { kind: 'expired', problem: undefined })
})

test('polls of an unreachable server back off, then return to the interval; both are reported once', async () => {
  const { outcome, polledAt, troubles } = await run([away, away, away, away, pending, approved])
  assert.equal(outcome.kind, 'approved')
  assert.deepEqual(polledAt, [5, 15, 35, 65, 95, 100])
  assert.deepEqual(troubles, ['It is away.', undefined])
})

test('polling waits as long as the server requests', async () => {
  const { polledAt } = await run([{ ...away, waitMs: 60_000 }, approved])
  assert.deepEqual(polledAt, [5, 65])
})

test('an expired code is polled once more', async () => {
  const { outcome, polledAt } = await run([pending], { lifetimeMs: 12_000 })
  assert.deepEqual(outcome, { kind: 'expired', problem: undefined })
  assert.deepEqual(polledAt, [5, 10, 12])
  assert.deepEqual((await run([away], { lifetimeMs: 1_000 })).outcome, { kind: 'expired', problem: 'It is away.' })
})

test('after sleeping beyond the lifetime the client polls once, since the code may be approved', async () => {
  assert.equal((await run([approved], { oversleep: 10_000_000 })).outcome.kind, 'approved')
  const { outcome, polledAt } = await run([pending], { oversleep: 10_000_000 })
  assert.equal(outcome.kind, 'expired')
  assert.equal(polledAt.length, 1)
})
