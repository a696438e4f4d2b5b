/**
 * A real OpenID provider on loopback (`oidc-provider`), with the smallest page that signs somebody in: a field `login` that
 * takes the name of a user, and the buttons Continue and Cancel. It works without JavaScript.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import { type Configuration, type KoaContextWithOIDC, Provider } from 'oidc-provider'
import { freePort } from '../process/free-port.ts'

/** Claims of a user; `sub` is the name under which the user signs in. */
export interface OidcUser {
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
}

export interface OidcInput {
  /** Exactly these are redirected to; others may be added later. */
  readonly redirectUris?: readonly string[]
  readonly users?: Readonly<Record<string, OidcUser>>
  readonly clientId?: string
  /** Whether the ID token has all the claims, or only the userinfo endpoint tells them. */
  readonly claimsInIdToken?: boolean
}

export interface OidcProvider {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Who can sign in; may be changed at any time. */
  readonly users: Map<string, OidcUser>
  /** Of whom it knows that they are our callbacks; may be changed at any time. */
  readonly redirectUris: Set<string>
  /** `GET /jwks` and so on, in order. */
  readonly requests: string[]
  close(): Promise<void>
}

const SCOPE = 'openid email profile'

export async function startOidcProvider(
  test: Pick<TestContext, 'after'>,
  input: OidcInput = {},
): Promise<OidcProvider> {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const users = new Map(Object.entries(input.users ?? { ada: { email: 'ada@example.com', email_verified: true } }))
  const client = { clientId: input.clientId ?? 'turnpike', clientSecret: 'a secret between the two, of tests' }
  const provider = new Provider(issuer, await configurationOf(input, { ...client, users }))
  const redirectUris = new Set(input.redirectUris)
  // A server that is told of this provider when it starts has no address before.
  const { Client } = provider
  Object.defineProperty(Client.prototype, 'redirectUriAllowed', { value: (uri: string) => redirectUris.has(uri) })
  const requests: string[] = []
  const handle = provider.callback()
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', issuer)
    requests.push(`${request.method} ${pathname}`)
    const work = pathname.startsWith('/interaction/')
      ? interact({ provider, users }, request, response)
      : handle(request, response)
    work.catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  test.after(close)
  return { issuer, ...client, users, redirectUris, requests, close }
}

interface Known {
  readonly clientId: string
  readonly clientSecret: string
  readonly users: ReadonlyMap<string, OidcUser>
}

async function configurationOf(input: OidcInput, { clientId, clientSecret, users }: Known): Promise<Configuration> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  return {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: ['https://unused.example/callback'],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'of tests', alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['a key of tests'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: input.claimsInIdToken !== true,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, ...users.get(sub) }) }),
    loadExistingGrant: grantAll,
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  }
}

/** Nobody is asked for consent. */
async function grantAll({ oidc }: KoaContextWithOIDC) {
  const { client, session, provider } = oidc
  const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId })
  grant.addOIDCScope(SCOPE)
  await grant.save()
  return grant
}

const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Identity provider</title>
<form method="post"><label>Name <input name="login" autofocus></label>
<button name="do" value="continue">Continue</button> <button name="do" value="cancel">Cancel</button></form></html>`

interface Fixture {
  readonly provider: Provider
  readonly users: ReadonlyMap<string, OidcUser>
}

async function interact(
  { provider, users }: Fixture,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE)
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const form = new URLSearchParams(body)
  const login = form.get('login') ?? ''
  const isKnown = form.get('do') !== 'cancel' && users.has(login)
  const result = isKnown
    ? { login: { accountId: login } }
    : { error: 'access_denied', error_description: 'the visitor went away' }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
}
