/** SCIM over HTTP: the request sequences that Okta and Entra document, and what becomes of sessions, tokens and keys. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AccountId, UserId } from '../../src/domain/ids.ts'
import { createKey, FULL_ACCESS } from '../../src/features/keys/queries.ts'
import { MAX_RESULTS } from '../../src/features/members/scim/resource.ts'
import { putGroup } from '../../src/features/members/scim/store.ts'
import { type AppForTests, openApp } from '../support/browser/signed-in.ts'
import { bestOf, eventually } from '../support/client.ts'
import { currentLocation, testIds } from '../support/database.ts'
import { connect } from '../support/identity/credentials.ts'
import { storeContent, storedContents } from '../support/ledger/completions.ts'

let app: AppForTests
/** With caches and connections of its own, as another process has them. */
let other: AppForTests
let accountId: AccountId
let scim: string
let full: string
const ends: (() => unknown)[] = []
const lastEnds: (() => unknown)[] = []

before(async () => {
  const t = { after: (end: () => unknown) => void ends.push(end) }
  const place = await currentLocation({ after: (end: () => unknown) => void lastEnds.push(end) })
  app = await openApp(t, { place })
  other = await openApp(t, { place })
  accountId = await app.account()
  await app.person(accountId, 'owner')
  full = await app.key(accountId)
  const born = { now: Date.now, ids: testIds }
  scim = (await createKey(app.database.db, { ...FULL_ACCESS, accountId, name: 'okta', scopes: ['scim'] }, born)).secret
})
after(async () => {
  for (const end of [...ends, ...lastEnds]) await end()
})

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

async function ask(method: Method, path: string, body?: object, token = scim) {
  const headers = { 'content-type': 'application/scim+json' }
  const payload = body === undefined ? {} : { body: JSON.stringify(body), headers }
  const answer = await app.ask(method as 'GET', `/scim/v2${path}`, { token, ...payload })
  if (answer.statusCode !== 204) assert.match(String(answer.headers['content-type']), /^application\/scim\+json/)
  return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json(), headers: answer.headers }
}

/** Of another process, after a user was deactivated. */
const STOPPED_WITHIN_MS = 1_000
const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
const patchOf = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})

let people = 0
async function provision(more: object = {}) {
  const userName = `u${++people}@example.com`
  const emails = [{ primary: true, value: userName, type: 'work' }]
  const { status, body } = await ask('POST', '/Users', { schemas: [USER], userName, emails, active: true, ...more })
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

async function roleOf(userId: UserId) {
  const { data } = (await app.ask('GET', '/v1/members?limit=100', { token: full })).json()
  return data.find((each: { id: string }) => each.id === userId)?.role
}

test('discovery lists the supported features', async () => {
  const config = await ask('GET', '/ServiceProviderConfig')
  assert.deepEqual(
    [config.body.patch.supported, config.body.bulk.supported, config.body.filter.maxResults],
    [true, false, 200],
  )
  const types = await ask('GET', '/ResourceTypes')
  assert.deepEqual(
    types.body.Resources.map((each: { endpoint: string }) => each.endpoint),
    ['/Users', '/Groups'],
  )
  const schema = await ask('GET', `/Schemas/${USER}`)
  assert.equal(schema.body.id, USER)
  assert.equal((await ask('GET', '/Schemas')).body.totalResults, 3)
  assert.equal((await ask('GET', '/Schemas/x')).status, 404)
})

test('only a key with the scope scim may use it; errors have the form of RFC 7644', async () => {
  const born = { now: Date.now, ids: testIds }
  const chat = await createKey(app.database.db, { ...FULL_ACCESS, accountId, name: 'x', scopes: ['chat'] }, born)
  const refused = await ask('GET', '/Users', undefined, chat.secret)
  assert.deepEqual(
    [refused.status, refused.body.schemas, refused.body.status],
    [403, ['urn:ietf:params:scim:api:messages:2.0:Error'], '403'],
  )
  assert.equal((await ask('GET', '/Users', undefined, 'tp_x')).status, 401)
  const foreign = await app.key(await app.account('Other'))
  const { id } = await provision()
  for (const method of ['GET', 'DELETE'] as const) {
    assert.equal((await ask(method, `/Users/${id}`, undefined, foreign)).status, 404)
  }
  assert.equal((await ask('GET', '/Users', undefined, foreign)).body.totalResults, 0)
})

test('unknown paths and methods below /scim/v2 have errors of that form, others those of the API', async () => {
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error']
  for (const [method, path, status, allow] of [
    ['GET', '/Nothing', 404, undefined],
    ['GET', '', 404, undefined],
    ['POST', '/Groups/grp_x/more', 404, undefined],
    ['PUT', '/Users', 405, 'GET, HEAD, POST'],
    ['DELETE', '/ServiceProviderConfig', 405, 'GET, HEAD'],
  ] as const) {
    const answer = await app.ask(method as 'GET', `/scim/v2${path}`, { token: scim })
    const { detail, ...body } = answer.json()
    assert.deepEqual([answer.statusCode, body], [status, { schemas, status: String(status) }], `${method} ${path}`)
    assert.match(detail, status === 404 ? /^Unknown path: / : / is not allowed on /)
    assert.equal(answer.headers['allow'], allow)
    assert.match(String(answer.headers['content-type']), /^application\/scim\+json/)
  }
  assert.equal((await app.ask('GET', '/scim/v3/Users', { token: scim })).json().error.code, 'not_found')
})

test('Okta: looks a user up, creates, reads, replaces, deactivates and reactivates it', async () => {
  const userName = 'okta.user@example.com'
  const filter = encodeURIComponent(`userName eq "${userName}"`)
  const none = await ask('GET', `/Users?filter=${filter}&startIndex=1&count=100`)
  assert.deepEqual([none.status, none.body.totalResults, none.body.Resources], [200, 0, []])
  const created = await ask('POST', '/Users', {
    schemas: [USER],
    userName,
    name: { givenName: 'Test', familyName: 'User' },
    emails: [{ primary: true, value: userName, type: 'work' }],
    displayName: 'Test User',
    locale: 'en-US',
    externalId: '00ujl29u0le5T6Aj10h7',
    groups: [],
    password: '1mz050nq',
    active: true,
  })
  assert.equal(created.status, 201)
  assert.ok(String(created.headers['location']).endsWith(`/scim/v2/Users/${created.body.id}`))
  assert.equal(created.body.password, undefined)
  const { id } = created.body
  assert.equal(await roleOf(id), 'developer')
  const twice = await ask('POST', '/Users', { schemas: [USER], userName: userName.toUpperCase() })
  assert.deepEqual([twice.status, twice.body.scimType], [409, 'uniqueness'])
  assert.equal((await ask('GET', `/Users?filter=${filter}`)).body.Resources[0].id, id)
  const { meta: _, groups: __, ...read } = (await ask('GET', `/Users/${id}`)).body
  const put = await ask('PUT', `/Users/${id}`, { ...read, name: { givenName: 'Another', familyName: 'User' } })
  assert.deepEqual([put.status, put.body.name.givenName, put.body.externalId], [200, 'Another', '00ujl29u0le5T6Aj10h7'])
  const content = await storeContent(app.database, { accountId, userId: id })
  const off = await ask('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: false } }))
  assert.deepEqual([off.status, off.body.active, await roleOf(id)], [200, false, undefined])
  assert.deepEqual(await storedContents(app.database), [content], 'who is deactivated may come back')
  const on = await ask('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: true } }))
  assert.deepEqual([on.body.active, await roleOf(id)], [true, 'developer'])
  assert.equal((await ask('DELETE', `/Users/${id}`)).status, 204)
  assert.deepEqual([(await ask('GET', `/Users/${id}`)).status, await roleOf(id)], [404, undefined])
  assert.deepEqual(await storedContents(app.database), [])
  const erased = app.database.db.selectFrom('audit').select('details').where('action', '=', 'content.deleted')
  assert.equal(JSON.parse((await erased.executeTakeFirstOrThrow()).details).user_id, id)
})

test('Entra: matches by externalId, patches in its own form, and excludes members of groups', async () => {
  const externalId = 'c0ffee00-1111'
  const user = await provision({ externalId, name: { formatted: 'Ada', familyName: 'L', givenName: 'A' } })
  const filter = encodeURIComponent(`externalId eq "${externalId}"`)
  assert.equal((await ask('GET', `/Users?filter=${filter}`)).body.Resources[0].id, user.id)
  const changed = await ask(
    'PATCH',
    `/Users/${user.id}`,
    patchOf(
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updated@example.com' },
      { op: 'Add', value: { 'name.familyName': 'Lovelace' } },
      { op: 'Replace', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department', value: 'R&D' },
    ),
  )
  assert.equal(changed.body.emails[0].value, 'updated@example.com')
  assert.equal(changed.body.name.familyName, 'Lovelace')
  assert.ok(changed.body.schemas.some((each: string) => each.includes('enterprise')))
  const off = await ask('PATCH', `/Users/${user.id}`, patchOf({ op: 'Replace', path: 'active', value: 'False' }))
  assert.equal(off.body.active, false)
  await ask('PATCH', `/Users/${user.id}`, patchOf({ op: 'Replace', path: 'active', value: 'True' }))
  const group = await ask('POST', '/Groups', { schemas: [GROUP], externalId: 'g-1', displayName: 'Entra group' })
  assert.deepEqual([group.status, group.body.members], [201, []])
  const { id } = group.body
  const added = patchOf({ op: 'Add', path: 'members', value: [{ $ref: null, value: user.id }] })
  assert.equal((await ask('PATCH', `/Groups/${id}`, added)).body.members[0].value, user.id)
  const named = encodeURIComponent('displayName eq "Entra group"')
  const found = await ask('GET', `/Groups?excludedAttributes=members&filter=${named}`)
  assert.deepEqual([found.body.totalResults, found.body.Resources[0].members], [1, undefined])
  const isIn = encodeURIComponent(`id eq "${id}" and members eq "${user.id}"`)
  assert.equal((await ask('GET', `/Groups?filter=${isIn}`)).body.totalResults, 1)
  assert.deepEqual((await ask('GET', `/Users/${user.id}`)).body.groups, [{ value: id, display: 'Entra group' }])
  const removed = patchOf({ op: 'Remove', path: 'members', value: [{ value: user.id }] })
  assert.deepEqual((await ask('PATCH', `/Groups/${id}`, removed)).body.members, [])
  assert.equal((await ask('GET', `/Groups?filter=${isIn}`)).body.totalResults, 0)
  assert.equal((await ask('DELETE', `/Groups/${id}`)).status, 204)
})

test('Okta: pushes a group, renames it, and replaces its members', async () => {
  const [one, two] = [await provision(), await provision()]
  const { body } = await ask('POST', '/Groups', {
    schemas: [GROUP],
    displayName: 'Pushed',
    members: [{ value: one.id, display: one.userName }],
  })
  const renamed = patchOf({ op: 'replace', value: { id: body.id, displayName: 'Pushed again' } })
  assert.equal((await ask('PATCH', `/Groups/${body.id}`, renamed)).body.displayName, 'Pushed again')
  const replaced = patchOf({ op: 'replace', path: 'members', value: [{ value: two.id }] })
  const { members } = (await ask('PATCH', `/Groups/${body.id}`, replaced)).body
  assert.deepEqual(
    members.map((each: { value: string }) => each.value),
    [two.id],
  )
  const unknown = patchOf({ op: 'add', path: 'members', value: [{ value: 'usr_nobody' }] })
  assert.deepEqual([(await ask('PATCH', `/Groups/${body.id}`, unknown)).status], [400])
  const twice = await ask('POST', '/Groups', { schemas: [GROUP], displayName: 'PUSHED AGAIN' })
  assert.deepEqual([twice.status, twice.body.scimType], [409, 'uniqueness'])
})

test('pages by startIndex and count, and rejects other filters [limit: scim-page]', async () => {
  for (let at = 0; at < 3; at++) await provision()
  const { totalResults } = (await ask('GET', '/Users?count=0')).body
  const ids = new Set<string>()
  for (let start = 1; start <= totalResults; start += 2) {
    const { body } = await ask('GET', `/Users?startIndex=${start}&count=2`)
    assert.equal(body.startIndex, start)
    for (const each of body.Resources) ids.add(each.id)
  }
  assert.equal(ids.size, totalResults)
  await app.database.db.transaction().execute(async (inside) => {
    for (let at = 0; at <= MAX_RESULTS; at++) {
      const group = { id: testIds.group(), displayName: `g${at}`, externalId: undefined, members: [] }
      await putGroup(inside, { accountId, ...group }, Date.now())
    }
  })
  assert.equal((await ask('GET', '/Groups?count=1000')).body.itemsPerPage, MAX_RESULTS)
  const wrong = await ask('GET', `/Users?filter=${encodeURIComponent('title pr')}`)
  assert.deepEqual([wrong.status, wrong.body.scimType], [400, 'invalidFilter'])
  const broken = await app.ask('POST', '/scim/v2/Users', {
    token: scim,
    body: '{',
    headers: { 'content-type': 'application/scim+json' },
  })
  assert.deepEqual([broken.statusCode, broken.json().scimType], [400, 'invalidSyntax'])
})

test('sessions, tokens and keys of a deactivated user stop immediately, and within a second in other processes', async () => {
  const stoppedMs = await bestOf(deactivate, STOPPED_WITHIN_MS)
  assert.ok(stoppedMs <= STOPPED_WITHIN_MS, `stopped after ${stoppedMs} ms`)
})

/** Milliseconds until the other process has stopped what a user has. */
async function deactivate(): Promise<number> {
  const { id: userId, userName: email } = await provision()
  const browser = await app.browser({ userId, accountId, email })
  const session = await app.token(browser)
  const device = await connect(app, browser)
  const key = (await app.ask('POST', '/v1/keys', { token: session, body: { name: 'mine' } })).json().key
  const codes = async (at = app) => {
    const answers = [session, device, key].map((token) => at.ask('GET', '/v1/models', { token }))
    return (await Promise.all(answers)).map(({ statusCode }) => statusCode)
  }
  assert.deepEqual([await codes(), await codes(other)], [Array(3).fill(200), Array(3).fill(200)])
  await ask('PATCH', `/Users/${userId}`, patchOf({ op: 'replace', path: 'active', value: false }))
  const deactivatedAt = performance.now()
  assert.deepEqual(await codes(), [401, 401, 401])
  await eventually(
    () => codes(other),
    (found) => found.every((code) => code === 401),
  )
  const stoppedMs = performance.now() - deactivatedAt
  await ask('PATCH', `/Users/${userId}`, patchOf({ op: 'replace', path: 'active', value: true }))
  assert.deepEqual(await codes(), [401, 401, 401])
  const again = await app.browser({ userId, accountId, email })
  assert.equal((await app.ask('GET', '/v1/models', { token: await app.token(again) })).statusCode, 200)
  return stoppedMs
}

test('the last owner cannot be deactivated', async () => {
  const alone = await app.account('Alone')
  const owner = await app.person(alone, 'owner', 'only.owner@example.com')
  const key = await app.key(alone)
  const { body } = await ask('POST', '/Users', { schemas: [USER], userName: owner.email }, key)
  assert.equal(body.id, owner.userId, 'a member with the address is taken over')
  const off = patchOf({ op: 'replace', path: 'active', value: false })
  const refused = await ask('PATCH', `/Users/${body.id}`, off, key)
  assert.deepEqual([refused.status, refused.body.scimType], [409, 'mutability'])
})

test('groups grant and withdraw roles in teams and in the account', async () => {
  const team = (await app.ask('POST', '/v1/teams', { token: full, body: { name: 'Search' } })).json().id
  const mappings = [
    { group: 'search-admins', team_id: team, role: 'admin' },
    { group: 'Search', team_id: team, role: 'member' },
    { group: 'finance', team_id: null, role: 'billing' },
  ]
  const put = (body: object, token = full) => app.ask('PUT' as 'POST', '/v1/group-mappings', { token, body })
  assert.equal((await put({ mappings })).statusCode, 200)
  const [user, byHand] = [await provision(), await provision()]
  await app.ask('POST', `/v1/teams/${team}/members`, { token: full, body: { user_id: byHand.id, role: 'viewer' } })
  const make = async (displayName: string, ...ids: string[]): Promise<string> => {
    const members = ids.map((value) => ({ value }))
    return (await ask('POST', '/Groups', { schemas: [GROUP], displayName, members })).body.id
  }
  const [members, admins] = [await make('search', user.id, byHand.id), await make('Search-Admins', user.id)]
  const finance = await make('Finance', user.id)
  const inTeam = async (): Promise<Record<string, [string, boolean]>> => {
    const { data } = (await app.ask('GET', `/v1/teams/${team}/members`, { token: full })).json()
    return Object.fromEntries(
      data.map((each: { id: string; role: string; by_group: boolean }) => [each.id, [each.role, each.by_group]]),
    )
  }
  assert.deepEqual(await inTeam(), { [user.id]: ['admin', true], [byHand.id]: ['viewer', false] })
  assert.equal(await roleOf(user.id), 'billing')
  await ask('DELETE', `/Groups/${admins}`)
  assert.deepEqual((await inTeam())[user.id], ['member', true])
  await ask('PATCH', `/Groups/${members}`, patchOf({ op: 'remove', path: `members[value eq "${user.id}"]` }))
  assert.deepEqual(await inTeam(), { [byHand.id]: ['viewer', false] })
  await ask('DELETE', `/Groups/${finance}`)
  assert.equal((await put({ mappings: [{ group: 'x', team_id: 'team_x', role: 'member' }] })).statusCode, 404)
  assert.equal((await put({ mappings: [{ group: 'x', role: 'viewer' }] })).statusCode, 400)
  assert.equal((await put({ mappings: [{ group: 'x', role: 'owner' }] })).statusCode, 400)
  assert.equal((await put({ mappings: [] }, scim)).statusCode, 403)
})
