/** Identity providers that lie. Runs on one database: sign-in with one that does not runs on both. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { SignJWT } from 'jose'
import { createTestBrowser, type SignInWorld, startSignIn } from '../../../test/support/browser/sign-in.ts'
import { type LyingOidc, signingKey, startLyingOidc } from '../../../test/support/identity/lying-oidc.ts'
import { SignInError } from './failure.ts'
import { createOutbound, type OutboundLimits } from './provider.ts'

interface Stage {
  readonly idp: LyingOidc
  readonly world: SignInWorld
  /** Begins a sign-in, lets the provider answer with a token made for it, and ends it. */
  attempt(
    idToken?: (nonce: string) => string | Promise<string>,
    callback?: Readonly<Record<string, string>>,
  ): Promise<string>
}

async function stage(t: TestContext, limits?: OutboundLimits): Promise<Stage> {
  const idp = await startLyingOidc(t)
  const { issuer, clientId, clientSecret } = idp
  const client = { client_id: clientId, client_secret: clientSecret, allowed_domains: [] }
  const providers = [{ kind: 'oidc', name: 'Example', issuer, ...client } as const]
  const world = await startSignIn(t, { providers, ...(limits !== undefined && { limits }) })
  return {
    idp,
    world,
    async attempt(idToken = (nonce) => idp.sign(idp.claims(nonce)), callback = {}) {
      const browser = createTestBrowser()
      const begun = await browser.get(`${world.url}/auth/example`)
      if (begun.status !== 303) return `${begun.status} at the beginning`
      const asked = new URL(begun.location).searchParams
      idp.idToken = () => idToken(asked.get('nonce') ?? '')
      const query = new URLSearchParams({ code: 'canary-code', state: asked.get('state') ?? '', ...callback })
      const { status, location, text } = await browser.get(`${world.url}/auth/example/callback?${query}`)
      for (const canary of ['canary', asked.get('state') ?? '', asked.get('nonce') ?? '', idp.clientSecret]) {
        assert.equal(`${text}${JSON.stringify(world.log)}`.includes(canary), false, `${canary} is told`)
      }
      return `${status}${location.replace(world.url, ' ')}`
    },
  }
}

test('a valid token signs in, and the code is exchanged with the PKCE verifier', async (t) => {
  const { idp, world, attempt } = await stage(t)
  assert.equal(await attempt(), '303 /app/')
  assert.equal(world.sessions.length, 1)
  const [form] = idp.tokenRequests
  assert.match(form?.get('code_verifier') ?? '', /^[\w-]{43,}$/)
  assert.equal(form?.get('redirect_uri'), `${world.url}/auth/example/callback`)
})

test('OIDC-1, JWT-3, F31: a token with a wrong claim, a wrong key or a wrong algorithm signs nobody in', async (t) => {
  const { idp, world, attempt } = await stage(t)
  const secret = new TextEncoder().encode(idp.clientSecret)
  const otherKey = await signingKey('first')
  const unknown = await signingKey('unknown')
  const now = Math.floor(Date.now() / 1000)
  const changed = (claims: Readonly<Record<string, unknown>>) => (nonce: string) =>
    idp.sign({ ...idp.claims(nonce), ...claims })
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const tokens: Readonly<Record<string, (nonce: string) => string | Promise<string>>> = {
    'another issuer': changed({ iss: 'https://evil.example' }),
    'the issuer with a slash': changed({ iss: `${idp.issuer}/` }),
    'another audience': changed({ aud: 'another client' }),
    'audiences without authorized party': changed({ aud: ['turnpike', 'another client'] }),
    'another authorized party': changed({ aud: ['turnpike', 'another client'], azp: 'another client' }),
    expired: changed({ iat: now - 900, exp: now - 600 }),
    'not yet good': changed({ nbf: now + 600 }),
    'no expiry': changed({ exp: undefined }),
    'no subject': changed({ sub: undefined }),
    'another nonce': changed({ nonce: 'of another sign-in' }),
    'no nonce': changed({ nonce: undefined }),
    'the key of somebody else under the same id': (nonce) => idp.sign(idp.claims(nonce), otherKey),
    'a key that is not published': (nonce) => idp.sign(idp.claims(nonce), unknown),
    'no signature': (nonce) => `${encoded({ alg: 'none' })}.${encoded(idp.claims(nonce))}.`,
    'HS256 with the client secret': (nonce) =>
      new SignJWT(idp.claims(nonce)).setProtectedHeader({ alg: 'HS256' }).sign(secret),
    'HS256 with the public key': (nonce) =>
      new SignJWT(idp.claims(nonce))
        .setProtectedHeader({ alg: 'HS256', kid: 'first' })
        .sign(new TextEncoder().encode(JSON.stringify(idp.keys[0]?.publicJwk))),
    'changed afterwards': async (nonce) => {
      const [head, , signature] = (await idp.sign(idp.claims(nonce))).split('.')
      return `${head}.${encoded({ ...idp.claims(nonce), sub: 'root' })}.${signature}`
    },
    'no token': () => 'canary',
  }
  for (const [name, idToken] of Object.entries(tokens)) assert.equal(await attempt(idToken), '502', name)
  // The provider itself may claim to use these.
  idp.metadata = { id_token_signing_alg_values_supported: ['none', 'HS256', 'ES256'] }
  for (const name of ['no signature', 'HS256 with the client secret', 'HS256 with the public key']) {
    assert.equal(await attempt(tokens[name]), '502', `${name}, announced`)
  }
  assert.equal(await attempt(), '303 /app/')
  assert.deepEqual([world.sessions.length, world.arrivals.length], [1, 1])
})

test('OIDC-1: the issuer of response and metadata must equal the configured one', async (t) => {
  const { idp, world, attempt } = await stage(t)
  assert.equal(await attempt(undefined, { iss: 'https://evil.example' }), '502')
  assert.equal(await attempt(undefined, { iss: idp.issuer }), '303 /app/')
  idp.metadata = { authorization_response_iss_parameter_supported: true }
  world.skewMs += 3_700_000
  assert.equal(await attempt(), '502', 'an issuer that is announced must be there')
  for (const issuer of [`${idp.issuer}/`, 'https://evil.example', idp.issuer.replace('127.0.0.1', 'localhost')]) {
    idp.metadata = { issuer }
    assert.equal(await attempt(), '502 at the beginning', issuer)
  }
})

test('OIDC-3, F31: keys that were just rotated are found, and known keys are not requested again', async (t) => {
  const { idp, attempt, world } = await stage(t)
  const asked = (path: string) => idp.requests.filter((request) => request.startsWith(path)).length
  for (let round = 0; round < 3; round++) assert.equal(await attempt(), '303 /app/')
  assert.deepEqual([asked('/jwks'), asked('/.well-known/')], [1, 1])
  const second = await signingKey('second', 'RS256')
  idp.keys = [second]
  assert.equal(await attempt((nonce) => idp.sign(idp.claims(nonce), second)), '303 /app/')
  assert.equal(await attempt(), '502', 'the old key is not good any more')
  assert.equal(await attempt((nonce) => idp.sign(idp.claims(nonce), second)), '303 /app/')
  const before = [asked('/jwks'), asked('/.well-known/')]
  world.skewMs += 3_700_000
  assert.equal(await attempt((nonce) => idp.sign(idp.claims(nonce), second)), '303 /app/')
  assert.deepEqual(
    [asked('/jwks'), asked('/.well-known/')],
    before.map((count) => count + 1),
  )
})

test('a changed key with the same ID is found after one failure', async (t) => {
  const { idp, attempt } = await stage(t)
  assert.equal(await attempt(), '303 /app/')
  const renewed = await signingKey('first')
  idp.keys = [renewed]
  assert.equal(await attempt((nonce) => idp.sign(idp.claims(nonce), renewed)), '502')
  assert.equal(await attempt((nonce) => idp.sign(idp.claims(nonce), renewed)), '303 /app/')
})

const STEPS: Readonly<Record<string, string>> = {
  '/.well-known/openid-configuration': ' at the beginning',
  '/token': '',
  '/jwks': '',
}

test('OIDC-3, F31: a failing provider or a too large response ends the sign-in at every step', async (t) => {
  const { idp, world, attempt } = await stage(t)
  for (const [step, when] of Object.entries(STEPS)) {
    const answers: Readonly<Record<string, readonly [number, string]>> = {
      '503': [500, 'canary'],
      '503 of too many requests': [429, 'canary'],
      '502 of a redirect': [302, ''],
      '502 of too much': [200, JSON.stringify({ issuer: 'x'.repeat(300_000) })],
      '502 of no JSON': [200, '<html>canary</html>'],
    }
    for (const [expected, [status, body]] of Object.entries(answers)) {
      world.skewMs += 3_700_000 // nothing is known by heart
      idp.answer = (path) => (path === step ? { status, body } : undefined)
      assert.equal(await attempt(), `${expected.slice(0, 3)}${when}`, `${step}: ${expected}`)
    }
  }
  idp.answer = () => undefined
  assert.equal(await attempt(), '303 /app/')
  assert.equal(world.sessions.length, 1)
})

test('OIDC-3, F31: a provider that hangs times out at every step [limit: idp-wait]', async (t) => {
  // Long enough for the steps before the one that hangs.
  const [short, long] = [2_500, 600_000]
  const limits = [
    { requestMs: short, visitMs: long },
    { requestMs: long, visitMs: short },
  ]
  const attempts = limits.flatMap((limit) =>
    Object.keys(STEPS).map(async (step) => {
      const { idp, attempt } = await stage(t, limit)
      idp.answer = (path) => (path === step ? 'hang' : undefined)
      return attempt()
    }),
  )
  const expected = Object.values(STEPS).map((when) => `503${when}`)
  assert.deepEqual(await Promise.all(attempts), [...expected, ...expected])
})

test('OIDC-3: requests to other machines use TLS, whatever the metadata names', async (t) => {
  const { idp, world, attempt } = await stage(t)
  for (const name of ['token_endpoint', 'jwks_uri']) {
    idp.metadata = { [name]: 'http://192.0.2.1/x' }
    assert.equal(await attempt(), '502', name)
    assert.match(JSON.stringify(world.log.at(-1)), /an address without TLS/)
  }
  idp.metadata = { authorization_endpoint: 'javascript:alert(1)' }
  assert.equal(await attempt(), '502 at the beginning')
})

test('OIDC-1: the userinfo response counts only for the subject of the ID token', async (t) => {
  const { idp, world, attempt } = await stage(t)
  idp.metadata = { userinfo_endpoint: `${idp.issuer}/userinfo` }
  const withoutEmail = (nonce: string) => idp.sign({ ...idp.claims(nonce), email: undefined, email_verified: true })
  idp.userInfo = { sub: 'eve', email: 'eve@example.com', email_verified: true }
  assert.equal(await attempt(withoutEmail), '502')
  idp.userInfo = { sub: 'ada', email: 'ada@example.org', iss: 'https://evil.example', name: 'Not Ada' }
  assert.equal(await attempt(withoutEmail), '303 /app/')
  const [ada] = world.arrivals
  assert.deepEqual(ada, {
    issuer: idp.issuer,
    subject: 'ada',
    email: 'ada@example.org',
    emailVerified: false,
    name: 'Ada',
    invitation: undefined,
  })
})

test('rejected client credentials are an operator failure, rejected codes a visitor failure', async (t) => {
  const { idp, attempt, world } = await stage(t)
  const token = (error: string, status: number) => {
    idp.answer = (path) => (path === '/token' ? { status, body: JSON.stringify({ error }) } : undefined)
  }
  token('invalid_client', 401)
  assert.equal(await attempt(), '502')
  assert.match(JSON.stringify(world.log.at(-1)), /"kind":"misregistered","reason":"invalid_client"/)
  token('invalid_grant', 400)
  assert.equal(await attempt(), '400')
})

test('concurrent visitors share one request for the metadata, and their number is limited [limit: idp-visits]', async (t) => {
  const { idp, world } = await stage(t, { requestMs: 60_000, visitMs: 60_000 })
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>()
  idp.answer = () => released
  let turnedAway = 0
  const answers = Array.from({ length: 80 }, async () => {
    const { status, text } = await createTestBrowser().get(`${world.url}/auth/example`)
    if (text.includes('Too many people') && ++turnedAway === 16) release(undefined)
    return status
  })
  const statuses = await Promise.all(answers)
  assert.deepEqual([statuses.filter((status) => status === 303).length, turnedAway, idp.requests.length], [64, 16, 1])
  assert.equal((await createTestBrowser().get(`${world.url}/auth/example`)).status, 303)
})

const MAX_BYTES = 256 * 1024

/** Answers with as many bytes as its path says. */
async function startProvider(t: TestContext): Promise<string> {
  const server = createServer((request, response) => response.end(Buffer.alloc(Number(request.url?.slice(1)), 'x')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on a port
}

test('a response of 256 KiB of an identity provider is read, a longer one is rejected [limit: idp-answer]', async (t) => {
  const url = await startProvider(t)
  const outbound = createOutbound()
  const read = (bytes: number) =>
    outbound.visit(async (fetch) => {
      const response = await fetch(`${url}/${bytes}`, {
        method: 'GET',
        headers: {},
        body: undefined,
        redirect: 'manual',
      })
      return (await response.arrayBuffer()).byteLength
    })
  assert.equal(await read(MAX_BYTES), MAX_BYTES)
  await assert.rejects(read(MAX_BYTES + 1), (error) => error instanceof SignInError && error.kind === 'untrusted')
})
