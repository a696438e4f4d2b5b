import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../../test/support/browser/signed-in.ts'
import { testIds } from '../../../test/support/database.ts'
import { createKey, FULL_ACCESS } from '../keys/queries.ts'
import { eventRecorder } from './events.ts'

const body = { url: 'https://hooks.example.com/' }
const born = { now: Date.now, ids: testIds }

test('webhooks of a member who leaves, and of their keys, are disabled with a row in the audit log; who enables one takes it over', async (t) => {
  const app = await openApp(t, { role: 'api' })
  const accountId = await app.account()
  const [owner, leaver] = [await app.person(accountId, 'owner'), await app.person(accountId, 'developer')]
  const [ownerToken, token] = [await app.token(await app.browser(owner)), await app.token(await app.browser(leaver))]
  const key = (await app.ask('POST', '/v1/keys', { token, body: { name: 'k' } })).json().key
  const theirs = [
    (await app.ask('POST', '/v1/webhooks', { token, body })).json().id,
    (await app.ask('POST', '/v1/webhooks', { token: key, body })).json().id,
  ].sort()
  const stays = (await app.ask('POST', '/v1/webhooks', { token: ownerToken, body })).json().id
  assert.equal((await app.ask('DELETE', `/v1/members/${leaver.userId}`, { token: ownerToken })).statusCode, 204)
  const rows: { id: string; status: string; disabled_reason: string | null }[] = (
    await app.ask('GET', '/v1/webhooks', { token: ownerToken })
  ).json().data
  const gone = rows.filter(({ disabled_reason: reason }) => reason === 'creator_gone').map(({ id }) => id)
  assert.deepEqual(gone.toSorted(), theirs)
  assert.equal(rows.find(({ id }) => id === stays)?.status, 'enabled')
  const audited = (await app.ask('GET', '/v1/audit?action=webhook.disabled', { token: ownerToken })).json().data
  assert.deepEqual(audited.map(({ subject }: { subject: string }) => subject).sort(), theirs)
  const [adopted = ''] = theirs
  await app.ask('PATCH', `/v1/webhooks/${adopted}`, { token: ownerToken, body: { status: 'enabled' } })
  const { db } = app.database
  const row = await db
    .selectFrom('webhook')
    .selectAll()
    .where('id', '=', adopted as never)
    .executeTakeFirstOrThrow()
  assert.deepEqual([row.created_by, row.key_id, row.creator_gone_at], [owner.userId, null, null])
})

test('what an expired key created, or a key below one that expired, receives nothing more', async (t) => {
  const app = await openApp(t, { role: 'api' })
  const { db } = app.database
  const accountId = await app.account()
  const parent = await createKey(db, { ...FULL_ACCESS, accountId, name: 'parent' }, born)
  const child = (await app.ask('POST', '/v1/keys', { token: parent.secret, body: { name: 'child' } })).json().key
  const { id } = (await app.ask('POST', '/v1/webhooks', { token: child, body })).json()
  let time = Date.now()
  const record = eventRecorder({ now: () => time, ids: testIds })
  const data = { webhook_id: id, message: 'x' }
  const deliveries = async () => {
    await db.transaction().execute((inside) => record(inside, { accountId, type: 'webhook.test', data } as never))
    return (await db.selectFrom('delivery').select('id').where('account_id', '=', accountId).execute()).length
  }
  const before = await deliveries()
  await db
    .updateTable('api_key')
    .set({ expires_at: time + 1_000 })
    .where('id', '=', parent.key.id)
    .execute()
  assert.equal(await deliveries(), before + 1)
  time += 1_000
  assert.equal(await deliveries(), before + 1)
})
