import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { temporaryDatabase } from '../../../test/support/database.ts'
import { ensureAccounts } from '../../../test/support/ledger/completions.ts'
import type { AccountId } from '../../domain/ids.ts'
import { createResponseStore, resealJobs, resealResponses } from './store.ts'

const maxBytes = () => 1_000_000
const ada = 'acc_ada' as AccountId
const content = { inputItems: 1, response: '{"id":"resp_1"}', items: '{"id":"msg_1"},{"id":"msg_2"}' }
const response = (id: string) => ({ accountId: ada, id, previousId: undefined, content, items: 2 })

test('responses that the previous secret sealed are sealed again, and are readable when it is gone', async (t) => {
  const database = await temporaryDatabase(t)
  const { db } = database
  await ensureAccounts(database, [ada])
  const [current, previous, lost] = [randomBytes(32), randomBytes(32), randomBytes(32)]
  const storeWith = (key: Uint8Array) =>
    createResponseStore({ ...database, keys: { current: key }, maxBytes, now: Date.now })
  const ids = Array.from({ length: 45 }, (_, at) => `resp_${String(at).padStart(2, '0')}`)
  await Promise.all(ids.map((id) => storeWith(previous).insert(response(id))))
  await storeWith(current).insert(response('resp_new'))
  await storeWith(lost).insert(response('resp_10x'))
  const keys = { current, previous }
  const during = createResponseStore({ ...database, keys, maxBytes, now: Date.now })
  assert.deepEqual((await during.find({ accountId: ada, id: 'resp_07' }))?.content, content)
  assert.equal(await resealResponses({ db, keys }), 45)
  assert.equal(await resealResponses({ db, keys }), 0)
  for (const id of [...ids, 'resp_new'])
    assert.deepEqual((await storeWith(current).find({ accountId: ada, id }))?.content, content, id)
  assert.equal(await storeWith(current).find({ accountId: ada, id: 'resp_10x' }), undefined)
})

test('the content of a response opens nowhere else', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  const store = createResponseStore({ ...database, keys: { current: randomBytes(32) }, maxBytes, now: Date.now })
  await Promise.all(['resp_1', 'resp_2'].map((id) => store.insert(response(id))))
  const { db } = database
  const one = await db.selectFrom('response').select('content').where('id', '=', 'resp_1').executeTakeFirstOrThrow()
  await db.updateTable('response').set(one).where('id', '=', 'resp_2').execute()
  assert.deepEqual((await store.find({ accountId: ada, id: 'resp_1' }))?.content, content)
  assert.equal(await store.find({ accountId: ada, id: 'resp_2' }), undefined)
})

test('nothing is sealed again without a previous secret', async (t) => {
  const { db } = await temporaryDatabase(t)
  const [current, previous] = [randomBytes(32), randomBytes(32)]
  assert.deepEqual(resealJobs({ db, keys: { current } }), {})
  assert.deepEqual(Object.keys(resealJobs({ db, keys: { current, previous } })), ['responses.reseal'])
})
