/**
 * An OpenID provider on loopback that says whatever a test wants: wrong tokens, other keys, nothing at all. It has no
 * page: a test hands its codes to the callback itself.
 */
import { createServer } from 'node:http'
import type { TestContext } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { freePort } from '../process/free-port.ts'

export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly publicJwk: Readonly<Record<string, unknown>>
}

export type Scripted = { readonly status: number; readonly body: string } | 'hang' | undefined

export interface LyingOidc {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Paths that were asked for, in order. */
  readonly requests: string[]
  /** Forms that the token endpoint got. */
  readonly tokenRequests: URLSearchParams[]
  /** Of the discovery document, over what is true. */
  metadata: Readonly<Record<string, unknown>>
  /** Published now. */
  keys: readonly SigningKey[]
  /** The ID token of the next answers. */
  idToken: () => string | Promise<string>
  /** What `/userinfo` answers; the metadata name it only where a test says so. */
  userInfo: Readonly<Record<string, unknown>>
  /** Undefined: the true answer. Per path, before anything else; `hang`: none. */
  answer: (path: string) => Scripted | Promise<Scripted>
  /** What an honest provider would say. */
  claims(nonce: string): JWTPayload
  sign(claims: Readonly<Record<string, unknown>>, key?: SigningKey): Promise<string>
}

export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

export async function startLyingOidc(test: Pick<TestContext, 'after'>): Promise<LyingOidc> {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const first = await signingKey('first')
  const idp: LyingOidc = {
    issuer,
    clientId: 'turnpike',
    clientSecret: 'a secret between the two, of tests',
    requests: [],
    tokenRequests: [],
    metadata: {},
    keys: [first],
    idToken: () => 'none yet',
    userInfo: {},
    answer: () => undefined,
    claims(nonce) {
      const now = Math.floor(Date.now() / 1000)
      const person = { sub: 'ada', email: 'ada@example.com', email_verified: true, name: 'Ada' }
      return { iss: issuer, aud: 'turnpike', iat: now, exp: now + 300, nonce, ...person }
    },
    sign: (claims, key = first) =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg: key.alg, kid: key.kid }).sign(key.privateKey),
  }
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    idp.requests.push(path)
    let body = ''
    for await (const chunk of request) body += String(chunk)
    if (path === '/token') idp.tokenRequests.push(new URLSearchParams(body))
    const scripted = await idp.answer(path)
    if (scripted === 'hang') return
    const { status, body: text } = scripted ?? { status: 200, body: JSON.stringify(await honest(idp, path)) }
    response.writeHead(status, { 'content-type': 'application/json' }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  test.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return idp
}

async function honest(idp: LyingOidc, path: string): Promise<unknown> {
  if (path === '/jwks') return { keys: idp.keys.map(({ publicJwk }) => publicJwk) }
  if (path === '/userinfo') return idp.userInfo
  if (path === '/token') {
    return { access_token: 'canary-access-token', token_type: 'Bearer', expires_in: 60, id_token: await idp.idToken() }
  }
  return {
    issuer: idp.issuer,
    authorization_endpoint: `${idp.issuer}/authorize`,
    token_endpoint: `${idp.issuer}/token`,
    jwks_uri: `${idp.issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    ...idp.metadata,
  }
}
