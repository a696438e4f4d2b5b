/** `/sessions`: the browser sessions of a person. `/me`: the owner and the rights of a credential. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller, Role } from '../../domain/identity/caller.ts'
import type { SessionId, UserId } from '../../domain/ids.ts'
import { authorizationOf } from '../../http/caller.ts'
import { byId, listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import type { Membership } from '../../http/pages/layout.ts'
import { originOfRequest } from '../../http/request-origin.ts'
import { idParams, textOrNull } from '../../http/wire-fields.ts'
import { isoTime, isoTimeOrNull } from '../../lib/time.ts'
import type { FeatureDeps, ListDeps } from '../deps.ts'
import { findSession, listSessions, type Session } from './queries.ts'
import type { Sessions } from './sessions.ts'

export interface SessionsDeps extends ListDeps {
  readonly sessions: Pick<Sessions, 'endOne'>
  /** The session that a request is made with; undefined: another kind of credential. */
  readonly sessionOf: (caller: Caller) => SessionId | undefined
}

const SessionView = Type.Object({
  id: Type.String(),
  object: Type.Literal('session'),
  address: textOrNull('IP address at sign-in.'),
  user_agent: textOrNull('User agent at sign-in.'),
  created_at: Type.String(),
  last_used_at: Type.String({ description: 'Time of the last renewal, ISO 8601.' }),
  expires_at: Type.String({ description: 'Time at which the session ends unless it is renewed, ISO 8601.' }),
  current: Type.Boolean({ description: 'Whether this is the session of the request.' }),
})
const config = { scope: 'devices' } as const
const tags = ['Members']
const listSchema = {
  summary: 'List sessions',
  description: 'Returns the browsers in which the caller is signed in. An API key has none.',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(SessionView) },
}
const endSchema = {
  summary: 'End a session',
  description: 'Signs a browser of the caller out, in every process within a second.',
  tags,
  params: idParams<SessionId>(),
  response: { 204: Type.Null() },
}

export function sessionsRoutes(deps: SessionsDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, sessions, sessionOf } = deps
  return async (app) => {
    app.get('/sessions', { config, schema: listSchema }, async (request) => {
      const caller = callerOf(request)
      const { userId, accountId } = caller
      const binding = { key: deps.cursorKey, account: userId ?? accountId, list: 'sessions' }
      const read = (page: PageRequest) => (userId === undefined ? [] : listSessions(db, { userId, ...page }, now()))
      const current = sessionOf(caller)
      const render = (session: Session) => renderSession(session, session.id === current)
      return listPage({ query: request.query, binding, read, position: byId, render })
    })
    app.delete('/sessions/:id', { config, schema: endSchema }, async (request, reply) => {
      const { kind, keyId, userId, accountId } = callerOf(request)
      const actor = { kind, id: keyId, name: undefined }
      const ended =
        userId !== undefined &&
        (await sessions.endOne({ id: request.params.id, userId, accountId, actor }, originOfRequest(request)))
      if (!ended) throw new GatewayError('not_found', 'You have no session with this ID.')
      return reply.code(204).send(null)
    })
  }
}

function renderSession(session: Session, current: boolean): Static<typeof SessionView> {
  return {
    id: session.id,
    object: 'session',
    address: session.address ?? null,
    user_agent: session.userAgent ?? null,
    created_at: isoTime(session.createdAt),
    last_used_at: isoTime(session.renewedAt),
    expires_at: isoTime(session.endsAt),
    current,
  }
}

interface MeDeps extends FeatureDeps {
  /** The session that a request is made with; undefined: another kind of credential. */
  readonly sessionOf: (caller: Caller) => SessionId | undefined
  /** Expiry of a device's token in Unix milliseconds; undefined: unknown. */
  readonly tokenExpiresAt: (authorization: string | undefined) => number | undefined
  /** Accounts that a person belongs to. */
  readonly accountsOf: (userId: UserId) => Promise<readonly Membership[]>
  /** Of the gateway. */
  readonly version: string
  /** Published since, as far as it is known; undefined: none. */
  readonly newerRelease: () => string | undefined
  /** How the command line is called where this gateway is installed. */
  readonly commandLine: string
  /** Whether people can sign in with an identity provider. */
  readonly hasIdentityProviders: boolean
}

const AccountOfPerson = Type.Object({
  id: Type.String(),
  name: Type.String(),
  role: Type.Unsafe<Role | null>({ type: ['string', 'null'], description: 'Null: the credential is a key.' }),
})

const meSchema = {
  summary: 'Get the identity of the caller',
  description: 'Returns the credential of this request, its owner and its rights.',
  tags: ['Account'],
  response: {
    200: Type.Object({
      object: Type.Literal('me'),
      credential: Type.Object({
        kind: Type.Unsafe<Caller['kind']>({ type: 'string', enum: ['key', 'token', 'session'] }),
        id: Type.String(),
        scopes: Type.Array(Type.String(), { description: 'All rights of the credential.' }),
        expires_at: textOrNull('ISO 8601. Null: it does not expire.'),
      }),
      account: Type.Object({ id: Type.String(), name: Type.String(), plan: Type.String() }),
      user: Type.Union([Type.Object({ id: Type.String(), email: Type.String(), name: Type.String() }), Type.Null()]),
      role: Type.Unsafe<Role | null>({ type: ['string', 'null'] }),
      rights: Type.Array(Type.String(), { description: 'Same as `credential.scopes`, including `operator`.' }),
      accounts: Type.Array(AccountOfPerson, {
        description: 'Accounts that the person can switch to. A key or token has only its own account.',
      }),
      version: Type.String({ description: 'Version of the gateway.' }),
      newer_release: textOrNull(
        'Newer release, by the published catalogue that was pulled. Null: none is known, or the caller is not an operator.',
      ),
      command_line: Type.String({
        description: 'How the command line is called where the gateway is installed, such as `npx turnpike`.',
      }),
      identity_providers: Type.Boolean({
        description: 'Whether people can sign in with an identity provider, and can therefore be invited.',
      }),
    }),
  },
}
type Me = Static<(typeof meSchema)['response'][200]>

export function meRoutes(deps: MeDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, sessionOf, tokenExpiresAt } = deps
  return async (app) => {
    app.get('/me', { schema: meSchema }, async (request): Promise<Me> => {
      const caller = callerOf(request)
      const id = sessionOf(caller) ?? caller.keyId
      const [account, user, accounts, expiresAt] = await Promise.all([
        db.selectFrom('account').select(['id', 'name', 'plan']).where('id', '=', caller.accountId).executeTakeFirst(),
        userOf(db, caller),
        caller.kind === 'session' && caller.userId !== undefined ? deps.accountsOf(caller.userId) : undefined,
        tokenExpiresAt(authorizationOf(request)) ?? expiryOf(db, { caller, id, now: now() }),
      ])
      if (account === undefined) throw new GatewayError('not_found', 'The account no longer exists.')
      return {
        object: 'me',
        credential: { kind: caller.kind, id, scopes: [...caller.scopes], expires_at: isoTimeOrNull(expiresAt ?? null) },
        account,
        user: user ?? null,
        role: caller.role ?? null,
        rights: [...caller.scopes],
        accounts: [...(accounts ?? [{ id: account.id, name: account.name, role: caller.role ?? null }])],
        version: deps.version,
        newer_release: (caller.scopes.has('operator') && deps.newerRelease()) || null,
        command_line: deps.commandLine,
        identity_providers: deps.hasIdentityProviders,
      }
    })
  }
}

async function userOf(db: Kysely<Database>, { userId }: Caller) {
  if (userId === undefined) return undefined
  return db.selectFrom('person').select(['id', 'email', 'name']).where('id', '=', userId).executeTakeFirst()
}

interface Credential {
  readonly caller: Caller
  readonly id: string
  readonly now: number
}

/** Unix milliseconds; undefined: never. */
async function expiryOf(db: Kysely<Database>, { caller, id, now }: Credential): Promise<number | undefined> {
  const { kind, accountId, keyId } = caller
  switch (kind) {
    case 'key': {
      const query = db.selectFrom('api_key').select('expires_at').where('account_id', '=', accountId)
      return (await query.where('id', '=', keyId).executeTakeFirst())?.expires_at ?? undefined
    }
    case 'token':
      return undefined
    case 'session':
      return (await findSession(db, { id: id as SessionId }, now))?.endsAt // the id is what `sessionOf` gave
  }
}
