import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { temporaryDatabase } from '../../../test/support/database.ts'
import { ensureAccounts } from '../../../test/support/ledger/completions.ts'
import type { AccountId } from '../../domain/ids.ts'
import { createStorageRoom } from '../../jobs/storage-room.ts'
import { createResponseStore } from './store.ts'

const [ada, bob] = ['acc_ada', 'acc_bob'] as AccountId[] as [AccountId, AccountId]
const content = { inputItems: 0, response: '{}', items: 'x'.repeat(1000) }

test('the oldest responses of an account make room for new ones [limit: stored-bytes]', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada, bob])
  let time = 1_000_000
  let maxBytes = 20_000
  const storeOf = () =>
    createResponseStore({
      ...database,
      keys: { current: randomBytes(32) },
      maxBytes: () => maxBytes,
      now: () => time++,
    })
  const store = storeOf()
  const add = (accountId: AccountId, at: number, to = store) =>
    to.insert({ accountId, id: `resp_${String(at).padStart(3, '0')}`, previousId: undefined, content, items: 1 })
  const idsOf = async (accountId: AccountId) => {
    const rows = await database.db.selectFrom('response').selectAll().where('account_id', '=', accountId).execute()
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0)
    assert.equal(
      bytes,
      rows.reduce((sum, row) => sum + row.content.length, 0),
    )
    assert.ok(bytes <= maxBytes, `${bytes} bytes`)
    return rows.map(({ id }) => id).sort()
  }
  await add(bob, 0)
  for (let at = 0; at < 40; at++) {
    await add(ada, at)
    const ids = await idsOf(ada)
    assert.equal(ids.at(-1), `resp_${String(at).padStart(3, '0')}`)
    assert.ok(at < 18 || ids.length >= 15, `${ids.length} are left`)
  }
  assert.deepEqual(await idsOf(bob), ['resp_000'])
  // Another process finds what is there; a limit that was lowered counts from the next measurement on.
  const ids = await idsOf(ada)
  await add(ada, 40, storeOf())
  maxBytes = 3_000
  time += 60_001
  for (const at of [41, 42]) await add(ada, at)
  assert.deepEqual([ids.length > 10, await idsOf(ada)], [true, ['resp_041', 'resp_042']])
})

test('of many accounts the latest are remembered [limit: stored-accounts]', async (t) => {
  const { db } = await temporaryDatabase(t)
  let measured = 0
  const room = createStorageRoom({
    db,
    table: 'response',
    maxBytes() {
      measured += 1
      return 1_000
    },
    now: () => 1,
  })
  const take = (at: number) => room.take(`acc_${at}` as AccountId, 10)
  await take(0)
  await take(0)
  assert.equal(measured, 1)
  for (let at = 1; at <= 10_000; at += 100) await Promise.all(Array.from({ length: 100 }, (_, each) => take(at + each)))
  assert.equal(measured, 10_001)
  await take(10_000)
  assert.equal(measured, 10_001)
  await take(0)
  assert.equal(measured, 10_002)
})
