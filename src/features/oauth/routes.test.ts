import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOAuthServer } from '../../../test/support/identity/oauth-server.ts'
import { OAuthError } from './oauth-error.ts'
import { CODE_LIMIT, createRequestLimit, type RequestLimit, TOKEN_LIMIT } from './routes.ts'

const PATHS = ['/device/code', '/oauth/token', '/oauth/revoke']
const MAX_BYTES = 16 * 1024

test('a body of 16 KiB is accepted, a longer one is rejected [limit: oauth-body]', async (t) => {
  const it = await startOAuthServer(t)
  for (const path of PATHS) {
    for (const make of [json, form]) {
      const longest = await it.post(path, make(MAX_BYTES))
      assert.deepEqual([longest.status, longest.body.error], [400, 'invalid_request'], path)
      const tooLong = await it.post(path, make(MAX_BYTES + 1))
      assert.deepEqual([tooLong.status, tooLong.body.error], [413, 'invalid_request'], path)
    }
  }
})

function json(bytes: number): string {
  return `{"x":"${'y'.repeat(bytes - '{"x":""}'.length)}"}`
}

function form(bytes: number): URLSearchParams {
  return new URLSearchParams({ x: 'y'.repeat(bytes - 'x='.length) })
}

test('a parameter of 2 048 characters is accepted, a longer one is rejected [limit: oauth-parameter]', async (t) => {
  const it = await startOAuthServer(t)
  const ask = async (length: number) => (await it.post('/device/code', { client_id: 'x'.repeat(length) })).body
  assert.equal((await ask(2_048)).error, 'invalid_client')
  const { error, error_description: why } = await ask(2_049)
  assert.deepEqual([error, why], ['invalid_request', "The parameter 'client_id' is too long."])
})

function isTooMany(error: unknown): boolean {
  return error instanceof OAuthError && error.status === 429
}

/** Each of so many requests comes from an address that may still ask; the next one is too many over all. */
function assertOverAll(limit: RequestLimit, requests: number): void {
  const pass = createRequestLimit(limit, () => 0)
  for (let sent = 0; sent < requests; sent++) {
    const number = Math.floor(sent / limit.perAddress)
    pass(`10.0.${number >> 8}.${number & 255}`)
  }
  assert.throws(() => pass('192.0.2.1'), isTooMany)
}

test('an address can start 30 device flows per minute, and all addresses 3 000 [limit: device-flows]', async (t) => {
  const { server } = await startOAuthServer(t)
  const ask = async (address: string) => {
    const headers = { 'x-forwarded-for': address }
    return (await server.inject({ method: 'POST', url: '/device/code', headers, payload: {} })).statusCode
  }
  for (let sent = 0; sent < 30; sent++) assert.equal(await ask('203.0.113.7'), 400)
  assert.deepEqual([await ask('203.0.113.7'), await ask('203.0.113.8')], [429, 400])
  assertOverAll(CODE_LIMIT, 3_000)
})

test('the networks of one IPv6 /64 share its device flows, and leave those of others', () => {
  const pass = createRequestLimit(CODE_LIMIT, () => 0)
  for (let sent = 0; sent < 30; sent++) pass(`2001:db8:1:1::${sent.toString(16)}`)
  assert.throws(() => pass('2001:db8:1:1:ffff::1'), isTooMany)
  pass('2001:db8:1:2::1')
  pass('203.0.113.7')
})

test('an address can send 600 token and revocation requests per minute, and all addresses 60 000 [limit: token-requests]', async (t) => {
  const { server } = await startOAuthServer(t)
  const ask = async (url: string, address: string) => {
    const headers = { 'x-forwarded-for': address }
    return (await server.inject({ method: 'POST', url, headers, payload: {} })).statusCode
  }
  for (let sent = 0; sent < 300; sent++) {
    assert.equal(await ask('/oauth/token', '203.0.113.7'), 400)
    assert.equal(await ask('/oauth/revoke', '203.0.113.7'), 400)
  }
  for (const url of ['/oauth/token', '/oauth/revoke']) {
    assert.deepEqual([await ask(url, '203.0.113.7'), await ask(url, '203.0.113.8')], [429, 400], url)
  }
  assertOverAll(TOKEN_LIMIT, 60_000)
})

test('the requests of 10 000 addresses are counted; beyond that the least recent is evicted [limit: flood-addresses]', () => {
  const pass = createRequestLimit({ perAddress: 1, overAll: 1_000_000 }, () => 0)
  const from = (number: number) => pass(`10.0.${number >> 8}.${number & 255}`)
  for (let number = 0; number < 10_000; number++) from(number)
  assert.throws(() => from(0), isTooMany)
  from(10_000)
  assert.throws(() => from(0), isTooMany, 'was seen a moment ago')
  from(1)
})

test('an IPv6 site with many networks gets a tenth of the total limit [limit: flood-site]', () => {
  const pass = createRequestLimit(CODE_LIMIT, () => 0)
  for (let sent = 0; sent < 300; sent++) pass(`2001:db8:1:${sent.toString(16)}::1`)
  assert.throws(() => pass('2001:db8:1:ffff::1'), isTooMany)
  pass('2001:db8:2::1')
})
