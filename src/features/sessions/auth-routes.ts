/** `/auth/session`, `/auth/sign-out`, `/auth/link`: the routes that use the dashboard's cookie. All others need a token. */
import formBody from '@fastify/formbody'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { Role } from '../../domain/identity/caller.ts'
import type { BrowserSession, PeoplePort } from '../../domain/identity/sign-in.ts'
import type { AccountId, UserId } from '../../domain/ids.ts'
import { appHeaders } from '../../http/pages/context.ts'
import type { Membership } from '../../http/pages/layout.ts'
import { REMOVED_NEXT, readNextCookie } from '../../http/pages/sign-in-routes.ts'
import { originOfRequest, rejectCrossSite } from '../../http/request-origin.ts'
import { closed } from '../../http/wire-fields.ts'
import { REMOVED_SESSION_COOKIE, type Sessions } from './sessions.ts'
import { TOKEN_LIFE_S, type TokenSigner } from './token.ts'

export interface AuthDeps {
  readonly sessions: Sessions
  readonly signer: TokenSigner
  /** Without trailing slash. */
  readonly publicUrl: string
  readonly accountsOf: (userId: UserId) => Promise<readonly Membership[]>
  readonly ownerOf: PeoplePort['ownerOf']
  /** Redeems a one-time link. Undefined when it is wrong, expired or used. */
  readonly redeemLink: (token: string) => Promise<AccountId | undefined>
  /** Renders the page for an invalid link. */
  readonly linkRefused: () => string
  /** Returns the requested path if it is local, else the dashboard's. */
  readonly localPath: (requested: unknown) => string
}

const MAX_FORM_BYTES = 16 * 1024

const RoleName = Type.Unsafe<Role>({ type: 'string' })
const SessionView = Type.Object({
  access_token: Type.String({ description: 'Bearer token for `/v1`.' }),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds.' }),
  user: Type.Object({ id: Type.String(), email: Type.String(), name: Type.String() }),
  account: Type.Object({ id: Type.String(), name: Type.String() }),
  accounts: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), role: RoleName })),
  role: RoleName,
})
const SessionBody = closed({ account_id: Type.Optional(Type.Unsafe<AccountId>({ type: 'string', maxLength: 64 })) })
const LinkBody = closed({ token: Type.String({ maxLength: 100 }) })
const tags = ['Dashboard']
/** Public routes. */
const security: [] = []
const errors = { '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') }
const redirected = { description: 'Response to a form: `Location` is the next page.' }
const sessionSchema = {
  summary: 'Get an access token for the dashboard',
  description: 'Requires the session cookie. `account_id` switches the session to another account of the person.',
  tags,
  body: SessionBody,
  security: [{ session: [] }],
  response: { 200: SessionView, ...errors },
}
const signOutSchema = {
  summary: 'Sign out',
  description: 'Ends the session of the cookie, in every process within 30 s. Without a session it does nothing.',
  tags,
  security,
  response: { 204: Type.Null({ description: 'Signed out.' }), 303: Type.Null(redirected), ...errors },
}
const linkSchema = {
  summary: 'Sign in with a one-time link',
  description:
    'Redeems the token of a link that `turnpike login-link` printed. A form is redirected to the requested page, or to the dashboard.',
  tags,
  consumes: ['application/json', 'application/x-www-form-urlencoded'],
  security,
  body: LinkBody,
  response: {
    200: SessionView,
    303: Type.Null(redirected),
    401: {
      description: 'The link is invalid, expired or used. The response to a form is a page.',
      content: { 'application/json': { schema: Type.Ref('Error') }, 'text/html': { schema: Type.String() } },
    },
    ...errors,
  },
}

export function authRoutes(deps: AuthDeps): FastifyPluginAsyncTypebox {
  const { sessions, publicUrl } = deps
  const headers = appHeaders(publicUrl)
  return async (app) => {
    app.addHook('onRequest', async (_request, reply) => void reply.headers(headers))
    rejectCrossSite(app, { publicUrl })
    await app.register(formBody, { bodyLimit: MAX_FORM_BYTES })
    app.addHook('preValidation', async (request) => {
      request.body ??= {} // a missing body counts as empty
    })
    app.post('/auth/session', { schema: sessionSchema }, async (request, reply) => {
      const session = await sessions.find(request.headers.cookie)
      if (session === undefined) throw notSignedIn()
      const chosen = await chooseAccount(deps, { session, accountId: request.body.account_id, request })
      const cookie = await sessions.renew(request.headers.cookie)
      if (cookie !== undefined) reply.header('set-cookie', cookie)
      return renderSession(deps, chosen)
    })
    app.post('/auth/sign-out', { schema: signOutSchema }, async (request, reply) => {
      const session = await sessions.find(request.headers.cookie)
      if (session !== undefined) await sessions.end(session, originOfRequest(request))
      reply.header('set-cookie', REMOVED_SESSION_COOKIE)
      return isForm(request) ? reply.redirect('/sign-in', 303) : reply.code(204).send(null)
    })
    app.post('/auth/link', { schema: linkSchema }, async (request, reply) => signInByLink(deps, request, reply))
  }
}

/** Signs in by a link, and ends an existing session of the browser. */
async function signInByLink(
  deps: AuthDeps,
  request: FastifyRequest<{ Body: Static<typeof LinkBody> }>,
  reply: FastifyReply,
): Promise<unknown> {
  const { sessions } = deps
  const origin = originOfRequest(request)
  const accountId = await deps.redeemLink(request.body.token)
  const arrival = accountId === undefined ? undefined : await deps.ownerOf(accountId, origin)
  if (arrival?.kind !== 'member') {
    if (!isForm(request)) throw new GatewayError('invalid_credential', LINK_REFUSED)
    return reply.code(401).type('text/html; charset=utf-8').send(deps.linkRefused())
  }
  const before = await sessions.find(request.headers.cookie)
  if (before !== undefined) await sessions.end(before, origin)
  const cookie = await sessions.start(arrival, origin)
  reply.header('set-cookie', cookie)
  const next = readNextCookie(request.headers.cookie)
  if (next !== undefined) reply.header('set-cookie', REMOVED_NEXT)
  if (isForm(request)) return reply.redirect(deps.localPath(next), 303)
  const session = await sessions.find(cookie.split(';', 1)[0])
  if (session === undefined) throw notSignedIn()
  return renderSession(deps, session)
}

const LINK_REFUSED = "The sign-in link is invalid, expired or used. 'turnpike login-link' prints a new one."

interface Choice {
  readonly session: BrowserSession
  /** Undefined: the current account. */
  readonly accountId: AccountId | undefined
  readonly request: FastifyRequest
}

async function chooseAccount(deps: AuthDeps, { session, accountId, request }: Choice): Promise<BrowserSession> {
  if (accountId === undefined || accountId === session.accountId) return session
  if (!(await deps.sessions.move(session, accountId, originOfRequest(request)))) {
    throw new GatewayError('not_found', 'You are not a member of an account with this ID.', { param: 'account_id' })
  }
  const moved = await deps.sessions.find(request.headers.cookie)
  if (moved === undefined) throw notSignedIn()
  return moved
}

async function renderSession(deps: AuthDeps, session: BrowserSession): Promise<Static<typeof SessionView>> {
  const { userId, email, name, accountId, accountName, role, id: sessionId } = session
  const [token, accounts] = await Promise.all([
    deps.signer.sign({ userId, email, role, sessionId }),
    deps.accountsOf(userId),
  ])
  return {
    access_token: token,
    token_type: 'Bearer',
    expires_in: TOKEN_LIFE_S,
    user: { id: userId, email, name },
    account: { id: accountId, name: accountName },
    accounts: [...accounts],
    role,
  }
}

function isForm({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true
}

function notSignedIn(): GatewayError {
  return new GatewayError('missing_credential', 'You are not signed in. Sign in at /sign-in.')
}
