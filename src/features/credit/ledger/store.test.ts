import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { currentLocation, temporaryDatabase } from '../../../../test/support/database.ts'
import { completionId } from '../../../../test/support/ledger/credit-model.ts'
import {
  A,
  creditOf,
  hold,
  KEY,
  kinds,
  NOW,
  purchase,
  release,
  settle,
  storeOn,
} from '../../../../test/support/ledger/ledger-store.ts'
import { holdInThreeProcesses } from '../../../../test/support/ledger/other-processes.ts'
import type { OpenedDatabase } from '../../../db/database.ts'
import type { SavedResult } from '../../../domain/credit.ts'
import type { AccountId, KeyId } from '../../../domain/ids.ts'
import { createCommitter } from '../commit/committer.ts'
import type { LedgerStore } from './unit.ts'

const openStore = async (t: TestContext, ref?: string) => storeOn(await temporaryDatabase(t, ref))

test('a hold is a row with what it would cost if nothing more was heard, and its estimate follows the request', async (t) => {
  const { db, commit } = await openStore(t)
  const ask = hold(1, {
    promptTokens: 3,
    inputPrice: 400,
    outputTokens: 10,
    stream: true,
    clientRequestId: 'mine',
    api: 'messages',
    attribution: { tags: ['a=b'], session: 's', endUser: undefined },
    requestId: 'req_1',
    createdAt: NOW,
  })
  assert.deepEqual(kinds(await commit(purchase(1_000n), ask)), ['entered', 'held'])
  const row = await db.selectFrom('hold').selectAll().executeTakeFirstOrThrow()
  const first = {
    account_id: A,
    id: ask.id,
    key_id: KEY,
    instance_id: 'ins_1',
    amount_nano_usd: 12n, // ⌈3 × 0.4⌉ + 10, rounded up once
    of_key_budget: 0,
    model: 'model',
    provider: 'provider',
    stream: 1,
    price_version: 'price_1',
    prompt_tokens: 3,
    completion_tokens: 0,
    estimate_nano_usd: 2n,
    created_at: NOW,
    client_request_id: 'mine',
    ancestors: null,
    byok_fee_ppm: null,
    api: 'messages',
    team_id: null,
    budgets: null,
    tags: 'a=b',
    session_id: 's',
    end_user: null,
    request_id: 'req_1',
  }
  assert.deepEqual(row, first)
  const estimate = {
    accountId: A,
    id: ask.id,
    provider: 'second',
    promptTokens: 4,
    completionTokens: 5,
    costNanoUsd: 7n,
  }
  await commit({ kind: 'estimates', estimates: [estimate, { ...estimate, id: completionId('gone') }] })
  const later = { provider: 'second', prompt_tokens: 4, completion_tokens: 5, estimate_nano_usd: 7n }
  assert.deepEqual(await db.selectFrom('hold').selectAll().execute(), [{ ...first, ...later }])
})

test('INV-4, LED-6: a settlement that comes again finds itself done, whether its hold was settled, swept or released', async (t) => {
  const { database, commit } = await openStore(t)
  await commit(purchase(1_000n), hold(1), hold(2), hold(3))
  assert.deepEqual(kinds(await commit(settle(1), settle(1), release(3), settle(3))), [
    'done',
    'already',
    'done',
    'done',
  ])
  assert.deepEqual(kinds(await commit(settle(2, { status: 'incomplete', usageSource: 'estimated' }))), ['done'])
  assert.deepEqual(kinds(await commit(settle(2), settle(1), settle(3), release(2))), [
    'corrected',
    'already',
    'already',
    'already',
  ])
  assert.deepEqual(kinds(await commit(settle(2))), ['already'])
  assert.deepEqual(await creditOf(database), { balance: 880n, held: 0n, charges: 3, completions: 3 })
})

test('LED-6: two settlements of one completion cannot both be written, even with a second hold of the same id', async (t) => {
  const { database, commit } = await openStore(t)
  await commit(purchase(1_000n), hold(1), settle(1), hold(1))
  assert.deepEqual(kinds(await commit(settle(1))), ['failed'])
  assert.deepEqual(await creditOf(database), { balance: 960n, held: 100n, charges: 1, completions: 1 })
})

test('a settlement is counted for its key also where a release of its batch has ended its hold, made under another key', async (t) => {
  const { db, commit } = await openStore(t)
  const other = 'key_2' as KeyId
  await commit(purchase(1_000n), hold(1, { keyId: other, keyBudgetNanoUsd: 500n }), hold(2))
  assert.deepEqual(kinds(await commit(release(2), settle(2, { keyId: other }, { unrecorded: true }))), ['done', 'done'])
  const rows = await db.selectFrom('key_spending').select(['key_id', 'spent_nano_usd']).execute()
  assert.deepEqual(rows, [{ key_id: other, spent_nano_usd: 40n }])
})

test('what was admitted while the database was away is charged without a hold, once', async (t) => {
  const { database, commit } = await openStore(t)
  const late = settle(1, {}, { unrecorded: true })
  assert.deepEqual(kinds(await commit(purchase(100n), late, late)), ['entered', 'done', 'already'])
  assert.deepEqual(kinds(await commit(late)), ['already'])
  assert.deepEqual(await creditOf(database), { balance: 60n, held: 0n, charges: 1, completions: 1 })
})

test('INV-9: the database refuses to change or remove what is in the ledger', async (t) => {
  const { db, commit } = await openStore(t)
  await commit(purchase(100n), hold(1), settle(1))
  await assert.rejects(db.updateTable('ledger').set({ amount_nano_usd: 1n }).execute(), /append-only/)
  await assert.rejects(db.deleteFrom('ledger').where('number', '=', 1).execute(), /append-only/)
})

test('a unit that the database refuses fails alone: the others of its batch are committed, in order', async (t) => {
  const { database, commit } = await openStore(t)
  const nobody = hold(9, { accountId: 'acc_none' as AccountId })
  await commit(purchase(1_000n), hold(1), hold(2))
  const outcomes = await commit(
    settle(1),
    settle(2, { promptTokens: -1 }),
    nobody,
    hold(3),
    settle(3, { costNanoUsd: 7n }),
  )
  assert.deepEqual(kinds(outcomes), ['done', 'failed', 'failed', 'held', 'done'])
  assert.match(JSON.stringify(outcomes[1]), /check constraint/i)
  assert.deepEqual(await creditOf(database), { balance: 953n, held: 100n, charges: 2, completions: 2 })
  const sums = await database.db.selectFrom('usage_rollup').select(['requests', 'cost_nano_usd']).execute()
  assert.deepEqual(sums, [{ requests: 2, cost_nano_usd: 47n }])
})

const answer = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"id":"x"}' }

async function insertIdempotencyKey({ db }: OpenedDatabase, key: string, subject: string): Promise<SavedResult> {
  const endpoint = 'POST /v1/chat/completions'
  const begun = {
    fingerprint: new Uint8Array(32),
    state: 'running',
    instance_id: 'ins_1',
    lease_until: NOW,
    created_at: NOW,
  } as const
  await db
    .insertInto('idempotency')
    .values({ account_id: A, endpoint, key, subject_id: subject, ...begun })
    .execute()
  return { accountId: A, endpoint, key, answer }
}

test('IDEM-6: the charge and the answer that is kept for repeats are there together, or neither is', async (t) => {
  const { database, db, commit } = await openStore(t)
  const kept = await insertIdempotencyKey(database, 'k', completionId(1))
  await commit(purchase(1_000n), hold(1))
  const read = () =>
    db
      .selectFrom('idempotency')
      .select(['key', 'state', 'status', 'headers', 'body', 'ended_at'])
      .orderBy('key')
      .execute()
  const running = { key: 'k', state: 'running', status: null, headers: null, body: null, ended_at: null }
  assert.deepEqual(kinds(await commit(settle(1, { promptTokens: -1 }, { kept }))), ['failed'])
  assert.deepEqual(await read(), [running])
  assert.deepEqual(kinds(await commit(settle(1, {}, { kept }))), ['done'])
  const headers = '{"content-type":"application/json"}'
  assert.deepEqual(await read(), [{ key: 'k', state: 'kept', status: 200, headers, body: '{"id":"x"}', ended_at: NOW }])
})

test('an answer that is too large is noted as such; one whose key another request has taken over is not kept', async (t) => {
  const { database, db, commit } = await openStore(t)
  const large = { ...(await insertIdempotencyKey(database, 'large', completionId(1))), answer: undefined }
  const lost = await insertIdempotencyKey(database, 'lost', completionId('other'))
  await commit(purchase(1_000n), hold(1), hold(2))
  assert.deepEqual(kinds(await commit(settle(1, {}, { kept: large }), settle(2, {}, { kept: lost }))), ['done', 'done'])
  assert.deepEqual(await db.selectFrom('idempotency').select(['key', 'state', 'body']).orderBy('key').execute(), [
    { key: 'large', state: 'too_large', body: null },
    { key: 'lost', state: 'running', body: null },
  ])
})

test('a key whose budget is new has spent what it came to this month, its settlements of the same batch included', async (t) => {
  const { db, commit } = await openStore(t)
  const last = Date.UTC(2026, 3, 30, 23, 59)
  await commit(purchase(1_000n), hold(1), hold(2), hold(3))
  await commit(settle(1, { costNanoUsd: 30n }), settle(2, { costNanoUsd: 500n, createdAt: last }))
  const budgeted = (name: number, outputTokens: number) => hold(name, { keyBudgetNanoUsd: 100n, outputTokens })
  const outcomes = await commit(
    settle(3, { costNanoUsd: 20n }),
    budgeted(4, 51),
    budgeted(5, 50),
    settle(5, { costNanoUsd: 45n }),
  )
  assert.deepEqual(kinds(outcomes), ['done', 'refused', 'held', 'done'])
  const row = { account_id: A, key_id: KEY, month: 676, spent_nano_usd: 95n, held_nano_usd: 0n }
  assert.deepEqual(await db.selectFrom('key_spending').selectAll().execute(), [row])
})

test('INV-3: holds are granted to the last nano-dollar, also of what settlements of the same batch have freed', async (t) => {
  const { database, commit } = await openStore(t)
  assert.deepEqual(kinds(await commit(purchase(250n), hold(1), hold(2))), ['entered', 'held', 'held'])
  const outcomes = await commit(
    hold(3, { outputTokens: 50 }),
    hold(4, { outputTokens: 1 }),
    settle(1),
    hold(5, { outputTokens: 60 }),
  )
  assert.deepEqual(kinds(outcomes), ['held', 'refused', 'done', 'held'])
  const overrun = await commit(
    settle(2, { costNanoUsd: 300n }),
    hold(6, { outputTokens: 1 }),
    purchase(400n),
    hold(7, { outputTokens: 200 }),
  )
  assert.deepEqual(kinds(overrun), ['done', 'refused', 'entered', 'held'])
  assert.deepEqual(await creditOf(database), { balance: 310n, held: 310n, charges: 2, completions: 2 })
})

test('INV-3, F24: of 200 holds at once from three processes on one database, exactly the 10 that fit are granted', async (t) => {
  const ref = await currentLocation(t)
  const { database, db, commit } = await openStore(t, ref)
  await commit(purchase(1_099n))
  const { held, refused } = await holdInThreeProcesses(t, { ref, count: 200 })
  assert.deepEqual([held, refused], [10, 190])
  assert.equal((await db.selectFrom('hold').selectAll().execute()).length, 10)
  assert.deepEqual(await creditOf(database), { balance: 1_099n, held: 1_000n, charges: 0, completions: 0 })
})

test('an empty batch changes nothing and tells whether the database can be written to', async (t) => {
  const { database, db, commit } = await openStore(t)
  await commit(purchase(5n))
  assert.deepEqual(await commit(), [])
  assert.deepEqual(await creditOf(database), { balance: 5n, held: 0n, charges: 0, completions: 0 })
  await database.close()
  await assert.rejects(commit(), { code: 'database_unavailable' })
  assert.ok(db)
})

const quiet = { warn: () => undefined, error: (fields: object) => assert.fail(JSON.stringify(fields)) }

test('F14: what was committed without an answer is not done twice: a hold is given back, a settlement found done', async (t) => {
  const { database, db, store, commit } = await openStore(t)
  await commit(purchase(1_000n), hold('running'))
  let isLost = true
  const looked = Promise.withResolvers<void>()
  const forgetful: LedgerStore = {
    async commit(batch) {
      if (!isLost) await looked.promise // on a machine that stood still the hold would be given back before it was seen
      const outcomes = await store.commit(batch)
      if (!isLost || batch.units.length === 0) return outcomes
      isLost = false
      throw new Error('The connection broke.')
    },
  }
  const committer = createCommitter({ store: forgetful, log: quiet })
  const settled = committer.settle(settle('running'))
  await assert.rejects(committer.hold(hold('new')), { code: 'database_unavailable' })
  assert.equal((await db.selectFrom('hold').selectAll().execute()).length, 1, 'it was committed')
  looked.resolve()
  await settled
  await committer.close()
  assert.deepEqual(await db.selectFrom('hold').selectAll().execute(), [])
  assert.deepEqual(await creditOf(database), { balance: 960n, held: 0n, charges: 1, completions: 1 })
})

test('TIME-1: a request that was taken by a clock an hour ahead is dated no later than its rows, and so are its sums', async (t) => {
  const { db, commit } = await openStore(t)
  const createdAt = NOW + 3_600_000
  await commit(purchase(1_000n), hold(1, { createdAt }), hold(2, { createdAt: NOW - 1 }))
  const holds = await db.selectFrom('hold').select('created_at').orderBy('id').execute()
  assert.deepEqual(
    holds.map(({ created_at: at }) => at),
    [NOW, NOW - 1],
  )
  await commit(settle(1, { createdAt }))
  const completions = await db.selectFrom('completion').select('created_at').execute()
  assert.deepEqual(completions, [{ created_at: NOW }])
  const hours = await db.selectFrom('usage_hour').select('hour').execute()
  assert.deepEqual(hours, [{ hour: Math.floor(NOW / 3_600_000) }])
})
