import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOAuthServer } from '../../../test/support/oauth-server.ts'
import { createFloodGate, type FloodLimit } from './flood.ts'
import { OAuthError } from './oauth-error.ts'
import { CODE_FLOOD, TOKEN_FLOOD } from './routes.ts'

function isTooMany(error: unknown): boolean {
  return error instanceof OAuthError && error.status === 429
}

/** Each of so many requests comes from an address that may still ask; the next one is too many over all. */
function assertOverAll(limit: FloodLimit, requests: number): void {
  const pass = createFloodGate(limit, () => 0)
  for (let sent = 0; sent < requests; sent++) {
    const number = Math.floor(sent / limit.perAddress)
    pass(`10.0.${number >> 8}.${number & 255}`)
  }
  assert.throws(() => pass('192.0.2.1'), isTooMany)
}

test('30 device flows of an address begin in a minute, and 3 000 in all [limit: device-flows]', async (t) => {
  const { server } = await startOAuthServer(t)
  const ask = async (address: string) => {
    const headers = { 'x-forwarded-for': address }
    return (await server.inject({ method: 'POST', url: '/device/code', headers, payload: {} })).statusCode
  }
  for (let sent = 0; sent < 30; sent++) assert.equal(await ask('203.0.113.7'), 400)
  assert.deepEqual([await ask('203.0.113.7'), await ask('203.0.113.8')], [429, 400])
  assertOverAll(CODE_FLOOD, 3_000)
})

test('600 requests of an address for tokens and revocations pass in a minute, and 60 000 in all [limit: token-requests]', async (t) => {
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
  assertOverAll(TOKEN_FLOOD, 60_000)
})

test('of 10 000 addresses each one’s requests are remembered, of more the longest unseen is forgotten [limit: flood-addresses]', () => {
  const pass = createFloodGate({ perAddress: 1, overAll: 1_000_000 }, () => 0)
  const from = (number: number) => pass(`10.0.${number >> 8}.${number & 255}`)
  for (let number = 0; number < 10_000; number++) from(number)
  assert.throws(() => from(0), isTooMany)
  from(10_000)
  assert.throws(() => from(0), isTooMany, 'was seen a moment ago')
  from(1)
})
