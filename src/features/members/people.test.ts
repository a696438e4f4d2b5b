import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type RawBuilder, sql } from 'kysely'
import { temporaryDatabase, testIds } from '../../../test/support/database.ts'
import { type Right, type Role, rightsOfRole } from '../../domain/identity/caller.ts'
import type { Arrival, VouchedIdentity } from '../../domain/identity/sign-in.ts'
import type { AccountId, KeyId, UserId } from '../../domain/ids.ts'
import { ensureFirstAccount } from '../accounts/bootstrap.ts'
import { createAccount } from '../accounts/queries.ts'
import { auditWriter } from '../audit/log.ts'
import { insertTeam, putTeamMember, removeTeamMember } from '../teams/queries.ts'
import { createInvitation, deleteOldInvitations, INVITATION_LIFE_MS, revokeInvitation } from './invitations.ts'
import { createPeople } from './people.ts'
import { removeMember, setRole } from './queries.ts'

const FROM = { address: '203.0.113.7', userAgent: 'Browser', requestId: 'req_1' }

function whoIs(subject: string, over: Partial<VouchedIdentity> = {}): VouchedIdentity {
  const email = `${subject}@example.com`
  return { issuer: 'https://idp.example', subject, email, emailVerified: true, name: subject, ...over }
}

const TRUSTED = 'https://login.of.first.example'
const KEY = 'key_test' as KeyId
const EVERYTHING = rightsOfRole('owner', { operator: true })

async function setUp(t: TestContext) {
  const keys = new Map<KeyId, ReadonlySet<Right> | undefined>([[KEY, EVERYTHING]])
  const clock = { now: Date.UTC(2026, 0, 1) }
  const now = () => clock.now++
  const { db } = await temporaryDatabase(t)
  const born = { now, ids: testIds }
  const first = await ensureFirstAccount(db, 'free', born)
  const other = await createAccount(db, { name: 'Other', plan: 'free' }, born)
  const people = createPeople({
    db,
    now,
    ids: testIds,
    writeAudit: auditWriter(born),
    rightsOfKey: async (_db, { keyId }) => keys.get(keyId),
    provisionedAccounts: (issuer) => (issuer === TRUSTED ? new Set([first]) : undefined),
    teams: { put: putTeamMember, remove: removeTeamMember },
  })
  return {
    db,
    clock,
    people,
    first,
    other: other.id,
    arrive: (identity: VouchedIdentity, invitation?: string) => people.arrive(identity, { ...FROM, invitation }),
    keys,
    /** Without a person, an unlimited key invites. */
    async invite(
      accountId: AccountId,
      role: Role,
      createdBy?: UserId,
      keyId = createdBy === undefined ? KEY : undefined,
    ) {
      const created = await db.transaction().execute((inside) => {
        return createInvitation(inside, { accountId, role, email: undefined, createdBy, keyId }, born)
      })
      return { ...created.invitation, accountId, token: created.token }
    },
    async roleIn(accountId: AccountId, userId: UserId) {
      const accounts = await people.accountsOf(userId)
      return accounts.find(({ id }) => id === accountId)?.role
    },
  }
}

function memberIn(arrival: Arrival): { readonly userId: UserId; readonly accountId: AccountId } {
  assert.equal(arrival.kind, 'member')
  if (arrival.kind !== 'member') throw new Error('not let in')
  return arrival
}

test('the first verified identity becomes the owner of the first account; the next one is rejected, and nothing of it is stored', async (t) => {
  const { arrive, first, db, roleIn } = await setUp(t)
  const ada = memberIn(await arrive(whoIs('ada')))
  assert.equal(ada.accountId, first)
  assert.equal(await roleIn(first, ada.userId), 'owner')
  assert.deepEqual(await arrive(whoIs('bob')), { kind: 'no account', email: 'bob@example.com' })
  assert.deepEqual(await arrive(whoIs('ada')), { kind: 'member', userId: ada.userId, accountId: first })
  assert.equal((await db.selectFrom('person').selectAll().execute()).length, 1)
  const [event] = await db.selectFrom('audit').selectAll().execute()
  assert.deepEqual(
    [event?.account_id, event?.action, event?.subject, event?.actor_name, event?.address, event?.request_id],
    [first, 'member.joined', ada.userId, 'ada@example.com', FROM.address, FROM.requestId],
  )
  assert.deepEqual(JSON.parse(event?.details ?? ''), { role: 'owner', by: 'first sign-in' })
})

test('of concurrent first sign-ins exactly one becomes the owner', async (t) => {
  const { arrive, db } = await setUp(t)
  const arrivals = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((index) => arrive(whoIs(`u${index % 4}`))))
  const inside = arrivals.filter(({ kind }) => kind === 'member').map((arrival) => memberIn(arrival).userId)
  assert.equal(new Set(inside).size, 1)
  assert.equal((await db.selectFrom('member').selectAll().execute()).length, 1)
  assert.equal((await db.selectFrom('identity').selectAll().execute()).length, 1)
})

test('OIDC-2: the same e-mail address with another issuer or subject is another person', async (t) => {
  const { arrive, db } = await setUp(t)
  memberIn(await arrive(whoIs('ada')))
  const others = [
    whoIs('ada', { issuer: 'https://evil.example' }),
    whoIs('ada2', { email: 'ada@example.com' }),
    whoIs('ADA', { email: 'ada@example.com' }),
  ]
  for (const other of others) assert.equal((await arrive(other)).kind, 'no account')
  assert.equal((await db.selectFrom('person').selectAll().execute()).length, 1)
})

test('a sign-in updates the name of the person, without control characters', async (t) => {
  const { arrive, db } = await setUp(t)
  const { userId } = memberIn(await arrive(whoIs('ada')))
  await arrive(whoIs('ada', { email: 'countess@example.com', name: 'A\u001b[31mda\u202e' }))
  const person = await db.selectFrom('person').selectAll().executeTakeFirstOrThrow()
  assert.deepEqual([person.id, person.email, person.name], [userId, 'countess@example.com', 'A[31mda'])
})

test('a disabled person cannot sign in, even with an invitation', async (t) => {
  const { arrive, invite, other, db } = await setUp(t)
  const { userId } = memberIn(await arrive(whoIs('ada')))
  await db.updateTable('person').set({ disabled_at: 1 }).where('id', '=', userId).execute()
  const { token } = await invite(other, 'admin')
  assert.deepEqual(await arrive(whoIs('ada'), token), { kind: 'disabled' })
  assert.deepEqual(await arrive(whoIs('ada')), { kind: 'disabled' })
})

test('an invitation makes one person a member with its role, and nobody else an owner', async (t) => {
  const { arrive, invite, other, first, people, db } = await setUp(t)
  const { token, id } = await invite(other, 'developer')
  const guests = await Promise.all(['a', 'b', 'c'].map((name) => arrive(whoIs(name), token)))
  const inside = guests.filter(({ kind }) => kind === 'member')
  assert.equal(inside.length, 1)
  const { userId, accountId } = memberIn(inside[0] ?? { kind: 'disabled' })
  assert.equal(accountId, other)
  assert.deepEqual(await people.accountsOf(userId), [{ id: other, name: 'Other', role: 'developer' }])
  assert.equal((await arrive(whoIs('late'))).kind, 'no account') // an identity is known by now: there is no first any more
  const used = await db.selectFrom('invitation').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  assert.equal(used.used_by, userId)
  assert.equal((await db.selectFrom('member').selectAll().where('account_id', '=', first).execute()).length, 0)
})

test('a wrong, revoked, used or expired invitation admits nobody', async (t) => {
  const { arrive, invite, other, clock, db } = await setUp(t)
  const used = await invite(other, 'billing')
  memberIn(await arrive(whoIs('a'), used.token))
  const revoked = await invite(other, 'billing')
  assert.equal(await revokeInvitation(db, revoked, clock.now), true)
  assert.equal(await revokeInvitation(db, revoked, clock.now), false)
  const old = await invite(other, 'billing')
  for (const token of ['', 'tpi_', 'tpi_'.padEnd(50, '0'), `${old.token}x`, used.token, revoked.token]) {
    assert.equal((await arrive(whoIs('unknown'), token)).kind, 'no account', token)
  }
  clock.now += INVITATION_LIFE_MS
  assert.equal((await arrive(whoIs('unknown'), old.token)).kind, 'no account')
  assert.equal((await db.selectFrom('person').selectAll().execute()).length, 1)
})

test('an expired invitation does not make the first person the owner', async (t) => {
  const { arrive } = await setUp(t)
  assert.equal((await arrive(whoIs('ada'), 'tpi_wrong')).kind, 'no account')
  assert.equal((await arrive(whoIs('ada'))).kind, 'member')
})

test('an invitation is invalid once its creator could no longer create it', async (t) => {
  const { arrive, invite, first, clock, db } = await setUp(t)
  const ada = memberIn(await arrive(whoIs('ada')))
  const admin = memberIn(await arrive(whoIs('eve'), (await invite(first, 'admin', ada.userId)).token))
  const [one, two, three] = [
    await invite(first, 'admin', admin.userId),
    await invite(first, 'developer', admin.userId),
    await invite(first, 'admin', admin.userId),
  ]
  assert.equal((await arrive(whoIs('x'), one.token)).kind, 'member')
  await setRole(db, { ...admin, role: 'billing' }, clock.now)
  assert.equal((await arrive(whoIs('y'), two.token)).kind, 'no account')
  await removeMember(db, admin, clock.now)
  assert.equal((await arrive(whoIs('eve'), three.token)).kind, 'no account')
})

test('a signed-in person accepts an invitation; a member keeps the role, and the link stays valid', async (t) => {
  const { arrive, people, invite, first, other, roleIn } = await setUp(t)
  const { userId } = memberIn(await arrive(whoIs('ada')))
  const { token } = await invite(other, 'billing')
  const joined = await people.accept(token, { userId, origin: FROM })
  assert.deepEqual(joined, { kind: 'joined', accountId: other, accountName: 'Other', role: 'billing' })
  assert.deepEqual(await people.accept(token, { userId, origin: FROM }), { kind: 'refused' })
  const owner = await invite(other, 'owner')
  const again = await people.accept(owner.token, { userId, origin: FROM })
  assert.deepEqual(again, { kind: 'member already', accountId: other, accountName: 'Other', role: 'billing' })
  assert.equal(await roleIn(other, userId), 'billing')
  assert.equal(memberIn(await arrive(whoIs('bob'), owner.token)).accountId, other)
  assert.equal(memberIn(await arrive(whoIs('ada'))).accountId, first)
  assert.deepEqual(await people.accept('tpi_no', { userId, origin: FROM }), { kind: 'refused' })
})

test('the one-time link signs in the first owner, and creates one, once, if there is none', async (t) => {
  const { people, first, db, roleIn } = await setUp(t)
  const arrivals = await Promise.all([1, 2, 3].map(() => people.ownerOf(first, FROM)))
  const [userId = '' as UserId, ...others] = new Set(arrivals.map((arrival) => memberIn(arrival).userId))
  assert.deepEqual(others, [])
  const person = await db.selectFrom('person').selectAll().executeTakeFirstOrThrow()
  assert.equal(person.email, 'owner@localhost')
  assert.equal(await roleIn(first, userId), 'owner')
})

test('nobody becomes an owner by signing in once an account has an owner, even a disabled one', async (t) => {
  const { people, arrive, first, other, invite, db, roleIn } = await setUp(t)
  const label = memberIn(await people.ownerOf(first, FROM))
  assert.deepEqual(await arrive(whoIs('eve')), { kind: 'no account', email: 'eve@example.com' })
  await db.updateTable('person').set({ disabled_at: 1 }).where('id', '=', label.userId).execute()
  assert.equal((await arrive(whoIs('eve'))).kind, 'no account')
  assert.equal((await db.selectFrom('identity').selectAll().execute()).length, 0)
  const invited = memberIn(await arrive(whoIs('ada'), (await invite(first, 'owner')).token))
  assert.equal(await roleIn(first, invited.userId), 'owner')
  assert.equal(memberIn(await people.ownerOf(first, FROM)).userId, invited.userId)
  assert.equal((await arrive(whoIs('eve'))).kind, 'no account')
  assert.equal(await roleIn(other, invited.userId), undefined)
})

test('an owner of another account counts as an owner', async (t) => {
  const { people, arrive, other } = await setUp(t)
  memberIn(await people.ownerOf(other, FROM))
  assert.equal((await arrive(whoIs('eve'))).kind, 'no account')
})

test('an invitation of a key is valid only while the key is, and has the rights of the role', async (t) => {
  const { arrive, invite, keys, other } = await setUp(t)
  const { token } = await invite(other, 'developer')
  const stateOfKey: readonly (ReadonlySet<Right> | undefined)[] = [
    undefined, // revoked, expired, or its creator left
    new Set<Right>([...EVERYTHING].filter((right) => right !== 'members')), // limited meanwhile
    new Set<Right>(['members', 'members:read', 'devices']), // of less than a developer has
  ]
  for (const rights of stateOfKey) {
    keys.set(KEY, rights)
    assert.equal((await arrive(whoIs('x'), token)).kind, 'no account', [...(rights ?? [])].join())
  }
  keys.set(KEY, new Set<Right>([...rightsOfRole('developer'), 'members']))
  assert.equal((await arrive(whoIs('x'), (await invite(other, 'admin')).token)).kind, 'no account')
  assert.equal((await arrive(whoIs('x'), token)).kind, 'member')
})

test('an invitation of a key requires the key’s creator, and one of an earlier release is invalid', async (t) => {
  const { arrive, invite, first, clock, db } = await setUp(t)
  const ada = memberIn(await arrive(whoIs('ada')))
  const eve = memberIn(await arrive(whoIs('eve'), (await invite(first, 'admin', ada.userId)).token))
  const { token } = await invite(first, 'admin', eve.userId, KEY)
  await removeMember(db, eve, clock.now)
  assert.equal((await arrive(whoIs('eve'), token)).kind, 'no account')
  const old = await invite(first, 'admin')
  await db.updateTable('invitation').set({ key_id: null }).where('id', '=', old.id).execute()
  assert.equal((await arrive(whoIs('eve'), old.token)).kind, 'no account')
})

/** A statement for each number from 1 to `count`, which it calls `n`. */
function forEachNumber(count: number, into: RawBuilder<unknown>, columns: RawBuilder<unknown>) {
  return sql`insert into ${into} with recursive numbers(n) as
    (select 1 union all select n + 1 from numbers where n < ${sql.lit(count)}) select ${columns} from numbers`
}

async function addMembers(db: Awaited<ReturnType<typeof setUp>>['db'], accountId: AccountId, count: number) {
  const person = sql`person (id, email, name, created_at, changed_at)`
  await forEachNumber(count, person, sql`'usr_m' || n, 'm', 'm', 1, 1`).execute(db)
  const member = sql`member (account_id, user_id, role, created_at, changed_at)`
  await forEachNumber(count, member, sql`${sql.lit(accountId)}, 'usr_m' || n, 'billing', 1, 1`).execute(db)
}

test('an account with 10 000 members admits nobody by invitation until a member leaves [limit: members]', async (t) => {
  const { arrive, invite, other, clock, db } = await setUp(t)
  await addMembers(db, other, 9_999)
  const [one, two] = [await invite(other, 'billing'), await invite(other, 'billing')]
  assert.equal(memberIn(await arrive(whoIs('last'), one.token)).accountId, other)
  assert.equal((await arrive(whoIs('late'), two.token)).kind, 'no account')
  await removeMember(db, { accountId: other, userId: 'usr_m1' as UserId }, clock.now)
  assert.equal(memberIn(await arrive(whoIs('late'), two.token)).accountId, other)
})

test('the first 1 000 accounts of a person are listed [limit: accounts-of-a-person]', async (t) => {
  const { arrive, people, first, db } = await setUp(t)
  const { userId } = memberIn(await arrive(whoIs('ada')))
  const joinedAt = Date.UTC(2027, 0, 1)
  const account = sql`account (id, name, plan, created_at, changed_at)`
  await forEachNumber(1_000, account, sql`'acc_n' || n, 'n', 'free', 1, 1`).execute(db)
  const member = sql`member (account_id, user_id, role, created_at, changed_at)`
  const columns = sql`'acc_n' || n, ${sql.lit(userId)}, 'billing', ${sql.lit(joinedAt)} + n, 1`
  await forEachNumber(1_000, member, columns).execute(db)
  const listed = (await people.accountsOf(userId)).map(({ id }) => id)
  assert.deepEqual([listed.length, listed[0], listed.at(-1)], [1_000, first, 'acc_n999'])
})

test('a name is truncated to 200 characters, an address to 320 [limit: person-labels]', async (t) => {
  const { arrive, db } = await setUp(t)
  memberIn(await arrive(whoIs('ada', { name: 'n'.repeat(201), email: `${'x'.repeat(320)}@example.com` })))
  const { name, email } = await db.selectFrom('person').selectAll().executeTakeFirstOrThrow()
  assert.deepEqual([name, email], ['n'.repeat(200), 'x'.repeat(320)])
})

test('old invitations are deleted with their credentials', async (t) => {
  const { invite, other, clock, db } = await setUp(t)
  await invite(other, 'billing')
  clock.now += 98 * 86_400_000
  const { id } = await invite(other, 'billing')
  assert.equal(await deleteOldInvitations(db, clock.now), 1)
  assert.equal(await deleteOldInvitations(db, clock.now), 0)
  assert.deepEqual(await db.selectFrom('invitation').select('id').execute(), [{ id }])
  assert.deepEqual(await db.selectFrom('credential').select('id').execute(), [{ id }])
})

test('groups that a trusted identity provider says give roles in the account and in teams, and take them away again', async (t) => {
  const { db, arrive, first, other, invite, roleIn } = await setUp(t)
  memberIn(await arrive(whoIs('owner')))
  const team = testIds.team()
  const settings = { name: 'Search', models: [], endpoints: [], requestsPerMinute: undefined, dataPolicy: undefined }
  await insertTeam(db, { accountId: first, id: team, ...settings }, 1)
  const mapping = { account_id: first, team_id: '' as const }
  await db
    .insertInto('group_mapping')
    .values([
      { ...mapping, group_name: 'finance', role: 'billing' },
      { ...mapping, group_name: 'search', team_id: team, role: 'member' },
      { ...mapping, group_name: 'search-leads', team_id: team, role: 'admin' },
      { ...mapping, account_id: other, group_name: 'finance', role: 'admin' },
    ])
    .execute()
  const signIn = (issuer: string, groups?: readonly string[], token?: string) =>
    arrive(whoIs('bob', { issuer, groups }), token)
  const { userId } = memberIn(await signIn(TRUSTED, ['Search', 'finance'], (await invite(first, 'developer')).token))
  await signIn(TRUSTED, undefined, (await invite(other, 'developer')).token)
  const inTeam = async () => {
    const rows = await db.selectFrom('team_member').select(['role', 'by_group']).where('user_id', '=', userId).execute()
    return rows.map(({ role, by_group }) => [role, by_group])
  }
  assert.deepEqual([await roleIn(first, userId), await inTeam()], ['billing', [['member', 1]]])
  await signIn(TRUSTED, ['search', 'search-leads'])
  assert.deepEqual(await inTeam(), [['admin', 1]])
  await signIn(TRUSTED)
  assert.deepEqual(await inTeam(), [['admin', 1]], 'nothing is said of groups')
  await signIn(TRUSTED, ['finance'])
  assert.deepEqual(await inTeam(), [])
  assert.equal(await roleIn(other, userId), 'developer', 'that account does not trust the provider')
})

test('an account that does not trust the identity provider ignores its groups', async (t) => {
  const { db, arrive, first, invite, roleIn } = await setUp(t)
  memberIn(await arrive(whoIs('owner')))
  await db
    .insertInto('group_mapping')
    .values({ account_id: first, group_name: 'finance', team_id: '', role: 'admin' })
    .execute()
  const { token } = await invite(first, 'developer')
  const { userId } = memberIn(await arrive(whoIs('eve', { groups: ['finance'] }), token))
  assert.equal(await roleIn(first, userId), 'developer')
})
