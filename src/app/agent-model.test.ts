import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../test/support/browser/signed-in.ts'
import { testIds } from '../../test/support/database.ts'
import type { KeyId } from '../domain/ids.ts'
import { creatorOf } from '../features/agents/store.ts'
import { revokeKeys } from '../features/keys/queries.ts'
import { insertTeam, putTeamMember, removeTeamMember, updateTeam } from '../features/teams/queries.ts'
import { creatorCallers } from './agent-model.ts'

const ADDRESS = '203.0.113.7'

test('a key stands for what it may now: its address, its expiry, its revocation', async (t) => {
  const { app, database, account, key, ask } = await openApp(t, { role: 'api' })
  const { db } = database
  const accountId = await account()
  const token = await key(accountId)
  const { data } = (await ask('GET', '/v1/keys', { token })).json<{ data: { id: KeyId }[] }>()
  const id = data[0]?.id ?? ('' as KeyId)
  let now = Date.now()
  const callerOf = creatorCallers({ db, now: () => now })
  const creator = { kind: 'key', keyId: id, userId: undefined, address: ADDRESS } as const
  const caller = await callerOf(accountId, creator)
  assert.deepEqual(creatorOf(caller, ADDRESS), creator)
  assert.ok(caller.scopes.has('agents:write'))
  const set = (values: object) => db.updateTable('api_key').set(values).where('id', '=', id).execute()
  await set({ ip_allowlist: '["198.51.100.0/24"]', expires_at: now + 1_000 })
  await assert.rejects(callerOf(accountId, creator), { code: 'address_not_allowed' })
  await callerOf(accountId, { ...creator, address: '198.51.100.1' })
  now += 1_000
  await assert.rejects(callerOf(accountId, { ...creator, address: '198.51.100.1' }), { message: /has expired/ })
  now -= 1_000
  await revokeKeys(db, { accountId, id, cascade: true }, now)
  await assert.rejects(callerOf(accountId, creator), { code: 'invalid_credential', message: /was revoked/ })
  const outsider = await account('Another')
  await assert.rejects(callerOf(outsider, creator), { code: 'invalid_credential' })
  assert.equal(app.gateway.active, 0)
})

test('an agent of a team has its limits, until the team is archived or its creator leaves it', async (t) => {
  const { database, account, person } = await openApp(t, { role: 'api' })
  const { db } = database
  const accountId = await account()
  const { userId } = await person(accountId, 'billing')
  const settings = { name: 'Team', models: ['m1'], endpoints: [], requestsPerMinute: 7, dataPolicy: undefined }
  const { id } = await insertTeam(db, { accountId, id: testIds.team(), ...settings }, Date.now())
  const membership = { team: { accountId, id }, userId }
  await putTeamMember(db, { ...membership, role: 'member', byGroup: false }, Date.now())
  const callerOf = creatorCallers({ db, now: Date.now })
  const creator = { kind: 'session', keyId: userId as string as KeyId, userId, address: ADDRESS, teamId: id } as const
  const caller = await callerOf(accountId, creator)
  assert.deepEqual([caller.teamId, caller.models, caller.teamRequestsPerMinute], [id, new Set(['m1']), 7])
  assert.deepEqual([caller.scopes.has('agents:write'), caller.scopes.has('billing')], [true, false])
  await removeTeamMember(db, membership, Date.now())
  await assert.rejects(callerOf(accountId, creator), { code: 'insufficient_scope' })
  await putTeamMember(db, { ...membership, role: 'member', byGroup: false }, Date.now())
  await updateTeam(db, { accountId, id }, { archived_at: Date.now() }, Date.now())
  await assert.rejects(callerOf(accountId, creator), { code: 'not_found' })
})

test('a person stands for their role in the account as it is, until they are no member any more', async (t) => {
  const { database, account, person } = await openApp(t, { role: 'api' })
  const { db } = database
  const accountId = await account()
  const { userId } = await person(accountId, 'developer')
  const callerOf = creatorCallers({ db, now: Date.now })
  const creator = { kind: 'session', keyId: userId as string as KeyId, userId, address: ADDRESS } as const
  assert.ok((await callerOf(accountId, creator)).scopes.has('agents:write'))
  const member = db.updateTable('member').where('user_id', '=', userId)
  await member.set({ role: 'billing' }).execute()
  assert.equal((await callerOf(accountId, creator)).scopes.has('agents:write'), false)
  await member.set({ removed_at: Date.now() }).execute()
  await assert.rejects(callerOf(accountId, creator), { code: 'invalid_credential', message: /no longer a member/ })
})
