/** `GET /me`: who a credential belongs to and what it may. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema.ts'
import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { SessionId, UserId } from '../../domain/ids.ts'
import type { Role } from '../../domain/rights.ts'
import type { FeatureDeps } from '../deps.ts'
import type { Membership } from './auth-routes.ts'
import { findSession } from './queries.ts'

export interface MeDeps extends FeatureDeps {
  /** The session that a request is made with; undefined: another kind of credential. */
  readonly sessionOf: (caller: Caller) => SessionId | undefined
  /** Unix milliseconds until which a device's token is good; undefined: not known. */
  readonly tokenExpiresAt: (authorization: string | undefined) => number | undefined
  /** Accounts that a person belongs to. */
  readonly accountsOf: (userId: UserId) => Promise<readonly Membership[]>
  /** Of the gateway. */
  readonly version: string
  /** Whether people can sign in with an identity provider. */
  readonly hasIdentityProviders: boolean
}

const AccountOfPerson = Type.Object({
  id: Type.String(),
  name: Type.String(),
  role: Type.Unsafe<Role | null>({ type: ['string', 'null'], description: 'Null: a key has none.' }),
})

const schema = {
  summary: 'Who am I?',
  description: 'What the credential of this request is, whose it is, and what it may do.',
  tags: ['Account'],
  response: {
    200: Type.Object({
      object: Type.Literal('me'),
      credential: Type.Object({
        kind: Type.Unsafe<Caller['kind']>({ type: 'string', enum: ['key', 'token', 'session'] }),
        id: Type.String(),
        scopes: Type.Array(Type.String(), { description: 'All rights, spelled out.' }),
        expires_at: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'ISO 8601; null: never.' }),
      }),
      account: Type.Object({ id: Type.String(), name: Type.String(), plan: Type.String() }),
      user: Type.Union([Type.Object({ id: Type.String(), email: Type.String(), name: Type.String() }), Type.Null()]),
      role: Type.Unsafe<Role | null>({ type: ['string', 'null'] }),
      rights: Type.Array(Type.String(), { description: 'The same as `credential.scopes`; `operator` among them.' }),
      accounts: Type.Array(AccountOfPerson, {
        description: 'That the person can go over to. A key and a token have the one that they are of.',
      }),
      version: Type.String({ description: 'Of the gateway.' }),
      identity_providers: Type.Boolean({ description: 'Whether people can sign in with one, and so be invited.' }),
    }),
  },
}
type Me = Static<(typeof schema)['response'][200]>

export function meRoutes(deps: MeDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, sessionOf, tokenExpiresAt } = deps
  return async (app) => {
    app.get('/me', { schema }, async (request): Promise<Me> => {
      const caller = callerOf(request)
      const id = sessionOf(caller) ?? caller.keyId
      const [account, user, accounts, expiresAt] = await Promise.all([
        db.selectFrom('account').select(['id', 'name', 'plan']).where('id', '=', caller.accountId).executeTakeFirst(),
        userOf(db, caller),
        caller.kind === 'session' && caller.userId !== undefined ? deps.accountsOf(caller.userId) : undefined,
        tokenExpiresAt(request.headers.authorization) ?? expiryOf(db, { caller, id, now: now() }),
      ])
      if (account === undefined) throw new GatewayError('not_found', 'The account is gone.')
      const expires = expiresAt === undefined ? null : new Date(expiresAt).toISOString()
      return {
        object: 'me',
        credential: { kind: caller.kind, id, scopes: [...caller.scopes], expires_at: expires },
        account,
        user: user ?? null,
        role: caller.role ?? null,
        rights: [...caller.scopes],
        accounts: (accounts ?? [{ ...account, role: caller.role ?? null }]).map(({ id, name, role }) => ({
          id,
          name,
          role,
        })),
        version: deps.version,
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
