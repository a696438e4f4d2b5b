/** The authorization server on a socket of its own, over a real database, with a clock that tests turn. */
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import type { AuditEvent } from '../../../src/domain/audit.ts'
import type { Caller, Role } from '../../../src/domain/identity/caller.ts'
import type { BrowserSession, Origin } from '../../../src/domain/identity/sign-in.ts'
import type { AccountId, SessionId, UserId } from '../../../src/domain/ids.ts'
import { createActivation } from '../../../src/features/oauth/activation.ts'
import { createClients } from '../../../src/features/oauth/authority.ts'
import { type OAuthDeps, oauthRoutes } from '../../../src/features/oauth/routes.ts'
import { createTokenAuthenticator } from '../../../src/features/oauth/token-authenticator.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { currentLocation, temporaryDatabase, testIds } from '../database.ts'
import { freePort } from '../process/free-port.ts'

export const ACCOUNT = 'acc_a' as AccountId
export const OTHER_ACCOUNT = 'acc_b' as AccountId
export const ADA = 'usr_ada' as UserId
export const CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
export const ORIGIN: Origin = { address: '198.51.100.1', userAgent: 'Browser', requestId: 'req_1' }

export interface OAuthAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  readonly body: any
}

export type OAuthServer = Awaited<ReturnType<typeof startOAuthServer>>

/** @param place A database that is there already; without it one of this test's own, with two accounts and Ada in both. */
export async function startOAuthServer(
  test: TestContext,
  over: Partial<OAuthDeps> & { place?: string; skewMs?: number } = {},
) {
  const place = over.place ?? (await currentLocation(test))
  const database = await temporaryDatabase(test, place)
  const { db, batch, onChange } = database
  if (over.place === undefined) await fill(db)
  const clock = { ms: Date.UTC(2027, 0, 1), skewMs: over.skewMs ?? 0 }
  const audit: AuditEvent[] = []
  const warnings: string[] = []
  const revoked = new Set<string>()
  const time = () => sql<number>`cast(${clock.ms} as bigint)`
  const callers = new Set<Caller>()
  const authenticator = createTokenAuthenticator({
    ...{ db, batch, onChange, time, now: () => clock.ms + clock.skewMs, clock: () => clock.ms },
    onEnded: (isEnded) => {
      for (const caller of callers) if (isEnded(caller)) revoked.add(caller.keyId)
    },
  })
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const deps: OAuthDeps = {
    ...{ db, ids: testIds, time, rotationKey: Buffer.alloc(32, 7), publicUrl: url },
    clients: createClients([{ id: 'other-client', name: 'Another' }]),
    writeAudit: async (_db, event) => void audit.push(event),
    changed: authenticator.refresh,
    clock: () => clock.ms,
    onError: () => undefined,
    ...over,
  }
  const activation = createActivation({ ...deps, log: { warn: (_fields, message) => void warnings.push(message) } })
  const server = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: ['127.0.0.1'], // so that tests can come from many addresses
    corsOrigins: [],
    onError: () => undefined,
    draining: () => false,
  })
  await server.register(oauthRoutes(deps))
  await server.listen({ port, host: '127.0.0.1' })
  test.after(async () => {
    await server.close()
    await authenticator.close().catch(() => undefined) // the database, opened before, is closed before
  })
  const post = async (path: string, body: URLSearchParams | string | object, headers = {}): Promise<OAuthAnswer> => {
    const isForm = body instanceof URLSearchParams
    const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
    const text = isForm || typeof body === 'string' ? String(body) : JSON.stringify(body)
    const init = { method: 'POST', body: text, headers: { 'content-type': type, 'user-agent': 'Device', ...headers } }
    const response = await fetch(url + path, init)
    const answer = await response.text()
    return { status: response.status, headers: response.headers, text: answer, body: parse(answer) }
  }
  const begin = async (scope = 'api offline_access', clientId = 'turnpike-cli') =>
    (await post('/device/code', { client_id: clientId, scope })).body
  const poll = (deviceCode: string, clientId = 'turnpike-cli') =>
    post('/oauth/token', { grant_type: CODE_GRANT, client_id: clientId, device_code: deviceCode })
  const refresh = (token: string, more: object = {}) =>
    post('/oauth/token', { grant_type: 'refresh_token', refresh_token: token, ...more })
  const revoke = (token: string, more: object = {}) => post('/oauth/revoke', { token, ...more })
  const decide = (userCode: string, approve: boolean, session = sessionOf()) =>
    activation.decide(userCode, { approve, session, origin: ORIGIN })
  return {
    ...{ place, database, db, deps, url, audit, warnings, revoked, activation, server },
    authenticator: {
      ...authenticator,
      authenticate(token: string) {
        const answer = authenticator.authenticate(token)
        void Promise.resolve(answer)
          .then((caller) => callers.add(caller))
          .catch(() => undefined)
        return answer
      },
    },
    ...{ post, begin, poll, refresh, revoke, decide },
    now: () => clock.ms,
    /** Of this process's clock from the database's. */
    skew(ms: number): void {
      clock.skewMs = ms
    },
    advance(ms: number): void {
      clock.ms += ms
    },
    /** Through the whole flow. */
    async connect(scope?: string, session = sessionOf()) {
      const { device_code, user_code } = await begin(scope)
      await activation.decide(user_code, { approve: true, session, origin: ORIGIN })
      return (await poll(device_code)).body as { access_token: string; refresh_token: string; scope: string }
    },
  }
}

export function sessionOf(over: Partial<BrowserSession> = {}): BrowserSession {
  return {
    ...{ id: 'ses_1' as SessionId, userId: ADA, email: 'ada@example.com', name: 'Ada' },
    ...{ accountId: ACCOUNT, accountName: 'a', role: 'owner', signedInAt: 0 },
    ...over,
  }
}

export async function setRole(db: OAuthDeps['db'], role: Role | undefined, userId = ADA): Promise<void> {
  const { latest } = await db
    .selectFrom('member')
    .select(({ fn }) => fn.max('changed_at').as('latest'))
    .executeTakeFirstOrThrow()
  const change = role === undefined ? { removed_at: 5 } : { role, removed_at: null }
  await db
    .updateTable('member')
    .set({ ...change, changed_at: Number(latest) + 1 })
    .where('account_id', '=', ACCOUNT)
    .where('user_id', '=', userId)
    .execute()
}

async function fill(db: OAuthDeps['db']): Promise<void> {
  const born = { created_at: 1, changed_at: 1 }
  for (const id of [ACCOUNT, OTHER_ACCOUNT]) {
    await db
      .insertInto('account')
      .values({ id, name: id, plan: 'free', ...born })
      .execute()
  }
  for (const id of [ADA, 'usr_bob' as UserId]) {
    await db
      .insertInto('person')
      .values({ id, email: `${id.slice(4)}@example.com`, name: id, ...born })
      .execute()
    for (const account_id of [ACCOUNT, OTHER_ACCOUNT]) {
      await db
        .insertInto('member')
        .values({ account_id, user_id: id, role: 'owner', ...born })
        .execute()
    }
  }
}

function parse(text: string): unknown {
  return text === '' ? undefined : JSON.parse(text)
}
