import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { join, openApp, type Person } from '../../../test/support/browser/signed-in.ts'
import { testIds } from '../../../test/support/database.ts'
import { storeContent, storedContents } from '../../../test/support/ledger/completions.ts'
import { ROLES, type Role, SCOPES } from '../../domain/identity/caller.ts'
import type { AccountId } from '../../domain/ids.ts'
import { createKey, FULL_ACCESS } from '../keys/queries.ts'

/** Said again, so that the code's own table is not measured by itself. */
const GIVES: Readonly<Record<Role, readonly Role[]>> = {
  owner: ROLES,
  admin: ['admin', 'developer', 'billing'],
  developer: [],
  billing: [],
}
const mayGive = (giver: Role, role: Role) => GIVES[giver].includes(role)

async function setUp(t: TestContext) {
  const app = await openApp(t)
  const accountId = await app.account('Acme')
  let count = 0
  const signedIn = async (role: Role, account: AccountId = accountId) => {
    const person = await app.person(account, role, `${role}${++count}@example.com`)
    return { ...person, token: await app.token(await app.browser(person)) }
  }
  const rolesNow = async () => {
    const rows = await app.database.db
      .selectFrom('member')
      .select(['user_id', 'role'])
      .where('account_id', '=', accountId)
      .where('removed_at', 'is', null)
      .execute()
    return new Map(rows.map(({ user_id: id, role }) => [id as string, role]))
  }
  const patch = (token: string, id: string, role: string) =>
    app.ask('PATCH', `/v1/members/${id}`, { token, body: { role } })
  const remove = (token: string, id: string) => app.ask('DELETE', `/v1/members/${id}`, { token })
  const invite = (token: string, body: object) => app.ask('POST', '/v1/invitations', { token, body })
  const audited = async (account = accountId) => {
    const rows = await app.database.db
      .selectFrom('audit')
      .selectAll()
      .where('account_id', '=', account)
      .orderBy('id')
      .execute()
    return rows.filter(({ action }) => /^(member|invitation)\./.test(action))
  }
  return { ...app, accountId, signedIn, rolesNow, patch, remove, invite, audited }
}

const statusOf = ({ statusCode }: { readonly statusCode: number }) => statusCode

test('every member lists the members of the account, in pages by the time of joining, and none of another account', async (t) => {
  const { ask, signedIn, account, accountId } = await setUp(t)
  const people = [
    await signedIn('owner'),
    await signedIn('admin'),
    await signedIn('billing'),
    await signedIn('developer'),
  ]
  await signedIn('owner', await account('Other'))
  const [, , billing] = people
  const whole = await ask('GET', '/v1/members?order=asc', { token: billing?.token ?? '' })
  assert.equal(whole.statusCode, 200)
  assert.deepEqual(
    whole.json().data.map(({ id, role }: { id: string; role: string }) => [id, role]),
    people.map(({ userId, email }) => [userId, email.replace(/\d.*/, '')]),
  )
  const { created_at: joined, ...shown } = whole.json().data[0]
  assert.match(joined, /Z$/)
  const email = people[0]?.email
  const ada = { id: people[0]?.userId, object: 'member', email, name: 'Ada', role: 'owner', budgets: [] }
  assert.deepEqual(shown, ada)
  for (const order of ['asc', 'desc']) {
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const page = (
        await ask('GET', `/v1/members?limit=1&order=${order}${cursor}`, { token: billing?.token ?? '' })
      ).json()
      seen.push(...page.data.map(({ id }: { id: string }) => id))
      if (!page.has_more) break
      cursor = `&cursor=${page.next_cursor}`
    }
    const ids = people.map(({ userId }) => userId as string)
    assert.deepEqual(seen, order === 'asc' ? ids : ids.reverse())
  }
  assert.ok(accountId)
})

test('members who joined in the same millisecond are each listed once', async (t) => {
  const { ask, signedIn, database } = await setUp(t)
  const people = [await signedIn('owner'), await signedIn('admin'), await signedIn('billing')]
  await database.db.updateTable('member').set({ created_at: 5 }).execute()
  const token = people[0]?.token ?? ''
  const first = (await ask('GET', '/v1/members?limit=2', { token })).json()
  const second = (await ask('GET', `/v1/members?limit=2&cursor=${first.next_cursor}`, { token })).json()
  const ids = [...first.data, ...second.data].map(({ id }) => id)
  assert.deepEqual(
    ids,
    people
      .map(({ userId }) => userId as string)
      .sort()
      .reverse(),
  )
})

test('KEY-3: nobody grants, changes or removes a role beyond their own', async (t) => {
  const { signedIn, rolesNow, patch, remove, database, accountId } = await setUp(t)
  await signedIn('owner') // so that no other is the last one
  for (const actorRole of ROLES) {
    const actor = await signedIn(actorRole)
    for (const targetRole of ROLES) {
      const target = await signedIn(targetRole)
      for (const role of ROLES) {
        const answer = await patch(actor.token, target.userId, role)
        const isAllowed = mayGive(actorRole, targetRole) && mayGive(actorRole, role)
        assert.equal(answer.statusCode, isAllowed ? 200 : 403, `${actorRole} makes ${targetRole} ${role}`)
        assert.equal((await rolesNow()).get(target.userId), isAllowed ? role : targetRole)
        await database.db
          .updateTable('member')
          .set({ role: targetRole })
          .where('account_id', '=', accountId)
          .where('user_id', '=', target.userId)
          .execute()
      }
      const removed = await remove(actor.token, target.userId)
      assert.equal(removed.statusCode, mayGive(actorRole, targetRole) ? 204 : 403, `${actorRole} removes ${targetRole}`)
    }
  }
})

test('nobody raises their own role, but everybody can lower it or leave', async (t) => {
  const { signedIn, rolesNow, patch, remove } = await setUp(t)
  await signedIn('owner')
  const [admin, developer, billing] = [await signedIn('admin'), await signedIn('developer'), await signedIn('billing')]
  assert.equal(statusOf(await patch(admin.token, admin.userId, 'owner')), 403)
  for (const { token, userId } of [developer, billing]) {
    for (const role of ROLES) assert.equal(statusOf(await patch(token, userId, role)), 403)
  }
  assert.equal(statusOf(await patch(admin.token, admin.userId, 'billing')), 200)
  assert.equal(statusOf(await patch(admin.token, admin.userId, 'admin')), 403)
  for (const { token, userId } of [admin, developer, billing]) {
    assert.equal(statusOf(await remove(token, userId)), 204)
    assert.equal(statusOf(await remove(token, userId)), 401)
  }
  assert.equal((await rolesNow()).size, 1)
})

test('the last owner can neither leave nor lose the role, even by the operator', async (t) => {
  const { signedIn, patch, remove, rolesNow, database, accountId } = await setUp(t)
  const [owner, admin] = [await signedIn('owner'), await signedIn('admin')]
  const born = { now: Date.now, ids: testIds }
  const rights = { ...FULL_ACCESS, scopes: SCOPES }
  const { secret: operator } = await createKey(database.db, { accountId, name: 'operator', ...rights }, born)
  for (const token of [owner.token, operator]) {
    for (const answer of [await patch(token, owner.userId, 'admin'), await remove(token, owner.userId)]) {
      assert.deepEqual([answer.statusCode, answer.json().error.code], [409, 'conflict'])
    }
  }
  assert.equal(statusOf(await patch(owner.token, admin.userId, 'owner')), 200)
  assert.equal(statusOf(await remove(owner.token, owner.userId)), 204)
  assert.deepEqual([...(await rolesNow()).values()], ['owner'])
})

test('of owners who leave concurrently, one remains', async (t) => {
  const { signedIn, patch, remove, rolesNow } = await setUp(t)
  const owners = await Promise.all([1, 2, 3, 4, 5, 6].map(() => signedIn('owner')))
  const [first = owners[0], ...others] = owners
  const answers = await Promise.all([
    ...owners.map(({ token, userId }, index) =>
      index % 2 === 0 ? remove(token, userId) : patch(token, userId, 'billing'),
    ),
    ...others.map(({ userId }) => remove(first?.token ?? '', userId)),
  ])
  const statuses = new Set(answers.map(statusOf))
  assert.ok(
    [...statuses].every((status) => [200, 204, 401, 403, 404, 409].includes(status)),
    [...statuses].join(),
  )
  assert.equal([...(await rolesNow()).values()].filter((role) => role === 'owner').length, 1)
})

test('of two owners who remove each other concurrently, one remains', async (t) => {
  const { signedIn, remove, rolesNow } = await setUp(t)
  const [one, two] = [await signedIn('owner'), await signedIn('owner')]
  const answers = await Promise.all([remove(one.token, two.userId), remove(two.token, one.userId)])
  assert.equal(answers.filter(({ statusCode }) => statusCode === 204).length, 1)
  assert.equal((await rolesNow()).size, 1)
})

test('removing a member ends their sessions and devices at once, and rejoining does not restore them', async (t) => {
  const { signedIn, remove, ask, database, accountId, account } = await setUp(t)
  const [owner, guest] = [await signedIn('owner'), await signedIn('developer')]
  const elsewhere = { ...guest, accountId: await account('Elsewhere') }
  await join(database.db, elsewhere, 'billing')
  const device = { user_id: guest.userId, client_id: 'turnpike-cli', scopes: '["chat"]', created_at: 1, changed_at: 1 }
  for (const place of [accountId, elsewhere.accountId]) {
    await database.db
      .insertInto('device')
      .values({ account_id: place, id: testIds.device(), ...device })
      .execute()
  }
  assert.equal(statusOf(await ask('GET', '/v1/models', { token: guest.token })), 200)
  assert.equal(statusOf(await remove(owner.token, guest.userId)), 204)
  assert.equal(statusOf(await ask('GET', '/v1/models', { token: guest.token })), 401)
  await database.db.updateTable('member').set({ removed_at: null }).where('user_id', '=', guest.userId).execute()
  assert.equal(statusOf(await ask('GET', '/v1/models', { token: guest.token })), 401)
  const devices = await database.db.selectFrom('device').select(['account_id', 'revoked_at']).execute()
  for (const { account_id: place, revoked_at: revokedAt } of devices) {
    assert.equal(revokedAt !== null, place === accountId)
  }
})

test('a member is removed with what was captured of their requests and their keys’, by who may read it', async (t) => {
  const { signedIn, ask, accountId, database, rolesNow } = await setUp(t)
  const [owner, guest] = [await signedIn('owner'), await signedIn('developer')]
  const made = await ask('POST', '/v1/keys', { token: guest.token, body: { name: 'mine' } })
  const child = await ask('POST', '/v1/keys', { token: made.json().key, body: { name: 'and of mine' } })
  assert.deepEqual([made.statusCode, child.statusCode], [201, 201])
  const userId = guest.userId
  await storeContent(database, { accountId, userId })
  for (const { id } of [made.json(), child.json()]) await storeContent(database, { accountId, keyId: id })
  const kept = await storeContent(database, { accountId, userId: owner.userId })
  const all = await storedContents(database)
  const path = `/v1/members/${userId}`
  assert.equal(statusOf(await ask('DELETE', `${path}?erase_content=true`, { token: guest.token })), 403)
  assert.deepEqual([(await rolesNow()).size, await storedContents(database)], [2, all], 'all or nothing')
  assert.equal(statusOf(await ask('DELETE', `${path}?erase_content=yes`, { token: owner.token })), 400)
  assert.equal(statusOf(await ask('DELETE', `${path}?erase_content=true`, { token: owner.token })), 204)
  assert.deepEqual(await storedContents(database), [kept])
  const rows = await database.db.selectFrom('audit').select(['action', 'details', 'request_id']).orderBy('id').execute()
  const [removed, deleted] = rows.slice(-2)
  assert.deepEqual([removed?.action, deleted?.action], ['member.removed', 'content.deleted'])
  assert.deepEqual(JSON.parse(deleted?.details ?? ''), { key_id: null, user_id: userId, completions: 3 })
  assert.equal(deleted?.request_id, removed?.request_id)
})

test('KEY-3: a key has at most its creator’s rights: fewer after a lower role, none after they leave', async (t) => {
  const { ask, signedIn, patch, remove, accountId, database } = await setUp(t)
  const owner = await signedIn('owner')
  const admin = await signedIn('admin')
  const made = await ask('POST', '/v1/keys', { token: admin.token, body: { name: 'mine' } })
  assert.equal(made.statusCode, 201, made.body)
  const { key } = made.json<{ readonly key: string }>()
  const child = await ask('POST', '/v1/keys', { token: key, body: { name: 'and of mine' } })
  const { key: grandchild } = child.json<{ readonly key: string }>()
  const { secret: terminal } = await createKey(
    database.db,
    { ...FULL_ACCESS, accountId, name: 'of nobody' },
    { now: Date.now, ids: testIds },
  )
  const mayRead = async (token: string) => [
    statusOf(await ask('GET', '/v1/ledger', { token })),
    statusOf(await ask('GET', '/v1/audit', { token })),
    statusOf(await ask('GET', '/v1/usage', { token })),
  ]
  for (const token of [key, grandchild]) assert.deepEqual(await mayRead(token), [200, 200, 200])
  await patch(owner.token, admin.userId, 'developer')
  for (const token of [key, grandchild]) assert.deepEqual(await mayRead(token), [403, 403, 200])
  assert.equal(statusOf(await ask('POST', '/v1/invitations', { token: key, body: { role: 'admin' } })), 403)
  await remove(owner.token, admin.userId)
  for (const token of [key, grandchild]) assert.deepEqual(await mayRead(token), [401, 401, 401])
  assert.deepEqual(await mayRead(terminal), [200, 200, 200])
  const { data } = (await ask('GET', '/v1/keys', { token: terminal })).json<{
    readonly data: readonly { readonly name: string; readonly revoked_at: string | null }[]
  }>()
  assert.deepEqual(
    data
      .filter(({ revoked_at: at }) => at !== null)
      .map(({ name }) => name)
      .sort(),
    ['and of mine', 'mine'],
  )
})

test('the link of an invitation is returned once; the list and the audit log have the rest', async (t) => {
  const { signedIn, invite, ask, audited, database } = await setUp(t)
  const admin = await signedIn('admin')
  const made = await invite(admin.token, { role: 'developer', email: 'new@example.com' })
  assert.equal(made.statusCode, 201)
  const { url, id, created_at: created, expires_at: expires, ...rest } = made.json()
  assert.match(url, /^http.*\/invitation#token=tpi_[0-9A-Za-z]{46}$/)
  assert.match(id, /^ivt_/)
  assert.equal(Date.parse(expires) - Date.parse(created), 7 * 86_400_000)
  const open = { used_at: null, used_by: null, revoked_at: null }
  const email = 'new@example.com'
  assert.deepEqual(rest, {
    object: 'invitation',
    role: 'developer',
    email,
    created_by: admin.userId,
    key_id: null,
    ...open,
  })
  const list = await ask('GET', '/v1/invitations', { token: admin.token })
  assert.deepEqual(list.json().data, [{ id, created_at: created, expires_at: expires, ...rest }])
  assert.equal(statusOf(await ask('DELETE', `/v1/invitations/${id}`, { token: admin.token })), 204)
  assert.equal(statusOf(await ask('DELETE', `/v1/invitations/${id}`, { token: admin.token })), 404)
  const events = await audited()
  assert.deepEqual(events.map(({ action, subject, actor_id: actor }) => [action, subject, actor]).sort(), [
    ['invitation.created', id, admin.userId],
    ['invitation.revoked', id, admin.userId],
  ])
  const token = url.split('=')[1]
  const everything = JSON.stringify([events, await database.db.selectFrom('invitation').selectAll().execute()])
  assert.ok(!everything.includes(token) && !list.body.includes(token))
})

test('an account has at most 1 000 open invitations [limit: invitations]', async (t) => {
  const { signedIn, invite, accountId, database, ask } = await setUp(t)
  const { token } = await signedIn('owner')
  const now = Date.now()
  await sql`insert into invitation (account_id, id, role, created_at, expires_at)
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 999)
    select ${sql.lit(accountId)}, 'inv_' || n, 'billing', ${sql.lit(now)}, ${sql.lit(now + 3_600_000)} from numbers`.execute(
    database.db,
  )
  assert.equal((await invite(token, { role: 'billing' })).statusCode, 201)
  const refused = await invite(token, { role: 'billing' })
  assert.deepEqual([refused.statusCode, refused.json().error.code], [409, 'conflict'])
  assert.equal((await ask('DELETE', '/v1/invitations/inv_1', { token })).statusCode, 204)
  assert.equal((await invite(token, { role: 'billing' })).statusCode, 201)
})

test('the address of an invitation has at most 320 characters [limit: invitation-email]', async (t) => {
  const { signedIn, invite } = await setUp(t)
  const { token } = await signedIn('owner')
  const email = `${'x'.repeat(308)}@example.com`
  assert.equal((await invite(token, { role: 'billing', email })).statusCode, 201)
  const refused = await invite(token, { role: 'billing', email: `x${email}` })
  assert.deepEqual([refused.statusCode, refused.json().error.code], [400, 'out_of_range'])
})

test('only owners invite owners; a key invites as an admin, an operator’s key as an owner', async (t) => {
  const { signedIn, invite, key, accountId, database } = await setUp(t)
  for (const actor of ROLES) {
    const { token } = await signedIn(actor)
    for (const role of ROLES) {
      assert.equal(
        statusOf(await invite(token, { role })),
        mayGive(actor, role) ? 201 : 403,
        `${actor} invites ${role}`,
      )
    }
  }
  const full = await key(accountId)
  const born = { now: Date.now, ids: testIds }
  const rights = { ...FULL_ACCESS, scopes: SCOPES }
  const { secret: operator } = await createKey(database.db, { accountId, name: 'operator', ...rights }, born)
  for (const role of ROLES) {
    assert.equal(statusOf(await invite(full, { role })), role === 'owner' ? 403 : 201)
    assert.equal(statusOf(await invite(operator, { role })), 201)
  }
  for (const body of [{}, { role: 'king' }, { role: 'admin', email: 'x' }, { role: 'admin', account_id: 'acc_x' }]) {
    assert.equal(statusOf(await invite(full, body)), 400, JSON.stringify(body))
  }
})

test('SUP-3: the audit log has changes of members and rejected requests', async (t) => {
  const { signedIn, patch, remove, audited } = await setUp(t)
  const [owner, admin, guest] = [await signedIn('owner'), await signedIn('admin'), await signedIn('developer')]
  const known = new Set<string>()
  const told = async (person: Person, action: string, result: string, details: object) => {
    const [event, ...more] = (await audited()).filter(({ id }) => !known.has(id))
    assert.deepEqual(more, [])
    known.add(event?.id ?? '')
    assert.deepEqual([event?.actor_id, event?.action, event?.result], [person.userId, action, result])
    assert.deepEqual(JSON.parse(event?.details ?? ''), details)
    assert.equal(event?.address, '127.0.0.1')
    assert.match(event?.request_id ?? '', /^req_/)
  }
  await patch(owner.token, guest.userId, 'billing')
  await told(owner, 'member.role_changed', 'done', { email: guest.email, from: 'developer', role: 'billing' })
  await patch(admin.token, owner.userId, 'billing')
  await told(admin, 'member.role_changed', 'denied', { role: 'billing' })
  await remove(admin.token, owner.userId)
  await told(admin, 'member.removed', 'denied', {})
  await remove(guest.token, guest.userId)
  await told(guest, 'member.left', 'done', { email: guest.email, role: 'billing' })
  await remove(owner.token, admin.userId)
  await told(owner, 'member.removed', 'done', { email: admin.email, role: 'admin' })
  const count = (await audited()).length
  await patch(owner.token, owner.userId, 'owner')
  await patch(owner.token, 'usr_nobody', 'owner')
  assert.equal((await audited()).length, count)
})
