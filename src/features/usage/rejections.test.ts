import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDatabase } from '../../../test/support/database.ts'
import { ensureAccounts } from '../../../test/support/ledger/completions.ts'
import type { OpenedDatabase } from '../../db/database.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import type { Rejection } from '../../domain/rejection.ts'
import { createRejectionRecorder, MAX_KEPT, MAX_PER_SECOND, MAX_WAITING, TRIM_EVERY } from './rejections.ts'

const ada = 'acc_ada' as AccountId
const bob = 'acc_bob' as AccountId
const keyId = 'key_a' as KeyId
const START = Date.UTC(2028, 5, 15, 12)

/** Sorts as IDs do. */
const requestId = (number: number) => `req_${String(number).padStart(22, '0')}`
const rejection = (number: number, over: Partial<Rejection> = {}): Rejection => ({
  caller: { accountId: ada, keyId },
  requestId: requestId(number),
  endpoint: '/v1/chat/completions',
  model: 'm1',
  status: 429,
  code: 'rate_limit_exceeded',
  ...over,
})

function recorderOf({ db }: Pick<OpenedDatabase, 'db'>) {
  const clock = { now: START }
  const lines: object[] = []
  const line = (fields: object) => void lines.push(fields)
  const recorder = createRejectionRecorder({
    db,
    now: () => clock.now,
    isModel: (id) => id === 'm1',
    log: { info: line, warn: line },
  })
  const later = (): void => {
    clock.now += 1_000
  }
  return { recorder, lines, later }
}

const requestIds = async ({ db }: OpenedDatabase, accountId: AccountId) => {
  const rows = db.selectFrom('rejection').select('request_id').where('account_id', '=', accountId)
  return (await rows.orderBy('request_id').execute()).map(({ request_id: id }) => id)
}

test('a rejection is a row of its account and a line of the log; nobody’s is a row of the first account, if there is one', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  const { recorder, lines } = recorderOf(database)
  recorder.note(rejection(1, { model: 'm1' }))
  recorder.note(rejection(2, { caller: undefined, status: 401, code: 'invalid_credential' }))
  await recorder.write()
  const [row, ...others] = await database.db.selectFrom('rejection').selectAll().execute()
  assert.deepEqual(others, [])
  assert.deepEqual(
    { ...row },
    {
      account_id: ada,
      request_id: requestId(1),
      created_at: START,
      key_id: keyId,
      endpoint: '/v1/chat/completions',
      model: 'm1',
      status: 429,
      code: 'rate_limit_exceeded',
    },
  )
  await database.db.insertInto('setting').values({ key: 'first_account', value: ada }).execute()
  recorder.note(rejection(3, { caller: undefined, status: 401, code: 'missing_credential' }))
  await recorder.close()
  const ofNobody = await database.db.selectFrom('rejection').selectAll().where('key_id', 'is', null).execute()
  assert.deepEqual(
    ofNobody.map(({ account_id: account, request_id: id }) => [account, id]),
    [[ada, requestId(3)]],
  )
  const fields = { endpoint: '/v1/chat/completions', accountId: undefined, keyId: undefined }
  assert.deepEqual(lines[1], { ...fields, requestId: requestId(2), status: 401, code: 'invalid_credential' })
})

const MISSPELT = [
  'gpt-6-turbo',
  'claude-sonet-4-5-20260115',
  'meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8',
  'accounts/fireworks/models/llama-v3p1-8x22b-w4a16',
  'auto:x',
]
const SECRETS = [
  'sk-secret',
  'tp_0VbutqEAmisz3uCx6fnY0w',
  'AIzaSyA-b_c',
  'f3b1c5d7e9a2f4b6c8d0e1f2a3b4c5d6',
  'canary-7Hq2Lw9Zt4-Xc8Vb3Nm6-Kd1Pf5Rg0Js-9Wz3Tn',
  'own-Kd1Pf5Rg',
  'own-aQzXbWcE',
  'pass word',
  'ada@example.com',
  'x'.repeat(101),
]

test('a misspelt model is stored as it was asked, a text that may be a secret is not', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  const { recorder, lines, later } = recorderOf(database)
  for (const [at, model] of [...MISSPELT, ...SECRETS].entries()) {
    recorder.note(rejection(at, { model, status: 422, code: 'model_not_found' }))
    later()
  }
  await recorder.close()
  const rows = await database.db.selectFrom('rejection').select('model').orderBy('request_id').execute()
  assert.deepEqual(
    rows.map(({ model }) => model),
    [...MISSPELT, ...SECRETS.map(() => null)],
  )
  assert.doesNotMatch(JSON.stringify(lines), /secret|example\.com/)
})

test('an account records 10 rejections a second, whatever others do; the rest are counted [limit: rejection-rate]', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada, bob])
  const { recorder, lines, later } = recorderOf(database)
  const wanted = Array.from({ length: MAX_PER_SECOND }, (_, at) => requestId(at))
  for (let at = 0; at < MAX_PER_SECOND + 5; at++) recorder.note(rejection(at))
  recorder.note(rejection(50, { caller: { accountId: bob, keyId } }))
  later()
  recorder.note(rejection(60))
  await recorder.close()
  assert.deepEqual(await requestIds(database, ada), [...wanted, requestId(60)])
  assert.deepEqual(await requestIds(database, bob), [requestId(50)])
  assert.deepEqual(lines.at(-1), { dropped: 5 })
})

test('rejections that wait for the database are at most 2,000; what it does not take is forgotten [limit: rejections-waiting]', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada])
  const { recorder, lines, later } = recorderOf(database)
  for (let at = 0; at < MAX_WAITING + 3; at++) {
    if (at % MAX_PER_SECOND === 0) later()
    recorder.note(rejection(at))
  }
  await recorder.write()
  assert.equal((await requestIds(database, ada)).length, MAX_WAITING)
  assert.deepEqual(lines.at(-1), { dropped: 3 })
  later()
  recorder.note(rejection(MAX_WAITING + 3, { caller: { accountId: 'acc_gone' as AccountId, keyId } }))
  await recorder.write()
  assert.equal((lines.at(-1) as { readonly dropped: number }).dropped, 1)
  recorder.note(rejection(MAX_WAITING + 4))
  await recorder.close()
  assert.equal((await requestIds(database, ada)).length, MAX_WAITING + 1)
})

test('an account keeps its newest 10,000 rejections [limit: rejections-kept]', async (t) => {
  const database = await temporaryDatabase(t)
  await ensureAccounts(database, [ada, bob])
  const row = { created_at: START, key_id: keyId, endpoint: '/v1/messages', status: 402, code: 'insufficient_credit' }
  for (let from = 0; from < MAX_KEPT; from += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, at) => ({
      ...row,
      account_id: ada,
      request_id: requestId(from + at),
    }))
    await database.db
      .insertInto('rejection')
      .values([...rows])
      .execute()
  }
  await database.db
    .insertInto('rejection')
    .values({ ...row, account_id: bob, request_id: requestId(0) })
    .execute()
  const { recorder, later } = recorderOf(database)
  for (let at = 0; at < TRIM_EVERY; at++) {
    if (at % MAX_PER_SECOND === 0) later()
    recorder.note(rejection(MAX_KEPT + at))
  }
  await recorder.close()
  const kept = await requestIds(database, ada)
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [MAX_KEPT, requestId(TRIM_EVERY), requestId(MAX_KEPT + 99)])
  assert.equal((await requestIds(database, bob)).length, 1)
})
