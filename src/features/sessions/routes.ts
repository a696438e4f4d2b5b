/** `/sessions`: the browsers that a person is signed in with. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { SessionId } from '../../domain/ids.ts'
import { originOfRequest } from '../../http/browser-request.ts'
import { PAGE_QUERY, type PageBinding, pageSchema, readPageRequest, renderPage } from '../../http/page.ts'
import type { FeatureDeps } from '../deps.ts'
import { listSessions, type Session } from './queries.ts'
import type { Sessions } from './sessions.ts'

export interface SessionsDeps extends FeatureDeps {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
  readonly sessions: Pick<Sessions, 'endOne'>
  /** The session that a request is made with; undefined: another kind of credential. */
  readonly sessionOf: (caller: Caller) => SessionId | undefined
}

const stringOrNull = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description })
const SessionView = Type.Object({
  id: Type.String(),
  object: Type.Literal('session'),
  address: stringOrNull('Where it was begun from.'),
  user_agent: stringOrNull('What the browser called itself then.'),
  created_at: Type.String(),
  last_used_at: Type.String({ description: 'When it was last renewed.' }),
  expires_at: Type.String({ description: 'When it ends if it is not renewed.' }),
  current: Type.Boolean({ description: 'Whether this request is made with it.' }),
})
const config = { scope: 'devices' } as const
const tags = ['Members']
const listSchema = {
  summary: 'List sessions',
  description: 'Browsers that you are signed in with. An API key has none.',
  tags,
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(SessionView) },
}
const endSchema = {
  summary: 'End a session',
  description: 'Signs a browser of yours out, within a second everywhere.',
  tags,
  params: Type.Object({ id: Type.Unsafe<SessionId>({ type: 'string' }) }),
  response: { 204: Type.Null() },
}

export function sessionsRoutes(deps: SessionsDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, sessions, sessionOf } = deps
  return async (app) => {
    app.get('/sessions', { config, schema: listSchema }, async (request) => {
      const caller = callerOf(request)
      const binding: PageBinding = { key: deps.cursorKey, account: caller.userId ?? caller.accountId, list: 'sessions' }
      const page = readPageRequest(request.query, binding)
      const asked = { ...page, limit: page.limit + 1 }
      const own = caller.userId === undefined ? [] : await listSessions(db, { userId: caller.userId, ...asked }, now())
      const current = sessionOf(caller)
      const render = (session: Session) => renderSession(session, session.id === current)
      return renderPage(own, { request: page, binding }, { position: ({ id }) => id, render })
    })
    app.delete('/sessions/:id', { config, schema: endSchema }, async (request, reply) => {
      const { kind, keyId, userId, accountId } = callerOf(request)
      const actor = { kind, id: keyId, name: undefined }
      const ended =
        userId !== undefined &&
        (await sessions.endOne({ id: request.params.id, userId, accountId, actor }, originOfRequest(request)))
      if (!ended) throw new GatewayError('not_found', 'You have no session with this id.')
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
    created_at: new Date(session.createdAt).toISOString(),
    last_used_at: new Date(session.renewedAt).toISOString(),
    expires_at: new Date(session.endsAt).toISOString(),
    current,
  }
}
