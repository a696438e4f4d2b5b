/** The whole application in this process, asked without a socket, with people who can be signed in by link. */
import { hash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import type { TestContext } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import type { Role as ServiceRole } from '../../../src/app/background-work.ts'
import { type App, createApp } from '../../../src/app.ts'
import { type BuiltIn, loadConfig } from '../../../src/config/load.ts'
import type { OpenedDatabase } from '../../../src/db/database.ts'
import { migrate } from '../../../src/db/migrate.ts'
import type { Role } from '../../../src/domain/identity/caller.ts'
import type { AccountId, SessionId, UserId } from '../../../src/domain/ids.ts'
import { createAccount } from '../../../src/features/accounts/queries.ts'
import { createKey, FULL_ACCESS } from '../../../src/features/keys/queries.ts'
import { insertSession } from '../../../src/features/sessions/queries.ts'
import { openLog } from '../../../src/telemetry/log.ts'
import { currentLocation, openLocation, testIds } from '../database.ts'

export const OWN_PAGE = { 'sec-fetch-site': 'same-origin' }
/** Of the package, which pictures of the dashboard show. */
export const { version: VERSION } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as { readonly version: string }
/** Of the installation. */
export const SECRET = Buffer.alloc(32, 9)

export interface Person {
  readonly userId: UserId
  readonly accountId: AccountId
  readonly email: string
}

export interface Browser extends Person {
  readonly sessionId: SessionId
  /** The header that it sends. */
  readonly cookie: string
}

export interface AppForTests {
  readonly app: App
  readonly database: OpenedDatabase
  readonly account: (name?: string) => Promise<AccountId>
  readonly key: (accountId: AccountId) => Promise<string>
  readonly person: (accountId: AccountId, role: Role, email?: string) => Promise<Person>
  /** A browser that the person signed in with a moment ago. */
  readonly browser: (person: Person) => Promise<Browser>
  /** `POST /auth/session`. */
  readonly token: (browser: Browser) => Promise<string>
  readonly ask: (method: Method, url: string, request?: Asked) => Promise<LightMyRequestResponse>
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
interface Asked {
  readonly headers?: Readonly<Record<string, string>>
  readonly token?: string
  readonly body?: object | string
  /** Of the peer. */
  readonly address?: string
}

export interface AppOptions {
  /** Environment variables. */
  readonly settings?: Readonly<Record<string, string>>
  readonly secret?: Uint8Array
  /** A database that is there already. */
  readonly place?: string
  /** `api`: nothing is done in the background. */
  readonly role?: ServiceRole
  /** Folder of the built dashboard; none unless set, so that tests find the same pages whether it is built or not. */
  readonly dashboardFolder?: string
  /** What the program itself brings; nothing unless set. */
  readonly builtIn?: BuiltIn
}

const NOTHING_BUILT_IN: BuiltIn = { builtInProviders: [], providerVariables: {}, settingVariables: {} }

export async function openApp(t: Pick<TestContext, 'after'>, options: AppOptions = {}): Promise<AppForTests> {
  const { settings = {}, secret = SECRET, place, role = 'all', builtIn = NOTHING_BUILT_IN } = options
  // Folders go when the application has ended: what is registered first is done first.
  const removals: (() => unknown)[] = []
  const afterwards = { after: (remove: () => unknown) => void removals.push(remove) }
  // Not in memory as the database may be: sandboxes of agents see nothing of /dev.
  const folder = await mkdtemp(`${tmpdir()}/turnpike-test-`)
  afterwards.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const env = { TURNPIKE_DATA_DIR: folder, ...settings }
  const config = await loadConfig({ env, cwd: folder, builtIn })
  const database = await openLocation(place ?? (await currentLocation(afterwards)))
  await migrate(database.db, Date.now)
  const { log } = await openLog({ level: 'silent', terminal: false })
  let app: App | undefined
  // Registered first: what a failed start leaves open would keep the process of the tests alive.
  t.after(async () => {
    await app?.server.close()
    await app?.close()
    await database.close()
    for (const remove of removals) await remove()
  })
  const { dashboardFolder = `${folder}/no-dashboard` } = options
  app = await createApp({ config, database, log, version: VERSION, secret, role, dashboardFolder })
  return { app, database, ...population(database), ...requests(app) }
}

const born = { now: Date.now, ids: testIds }

function population({ db }: OpenedDatabase): Pick<AppForTests, 'account' | 'key' | 'person' | 'browser'> {
  return {
    account: async (name = 'Test') => (await createAccount(db, { name, plan: 'unlimited' }, born)).id,
    key: async (accountId) => (await createKey(db, { ...FULL_ACCESS, accountId, name: 'test' }, born)).secret,
    async person(accountId, role, email = `${role}@example.com`) {
      const now = Date.now()
      const userId = testIds.user()
      await db
        .insertInto('person')
        .values({ id: userId, email, name: 'Ada', created_at: now, disabled_at: null, changed_at: now })
        .execute()
      await join(db, { userId, accountId }, role)
      return { userId, accountId, email }
    },
    async browser(person) {
      const secret = randomBytes(32).toString('base64url')
      const id = testIds.session()
      const origin = { address: '203.0.113.7', userAgent: 'Test', requestId: 'req_test' }
      const secretHash = hash('sha256', secret, 'buffer')
      await insertSession(db, { ...person, id, secretHash, origin }, Date.now())
      return { ...person, sessionId: id, cookie: `__Host-turnpike=${secret}` }
    },
  }
}

/** Makes a person a member. */
export async function join(
  db: OpenedDatabase['db'],
  { userId, accountId }: Pick<Person, 'userId' | 'accountId'>,
  role: Role,
): Promise<void> {
  const now = Date.now()
  await db
    .insertInto('member')
    .values({ account_id: accountId, user_id: userId, role, created_at: now, removed_at: null, changed_at: now })
    .execute()
}

function requests({ server }: App): Pick<AppForTests, 'ask' | 'token'> {
  const ask: AppForTests['ask'] = (method, url, { headers = {}, token, body, address } = {}) =>
    server.inject({
      method,
      url,
      headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      ...(body === undefined ? {} : { payload: body }),
      ...(address === undefined ? {} : { remoteAddress: address }),
    })
  return {
    ask,
    async token({ cookie }) {
      const answer = await ask('POST', '/auth/session', { headers: { cookie, ...OWN_PAGE } })
      return answer.json<{ access_token: string }>().access_token
    },
  }
}
