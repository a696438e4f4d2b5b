/**
 * Every route, asked with every kind of credential, for what is one's own, another account's and nobody's. The routes are
 * those of the composed application, so one that is added is in here; what is expected follows from the table of rights.
 * What is decided before any query is asked of SQLite alone.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import type { Right } from '../../src/domain/identity/caller.ts'
import type { AccountId, UserId } from '../../src/domain/ids.ts'
import { type AppForTests, OWN_PAGE, openApp } from '../support/browser/signed-in.ts'
import { dialect, sqliteTest } from '../support/database.ts'
import { collectRoutes, type TableRow } from '../support/http/routes.ts'
import { smallestBody } from '../support/http/smallest-body.ts'
import { type Credential, keysOf, sessionsOf, tokensOf } from '../support/identity/credentials.ts'
import { RESOURCES, type Resource } from '../support/process/resources.ts'

/** Routes that ask for no right, and why. */
const OPEN: Readonly<Record<string, string>> = {
  '/': 'says what this is',
  '/docs': 'documentation',
  '/docs/*': 'documentation',
  '/llms.txt': 'documentation',
  '/openapi.json': 'documentation',
  '/healthz': 'probe',
  '/readyz': 'probe',
  '/internal/streams/:id': 'processes of one installation, by a token that is made from its secret',
  '/metrics': 'has a guard of its own, which asks for operator',
  '/device/code': 'RFC 8628: public clients begin here',
  '/oauth/token': 'RFC 6749: the grant is the credential',
  '/oauth/revoke': 'RFC 7009: the token is the credential',
  '/.well-known/oauth-authorization-server': 'RFC 8414: discovery',
  '/auth/session': 'the cookie is the credential',
  '/auth/sign-out': 'the cookie is the credential',
  '/auth/link': 'the link is the credential',
  '/auth/:slug': 'begins a sign-in',
  '/auth/:slug/callback': 'ends a sign-in',
  '/assets/:file': 'style and script of the pages',
  '/sign-in': 'page',
  '/app': 'page; who is not signed in is sent to /sign-in',
  '/app/*': 'page; who is not signed in is sent to /sign-in',
  '/app/assets/*': 'style and script of the dashboard',
  '/app/sign-in': 'page',
  '/app/account': 'form of a page, with the cookie',
  '/invitation': 'page and its form; the invitation is the credential',
  '/activate': 'page; who is not signed in is sent to /sign-in',
  '/activate/decision': 'form of a page, with the cookie',
  '/activate/approved': 'page that says so',
  '/activate/denied': 'page that says so',
}
/** Routes that any credential may use. */
const ANY_CREDENTIAL = new Set(['/v1/me'])
/** What a route asks for beyond the right it declares, and why it does not declare it. */
const FURTHER: Readonly<Record<string, Right>> = {
  'DELETE /v1/members/:id': 'members', // everybody may leave, which needs none
  'PATCH /v1/members/:id': 'billing', // the role that is given here has it, and nobody gives more than they have
  'POST /v1/invitations': 'billing', // as well
  // Admins of the team have it there, and everybody may leave a team.
  'POST /v1/teams/:id/members': 'teams',
  'PATCH /v1/teams/:id/members/:user_id': 'teams',
  'DELETE /v1/teams/:id/members/:user_id': 'teams',
}
/** Answers to the smallest body that say that the right was there and something else was not. */
const UNMET: Readonly<Record<string, readonly number[]>> = {
  'POST /v1/chat/completions': [400, 422],
  'POST /chat/completions': [400, 422],
  'POST /v1/messages': [404],
  'POST /messages': [404],
  'POST /v1/messages/count_tokens': [404],
  'POST /messages/count_tokens': [404],
  'POST /v1/completions': [422],
  'POST /completions': [422],
  'POST /v1/billing/top-ups': [409],
  'POST /v1/embeddings': [422],
  'POST /embeddings': [422],
  'POST /v1/rerank': [422],
  'POST /rerank': [422],
  'POST /v2/rerank': [422],
  'POST /v1/responses': [400, 422],
  'POST /responses': [400, 422],
  'POST /v1/responses/input_tokens': [400, 422],
  'POST /responses/input_tokens': [400, 422],
  'GET /v1/responses': [405],
  'GET /responses': [405],
  'POST /v1/admin/accounts/:id/credits': [400], // a debit without its note
  'PUT /v1/admin/providers/:name': [400], // neither built in nor with an address
  'POST /v1/agents': [400],
  'POST /v1/agents/:id/pull-request': [422], // no credential for the repository
  'POST /v1/teams/:id/members': [404],
  'POST /scim/v2/Users': [400],
  'PUT /scim/v2/Users/:id': [404],
  'PATCH /scim/v2/Users/:id': [400],
  'POST /scim/v2/Groups': [400],
  'PUT /scim/v2/Groups/:id': [404],
  'PATCH /scim/v2/Groups/:id': [400],
  'POST /v1/provider-credentials': [404],
  'POST /v1/telemetry-destinations': [400], // the first kind needs an address
  'POST /v1/webhooks': [400],
  'POST /v1/webhooks/:id/redeliver': [400],
  'POST /v1/events/trigger': [400],
  'GET /v1/events/stream': [400],
  'GET /v1/usage/completions/stream': [400],
}
/** Where the smallest body does not have the format that the schema asks for before the ID is looked up. */
const BODIES: Readonly<Record<string, object>> = {
  'PATCH /v1/members/:id': { role: 'billing' },
  'PUT /v1/budgets': { level: 'account', budgets: [] },
  'POST /v1/budgets/:id/raises': { usd: 1, ends_at: '2100-01-01T00:00:00Z', reason: 'launch' },
  'POST /v1/webhooks/:id/redeliver': { failed_since: '2026-01-31T00:00:00Z' },
}
/** What is sent along, so that an answer ends. */
const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'GET /v1/events/stream': { 'last-event-id': 'none' },
  'GET /v1/usage/completions/stream': { 'last-event-id': 'none' },
}

const name = ({ method, path }: TableRow) => `${method} ${path}`

interface Runtime {
  readonly app: AppForTests
  readonly routes: readonly TableRow[]
  readonly home: AccountId
  readonly away: AccountId
  readonly somebody: { readonly home: UserId; readonly away: UserId }
}

async function setUp(t: TestContext): Promise<Runtime> {
  const { made: app, routes } = await collectRoutes(() => openApp(t))
  const [home, away] = [await app.account('Home'), await app.account('Away')]
  // An account that has an owner, so that nobody in the matrix is the last one.
  const owners = [await app.person(home, 'owner'), await app.person(away, 'owner')]
  const [mine, theirs] = owners.map(({ userId }) => userId) as [UserId, UserId]
  return { app, routes, home, away, somebody: { home: mine, away: theirs } }
}

/** `HEAD` is `GET` without its body, and no route of its own. */
function guarded(routes: readonly TableRow[]): readonly TableRow[] {
  return routes.filter(
    ({ method, scope, path }) => method !== 'HEAD' && (scope !== undefined || ANY_CREDENTIAL.has(path)),
  )
}

interface Request {
  id?: string
  secret?: string
  body?: unknown
  address?: string
}

function ask({ app }: Runtime, row: TableRow, request: Request) {
  const smallest = row.body === undefined ? undefined : smallestBody(row.body)
  const { id = row.method === 'PUT' ? 'made' : 'x', secret, body = BODIES[name(row)] ?? smallest } = request
  const ids = id.split('/')
  const url = row.path.replace(/:\w+|\*/g, () => encodeURIComponent(ids.shift() ?? 'x'))
  const token = secret === undefined ? {} : { token: secret }
  const headers = HEADERS[name(row)] ?? {}
  // as every route's schema has it, the smallest body is an object
  return app.ask(row.method as 'GET', url, {
    ...token,
    headers,
    ...(request.address === undefined ? {} : { address: request.address }),
    ...(body === undefined ? {} : { body: body as object }),
  })
}

/** All that a client sees, but for what is of each request alone. */
function seen({ statusCode, headers, body }: LightMyRequestResponse): string {
  const { 'x-request-id': id, 'request-id': _, date: __, ...rest } = headers
  return JSON.stringify([statusCode, rest, body.replaceAll(String(id), 'ID')])
}

sqliteTest('TEN-2: every route declares a right, or is open for a reason', async (t) => {
  const { routes } = await setUp(t)
  const undeclared = routes.filter(({ scope, path }) => scope === undefined && !ANY_CREDENTIAL.has(path))
  assert.deepEqual(undeclared.filter(({ path }) => OPEN[path] === undefined).map(name), [])
  assert.deepEqual(undeclared.filter(({ path }) => path.startsWith('/v1')).map(name), [])
  const heads = routes.filter(({ method }) => method === 'HEAD')
  for (const head of heads) {
    const get = routes.find(({ method, path }) => method === 'GET' && path === head.path)
    assert.equal(get?.scope, head.scope, head.path)
  }
  const open = undeclared.filter(({ method }) => method !== 'HEAD')
  console.log(`rights: ${guarded(routes).length} guarded routes, ${open.length} open ones`)
})

sqliteTest(
  'TEN-2: without a credential, and with a wrong one of any kind, every guarded route answers 401, always alike',
  async (t) => {
    const world = await setUp(t)
    const wrong = ['tp_'.padEnd(49, 'x'), 'tpa_'.padEnd(50, 'x'), 'e30.e30.AA', 'x', 'tpi_'.padEnd(50, 'x')]
    for (const [at, row] of guarded(world.routes).entries()) {
      const address = `10.0.0.${at % 250}` // wrong keys of one address are limited
      const answers = await Promise.all(wrong.map((secret) => ask(world, row, { secret, address })))
      for (const answer of answers) assert.equal(answer.statusCode, 401, name(row))
      assert.equal(new Set(answers.map(seen)).size, 1, name(row))
      assert.equal((await ask(world, row, {})).statusCode, 401, name(row))
    }
  },
)

for (const [kind, make] of Object.entries({ keys: keysOf, sessions: sessionsOf, tokens: tokensOf })) {
  test(`TEN-2: the matrix of routes, rights and ids holds for ${kind}`, async (t) => {
    const world = await setUp(t)
    const credentials = asked(await make(world.app, world.home))
    let cells = 0
    for (const row of guarded(world.routes)) {
      for (const credential of credentials) cells += await checkCell(world, row, credential)
    }
    console.log(`rights: ${cells} answers to ${credentials.length} ${kind}`)
  })
}

/**
 * What a right allows is decided before any query and the same on every database; what is another account's is found by
 * queries: where all rights are asked for on SQLite, those who may do most stand for their kind on PostgreSQL.
 */
function asked(credentials: readonly Credential[]): readonly Credential[] {
  if (dialect === 'sqlite') return credentials
  return credentials.toSorted((one, other) => other.rights.size - one.rights.size).slice(0, 2)
}

/** @returns How many answers were looked at. */
async function checkCell(world: Runtime, row: TableRow, credential: Credential): Promise<number> {
  const what = `${name(row)} by ${credential.name}`
  const needed = [row.scope, FURTHER[name(row)]].filter((right) => right !== undefined)
  const resource = resourceOf(row)
  const isAllowed = needed.every((right) => credential.rights.has(right))
  if (resource === undefined) {
    assertOutcome(await ask(world, row, { secret: credential.secret }), { row, isAllowed, what })
    return 1
  }
  const { own, foreign } = await makeBoth(world, resource, credential)
  const strange = foreign === undefined ? [] : [foreign]
  const answers = []
  for (const id of [...strange, resource.unknownId, 'x']) {
    answers.push(await ask(world, row, { id, secret: credential.secret }))
  }
  for (const { statusCode } of answers) assert.equal(statusCode, isAllowed ? 404 : 403, what)
  if (resource.of !== 'everybody')
    assert.equal(new Set(answers.map(seen)).size, 1, `${what}: foreign ids look different`)
  if (own === undefined) return answers.length
  assertOutcome(await ask(world, row, { id: own, secret: credential.secret }), { row, isAllowed, what })
  return answers.length + 1
}

async function makeBoth({ app, home, away, somebody }: Runtime, { make, of }: Resource, credential: Credential) {
  const foreign = of === 'everybody' ? undefined : await make?.(app, { accountId: away, userId: somebody.away })
  if (of === 'person' && credential.userId === undefined) return { foreign, own: undefined }
  const userId = credential.userId ?? somebody.home
  return { foreign, own: await make?.(app, { accountId: home, userId }) }
}

function assertOutcome(
  { statusCode, body }: LightMyRequestResponse,
  { row, isAllowed, what }: { row: TableRow; isAllowed: boolean; what: string },
): void {
  const isMet = statusCode < 400 || UNMET[name(row)]?.includes(statusCode)
  assert.ok(isAllowed ? isMet : statusCode === 403, `${what}: ${statusCode} ${body}`)
}

/** What a route with an id is about; undefined: the route has none, or makes what does not exist. */
function resourceOf({ method, path }: TableRow): Resource | undefined {
  if (method === 'PUT') return undefined
  const [last] = [...path.matchAll(/\/[:*]/g)].slice(-1)
  if (last === undefined) return undefined
  const resource = RESOURCES[path.slice(0, last.index)]
  assert.ok(resource !== undefined, `test/support/resources.ts does not say how to make one for ${path}`)
  return resource
}

test('TM3: no list of one account reveals anything of another', async (t) => {
  const world = await setUp(t)
  const { app, home, away, somebody } = world
  const ids: string[] = [away, somebody.away]
  for (const { make, of } of Object.values(RESOURCES)) {
    if (make === undefined || of === 'everybody') continue
    ids.push(await make(app, { accountId: away, userId: somebody.away }))
    await make(app, { accountId: home, userId: somebody.home })
  }
  const credentials = [...(await keysOf(app, home)), ...(await sessionsOf(app, home))]
  const lists = guarded(world.routes).filter(({ method, path, scope }) => {
    return method === 'GET' && !/[:*]/.test(path) && scope !== 'operator'
  })
  assert.ok(lists.length > 10)
  for (const row of lists) {
    for (const { secret, rights } of credentials) {
      if (row.scope !== undefined && !rights.has(row.scope)) continue
      const { body } = await ask(world, row, { secret })
      for (const id of ids) assert.ok(!body.includes(id), `${name(row)} tells of ${id}`)
    }
  }
})

/** What nobody may set, wherever it is not the business of the route. */
const NEVER_SET = ['account_id', 'balance', 'balance_usd', 'role', 'id', 'user_id', 'created_at', 'operator', 'unknown']
/** Bodies that are not ours to define: RFC 6749 has unknown parameters ignored, and OpenAI's clients send what is new. */
const OTHERS_BODIES = new Set([
  '/device/code',
  '/oauth/token',
  '/oauth/revoke',
  '/v1/chat/completions',
  '/chat/completions',
  '/v1/messages',
  '/messages',
  '/v1/messages/count_tokens',
  '/messages/count_tokens',
  '/v1/completions',
  '/completions',
  '/v1/embeddings',
  '/embeddings',
  '/v1/rerank',
  '/rerank',
  '/v2/rerank',
  '/v1/responses',
  '/responses',
  '/v1/responses/input_tokens',
  '/responses/input_tokens',
])

sqliteTest(
  'TEN-4: no route takes a field that it does not have; account, balance and role are nobody’s to send',
  async (t) => {
    const world = await setUp(t)
    const rows = world.routes.filter(({ body, path }) => body !== undefined && !OTHERS_BODIES.has(path))
    assert.ok(rows.length >= 8)
    // Rejected requests of one key are limited, and those of one account.
    const accounts = [world.home, await world.app.account('Other')] as const
    const keys: (readonly Credential[])[] = []
    for (const at of rows.keys()) keys.push(await keysOf(world.app, accounts[at % 2 === 0 ? 0 : 1]))
    const before = await everything(world)
    for (const [at, row] of rows.entries()) {
      const operator = keys[at]?.[1]
      const { properties = {} } = row.body as { properties?: object } // what its schema is
      const smallest = smallestBody(row.body ?? {}) as object
      for (const field of NEVER_SET.filter((candidate) => !Object.hasOwn(properties, candidate))) {
        for (const value of ['owner', world.away, 1_000_000, null]) {
          const ids = (resourceOf(row)?.unknownId ?? '').split('/')
          const url = row.path.replace(/:\w+/g, () => ids.shift() || 'x')
          const body = { ...smallest, [field]: value }
          const answer = await world.app.ask(row.method as 'POST', url, {
            token: operator?.secret ?? '',
            headers: OWN_PAGE,
            body,
          })
          assert.deepEqual(
            [answer.statusCode, answer.json().error.code],
            [400, 'unknown_field'],
            `${name(row)} ${field}`,
          )
          assert.equal(answer.json().error.param, field)
        }
      }
    }
    assert.deepEqual(await everything(world), before)
  },
)

async function everything({ app: { database } }: Runtime): Promise<readonly unknown[]> {
  const tables = ['account', 'member', 'invitation', 'credit', 'credential', 'person', 'audit'] as const
  return Promise.all(tables.map((table) => database.db.selectFrom(table).selectAll().execute()))
}
