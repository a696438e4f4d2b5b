import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { currentLocation, openLocation, temporaryDatabase } from '../../../../../test/support/database.ts'
import { ensureAccounts } from '../../../../../test/support/ledger/completions.ts'
import { PREPAID } from '../../../../../test/support/ledger/credit-model.ts'
import { assertSums } from '../../../../../test/support/ledger/ledger-batches.ts'
import {
  A,
  creditOf,
  hold,
  KEY,
  kinds,
  NOW,
  purchase,
  settle,
  storeOn,
} from '../../../../../test/support/ledger/ledger-store.ts'
import { lossyLine, postgresTest, rolledBack, watched } from '../../../../../test/support/ledger/postgres-ledger.ts'
import type { AccountId, KeyId } from '../../../../domain/ids.ts'
import { createCommitter } from '../../commit/committer.ts'
import type { Unit } from '../unit.ts'
import { createPostgresStore } from './store.ts'

const quiet = { warn: () => undefined, error: (fields: object) => assert.fail(JSON.stringify(fields)) }
const NO_ROWS = { rows: [], changes: 0 }

postgresTest(
  'LED-3: a hold that the account does not cover at the moment of writing is not committed, whatever was read',
  async (t) => {
    const { database, postgres, commit } = await storeOn(await temporaryDatabase(t))
    await commit(purchase(1_000n))
    const thief = watched(postgres, (statement, query, parameters) => {
      if (!statement.startsWith('update credit')) return undefined
      void query('update credit set balance_nano_usd = 0')
      return query(statement, parameters)
    })
    const units: readonly Unit[] = [hold(1), { kind: 'touch', accountId: A, terms: PREPAID }]
    assert.deepEqual(kinds(await createPostgresStore(thief).commit({ units, now: NOW })), ['failed', 'touched'])
    assert.deepEqual(await creditOf(database), { balance: 1_000n, held: 0n, charges: 0, completions: 0 })
  },
)

postgresTest('a batch that lost a race is carried out again on what is there now, as a whole and once', async (t) => {
  const { database, postgres, commit } = await storeOn(await temporaryDatabase(t))
  await commit(purchase(150n), hold(1))
  let races = 2
  const raced = watched(postgres, (statement) =>
    statement.startsWith('update credit') && races-- > 0 ? Promise.resolve(NO_ROWS) : undefined,
  )
  const units = [settle(1), hold(2), hold(3, { outputTokens: 11 })]
  assert.deepEqual(kinds(await createPostgresStore(raced).commit({ units, now: NOW })), ['done', 'held', 'refused'])
  assert.equal(raced.begun, 3)
  assert.deepEqual(await creditOf(database), { balance: 110n, held: 100n, charges: 1, completions: 1 })
})

postgresTest('INV-1: a batch that breaks off in the middle has written nothing', async (t) => {
  const { database, postgres, commit } = await storeOn(await temporaryDatabase(t))
  await commit(purchase(1_000n), hold(1))
  for (const table of ['hold', 'completion', 'ledger', 'usage_hour', 'usage_rollup']) {
    const broken = watched(postgres, (statement) =>
      statement.includes(`insert into ${table} `) ? Promise.reject(rolledBack('57P01')) : undefined,
    )
    const units = [settle(1), hold(2)]
    await assert.rejects(createPostgresStore(broken).commit({ units, now: NOW }), { code: 'database_unavailable' })
    assert.equal(broken.begun, 1, 'whether it is committed is not known here: nothing is tried again')
    assert.deepEqual(await creditOf(database), { balance: 1_000n, held: 100n, charges: 0, completions: 0 })
  }
  assert.deepEqual(kinds(await commit(settle(1), hold(2))), ['done', 'held'])
})

const isLock = (statement: string) => statement.endsWith('for no key update')

postgresTest('what a server rolls back for others is tried again, a few times', async (t) => {
  const { postgres, commit } = await storeOn(await temporaryDatabase(t))
  await commit(purchase(1_000n))
  for (const [state, failures, begun] of [
    ['40P01', 4, 5],
    ['40001', 2, 3],
    ['55P03', 1, 2],
  ] as const) {
    let left: number = failures
    const unlucky = watched(postgres, (statement) =>
      isLock(statement) && left-- > 0 ? Promise.reject(rolledBack(state)) : undefined,
    )
    assert.deepEqual(kinds(await createPostgresStore(unlucky).commit({ units: [hold(state)], now: NOW })), ['held'])
    assert.equal(unlucky.begun, begun)
  }
  for (const [state, begun] of [
    ['40P01', 5],
    ['55P03', 2],
    ['53100', 1],
  ] as const) {
    const hopeless = watched(postgres, () => Promise.reject(rolledBack(state)))
    const refused = createPostgresStore(hopeless).commit({ units: [hold('never')], now: NOW })
    await assert.rejects(refused, { code: 'database_unavailable' })
    assert.equal(hopeless.begun, begun)
  }
})

postgresTest('every text arrives as it was, and one that PostgreSQL cannot keep fails alone', async (t) => {
  const { db, commit } = await storeOn(await temporaryDatabase(t))
  const texts = [
    '',
    'NULL',
    'null',
    '"',
    '\\',
    '\\"',
    '{}',
    '{"a","b"}',
    ',',
    ' x ',
    "'; drop table hold; --",
    'é 漢 🙂',
    '$1',
    '\n\t',
  ]
  await commit(purchase(1_000_000n))
  const holds = texts.map((model, index) => hold(index, { model, provider: model, clientRequestId: model }))
  const outcomes = await commit(...holds, hold('zero', { model: 'a\0b' }), hold('none'))
  assert.deepEqual(kinds(outcomes), [...texts.map(() => 'held'), 'failed', 'held'])
  const rows = await db.selectFrom('hold').select(['id', 'model', 'provider', 'client_request_id']).execute()
  for (const [index, text] of texts.entries()) {
    const row = rows.find(({ id }) => id === `chatcmpl-${index}`)
    assert.deepEqual([row?.model, row?.provider, row?.client_request_id], [text, text, text])
  }
  assert.equal(rows.find(({ id }) => id === 'chatcmpl-none')?.client_request_id, null)
})

postgresTest('amounts keep their last digit where numbers would not', async (t) => {
  const { database, commit } = await storeOn(await temporaryDatabase(t))
  const large = 2n ** 62n - 1n
  await commit(purchase(large), hold(1))
  await commit(settle(1, { costNanoUsd: 2n ** 60n + 1n }))
  assert.equal((await creditOf(database)).balance, large - 2n ** 60n - 1n)
})

postgresTest(
  'of many units that the database refuses each fails alone, whatever comes before and after it',
  async (t) => {
    const { database, db, commit } = await storeOn(await temporaryDatabase(t))
    const names = Array.from({ length: 40 }, (_, index) => index)
    await commit(purchase(1_000_000n), ...names.map((name) => hold(name)))
    const isBroken = (name: number) => name % 7 === 3 || name === 39
    const outcomes = await commit(...names.map((name) => settle(name, { promptTokens: isBroken(name) ? -1 : 1 })))
    assert.deepEqual(
      kinds(outcomes),
      names.map((name) => (isBroken(name) ? 'failed' : 'done')),
    )
    const count = names.filter((name) => !isBroken(name)).length
    const held = BigInt(40 - count) * 100n
    assert.deepEqual(await creditOf(database), {
      balance: 1_000_000n - BigInt(count) * 40n,
      held,
      charges: count,
      completions: count,
    })
    await assertSums(db, '%')
  },
)

postgresTest('TIME-1: the time of a batch is the database’s', async (t) => {
  const { db, store } = await storeOn(await temporaryDatabase(t))
  const stamp = async () =>
    Number(
      (
        await sql<{ now: number }>`select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now`.execute(
          db,
        )
      ).rows[0]?.now,
    )
  for (const amount of [1n, 2n]) {
    const before = await stamp()
    const [outcome] = await store.commit({ units: [purchase(amount)] })
    const after = await stamp()
    assert.ok(outcome?.kind === 'entered')
    assert.ok(outcome.entry.createdAt >= before && outcome.entry.createdAt <= after + 1)
  }
})

postgresTest(
  'F14: the answer to a commit is lost: the settlement is charged once, and the hold is given back',
  async (t) => {
    const ref = await currentLocation(t)
    const { database, db, commit } = await storeOn(await temporaryDatabase(t, ref))
    await commit(purchase(1_000n), hold('running'))
    const line = await lossyLine(t, ref)
    const far = await openLocation(line.url)
    t.after(() => far.close())
    const committer = createCommitter({ store: createPostgresStore(watched(far.postgres)), log: quiet })
    line.loseNextCommit()
    const settled = committer.settle(settle('running'))
    await assert.rejects(committer.hold(hold('new')), { code: 'database_unavailable' })
    assert.equal(line.lost(), 1)
    assert.equal((await db.selectFrom('completion').selectAll().execute()).length, 1, 'it was committed')
    await settled
    await committer.close()
    assert.deepEqual(await db.selectFrom('hold').selectAll().execute(), [])
    assert.deepEqual(await creditOf(database), { balance: 960n, held: 0n, charges: 1, completions: 1 })
  },
)

postgresTest(
  'F13, LED-10: while a session keeps an account locked holds are refused, and settlements land when it is free',
  async (t) => {
    const { database, db, store, commit } = await storeOn(await temporaryDatabase(t))
    await commit(purchase(1_000n), hold('running'))
    const locked = Promise.withResolvers<void>()
    const free = Promise.withResolvers<void>()
    const other = db.transaction().execute(async (transaction) => {
      await sql`select 1 from credit where account_id = ${A} for update`.execute(transaction)
      locked.resolve()
      await free.promise
    })
    await locked.promise
    const committer = createCommitter({ store, log: quiet })
    const settled = committer.settle(settle('running'))
    await assert.rejects(committer.hold(hold('early')), { code: 'database_unavailable' })
    free.resolve()
    await Promise.all([other, settled])
    assert.equal((await committer.hold(hold('after'))).kind, 'held')
    await committer.close()
    assert.deepEqual(await creditOf(database), { balance: 960n, held: 100n, charges: 1, completions: 1 })
  },
)

/** Always the same sequence. */
function randomSource(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const LANES = 8
const ROUNDS = 12
const UNITS = 25
const HOT = Array.from({ length: 6 }, (_, index) => `acc_hot_${index}` as AccountId)

/** Each request is held once; what else is asked of it comes from any lane at any time. */
function requestOf(lane: number, round: number, index: number) {
  const accountId = HOT[(lane + round + index) % HOT.length] ?? A
  return { name: `${lane}-${round}-${index}`, accountId, keyId: `${KEY}_${accountId}_${index % 2}` as KeyId }
}

const TOO_OLD = NOW - 400 * 86_400_000

function unitOf(pick: (below: number) => number, at: readonly [lane: number, round: number, index: number]): Unit {
  const draw = pick(10)
  const [, round, index] = at
  const any = requestOf(pick(LANES), pick(round + 1), pick(UNITS))
  const { name, accountId, keyId } = draw < 5 ? requestOf(...at) : any
  const { id } = hold(name)
  if (draw < 5) return hold(name, { accountId, keyId, keyBudgetNanoUsd: index % 3 === 0 ? 9_000n : undefined })
  if (draw < 8) return settle(name, { accountId, keyId, createdAt: TOO_OLD }) // to be charged without a hold
  if (draw < 9) return { kind: 'extend', accountId, id, terms: PREPAID, keyBudgetNanoUsd: 9_000n, nanoUsd: 5n }
  const estimate = { accountId, id, provider: 'p', promptTokens: 1, completionTokens: 1, costNanoUsd: 3n }
  return pick(2) === 0 ? { kind: 'release', accountId, id } : { kind: 'estimates', estimates: [estimate] }
}

postgresTest(
  'INV-1, INV-2, INV-3, INV-6: batches of three processes over the same accounts never wait in a circle, and their sums are right',
  async (t) => {
    const ref = await currentLocation(t)
    const { database, db } = await storeOn(await temporaryDatabase(t, ref))
    await ensureAccounts(database, HOT)
    const others = await Promise.all([openLocation(ref), openLocation(ref)])
    t.after(() => Promise.all(others.map((each) => each.close())))
    const processes = [database, ...others].map(({ postgres }) => watched(postgres))
    const stores = processes.map(createPostgresStore)
    await stores[0]?.commit({ units: HOT.map((account) => purchase(20_000n, account)), now: NOW })
    const pick = randomSource(7)
    const run = async (lane: number) => {
      for (let round = 0; round < ROUNDS; round++) {
        const units = Array.from({ length: UNITS }, (_, index) => unitOf(pick, [lane, round, index]))
        const outcomes = await stores[lane % stores.length]?.commit({ units, now: NOW })
        assert.deepEqual(
          outcomes?.filter(({ kind }) => kind === 'failed'),
          [],
        )
      }
    }
    await Promise.all(Array.from({ length: LANES }, (_, lane) => run(lane)))
    const begun = processes.reduce((sum, each) => sum + each.begun, 0)
    assert.equal(begun, 1 + LANES * ROUNDS, 'nothing had to be tried again')
    await assertSums(db, '%')
    const overdrawn = db.selectFrom('credit').selectAll().whereRef('held_nano_usd', '>', 'balance_nano_usd')
    assert.deepEqual(await overdrawn.execute(), [])
    const completions = await db.selectFrom('completion').select('id').execute()
    const charges = await db.selectFrom('ledger').select('completion_id').where('kind', '=', 'charge').execute()
    assert.ok(charges.length > 50 && charges.length === completions.length, String(charges.length))
  },
)
