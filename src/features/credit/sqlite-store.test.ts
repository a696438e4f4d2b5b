import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { completionRecord, ensureAccounts } from '../../../test/support/completions.ts'
import { completionId, holdUnit, PREPAID } from '../../../test/support/credit-model.ts'
import { temporaryDatabase, temporaryPath } from '../../../test/support/database.ts'
import { openConnection } from '../../db/connection.ts'
import type { OpenedDatabase } from '../../db/open.ts'
import type { ProgramConnection } from '../../db/program.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import type { KeptResult } from '../../domain/credit.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { createCommitter } from './committer.ts'
import { run } from './sqlite-program.ts'
import { createSqliteStore } from './sqlite-store.ts'
import { toWire } from './sqlite-wire.ts'
import type { HoldUnit, LedgerStore, Outcome, SettleUnit, Unit } from './unit.ts'

const A = 'acc_1' as AccountId
const KEY = 'key_1' as KeyId
const NOW = Date.UTC(2026, 4, 20, 12)

async function setUp(t: TestContext, path?: string) {
  const database = await temporaryDatabase(t, path)
  await ensureAccounts(database, [A])
  const store = createSqliteStore(database)
  const commit = (...units: readonly Unit[]) => store.commit({ units, now: NOW })
  return { ...database, database, store, commit }
}

const purchase = (nanoUsd: NanoUsd): Unit => ({
  kind: 'entry',
  accountId: A,
  terms: PREPAID,
  entry: { kind: 'purchase', nanoUsd, note: undefined, adjusts: undefined },
})
const hold = (name: string | number, over: Partial<HoldUnit> = {}) => holdUnit({ id: completionId(name), ...over })
const release = (name: string | number): Unit => ({ kind: 'release', accountId: A, id: completionId(name) })

function settle(
  name: string | number,
  over: Partial<CompletionRecord> = {},
  unit: Partial<SettleUnit> = {},
): SettleUnit {
  const record = completionRecord({
    id: completionId(name),
    accountId: A,
    keyId: KEY,
    costNanoUsd: 40n,
    createdAt: NOW,
    ...over,
  })
  return { kind: 'settle', record, terms: PREPAID, unrecorded: false, kept: undefined, ...unit }
}

const kinds = (outcomes: readonly Outcome[]) => outcomes.map(({ kind }) => kind)

async function credit({ db }: Pick<OpenedDatabase, 'db'>) {
  const row = await db.selectFrom('credit').selectAll().where('account_id', '=', A).executeTakeFirstOrThrow()
  const charges = await db.selectFrom('ledger').selectAll().where('kind', '=', 'charge').execute()
  const completions = await db.selectFrom('completion').select('id').execute()
  return {
    balance: row.balance_nano_usd,
    held: row.held_nano_usd,
    charges: charges.length,
    completions: completions.length,
  }
}

test('a hold is a row with what it would cost if nothing more was heard, and its estimate follows the request', async (t) => {
  const { db, commit } = await setUp(t)
  const ask = hold(1, {
    promptTokens: 3,
    inputPrice: 400,
    outputTokens: 10,
    stream: true,
    clientRequestId: 'mine',
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
  const { database, commit } = await setUp(t)
  await commit(purchase(1_000n), hold(1), hold(2), hold(3))
  assert.deepEqual(kinds(await commit(settle(1), settle(1), release(3), settle(3))), [
    'done',
    'already',
    'done',
    'already',
  ])
  assert.deepEqual(kinds(await commit(settle(2, { status: 'incomplete', usageSource: 'estimated' }))), ['done'])
  assert.deepEqual(kinds(await commit(settle(2), settle(1), release(2))), ['already', 'already', 'already'])
  assert.deepEqual(await credit(database), { balance: 920n, held: 0n, charges: 2, completions: 2 })
})

test('LED-6: two settlements of one completion cannot both be written, even with a second hold of the same id', async (t) => {
  const { database, commit } = await setUp(t)
  await commit(purchase(1_000n), hold(1), settle(1), hold(1))
  assert.deepEqual(kinds(await commit(settle(1))), ['failed'])
  assert.deepEqual(await credit(database), { balance: 960n, held: 100n, charges: 1, completions: 1 })
})

test('what was admitted while the database was away is charged without a hold, once', async (t) => {
  const { database, commit } = await setUp(t)
  const late = settle(1, {}, { unrecorded: true })
  assert.deepEqual(kinds(await commit(purchase(100n), late, late)), ['entered', 'done', 'already'])
  assert.deepEqual(kinds(await commit(late)), ['already'])
  assert.deepEqual(await credit(database), { balance: 60n, held: 0n, charges: 1, completions: 1 })
})

test('INV-9: the database refuses to change or remove what is in the ledger', async (t) => {
  const { db, commit } = await setUp(t)
  await commit(purchase(100n), hold(1), settle(1))
  await assert.rejects(db.updateTable('ledger').set({ amount_nano_usd: 1n }).execute(), /append-only/)
  await assert.rejects(db.deleteFrom('ledger').where('number', '=', 1).execute(), /append-only/)
})

test('a unit that the database refuses fails alone: the others of its batch are committed, in order', async (t) => {
  const { database, commit } = await setUp(t)
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
  assert.match(JSON.stringify(outcomes[1]), /CHECK constraint failed/)
  assert.deepEqual(await credit(database), { balance: 953n, held: 100n, charges: 2, completions: 2 })
  const sums = await database.db.selectFrom('usage_rollup').select(['requests', 'cost_nano_usd']).execute()
  assert.deepEqual(sums, [{ requests: 2, cost_nano_usd: 47n }])
})

const answer = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"id":"x"}' }

async function beginIdempotent({ db }: OpenedDatabase, key: string, subject: string): Promise<KeptResult> {
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
  const { database, db, commit } = await setUp(t)
  const kept = await beginIdempotent(database, 'k', completionId(1))
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
  const { database, db, commit } = await setUp(t)
  const large = { ...(await beginIdempotent(database, 'large', completionId(1))), answer: undefined }
  const lost = await beginIdempotent(database, 'lost', completionId('other'))
  await commit(purchase(1_000n), hold(1), hold(2))
  assert.deepEqual(kinds(await commit(settle(1, {}, { kept: large }), settle(2, {}, { kept: lost }))), ['done', 'done'])
  assert.deepEqual(await db.selectFrom('idempotency').select(['key', 'state', 'body']).orderBy('key').execute(), [
    { key: 'large', state: 'too_large', body: null },
    { key: 'lost', state: 'running', body: null },
  ])
})

test('a key whose budget is new has spent what it came to this month, its settlements of the same batch included', async (t) => {
  const { db, commit } = await setUp(t)
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
  const { database, commit } = await setUp(t)
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
  assert.deepEqual(await credit(database), { balance: 310n, held: 310n, charges: 2, completions: 2 })
})

test('LED-3: a hold that the account does not cover at the moment of writing is not committed, whatever was read', async (t) => {
  const { database, db, commit } = await setUp(t)
  await commit(purchase(1_000n))
  await sql`create trigger thief after insert on hold begin
    update credit set balance_nano_usd = 0 where account_id = new.account_id; end`.execute(db)
  assert.deepEqual(kinds(await commit(hold(1), { kind: 'touch', accountId: A, terms: PREPAID })), ['failed', 'touched'])
  assert.deepEqual(await db.selectFrom('hold').selectAll().execute(), [])
  assert.deepEqual(await credit(database), { balance: 1_000n, held: 0n, charges: 0, completions: 0 })
})

test('a batch that lost a race is carried out again on what is there now, as a whole and once', async (t) => {
  const path = await temporaryPath(t)
  const { database, commit } = await setUp(t, path)
  await commit(purchase(150n), hold(1))
  const connection = openConnection({ path, role: 'writer' })
  t.after(() => connection.close())
  let races = 2
  /** Somebody else takes the rest of the credit, just before it is written. */
  const raced: ProgramConnection = {
    ...connection.program,
    prepare<Row>(text: string) {
      const statement = connection.program.prepare<Row>(text)
      if (!text.startsWith('update credit') || races === 0) return statement
      return { ...statement, run: () => (races-- > 0 ? 0 : assert.fail()) }
    },
  }
  const outcomes = run(raced, toWire({ units: [settle(1), hold(2), hold(3, { outputTokens: 11 })], now: NOW }))
  assert.equal(races, 0)
  assert.deepEqual(kinds(outcomes), ['done', 'held', 'refused'])
  assert.deepEqual(await credit(database), { balance: 110n, held: 100n, charges: 1, completions: 1 })
})

/** A process of its own that asks for holds when told, and says how many it got. */
function otherProcess(t: TestContext, { path, name, count }: { path: string; name: string; count: number }) {
  const at = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)
  const code = `
    import { holdUnit } from ${at('../../../test/support/credit-model.ts')}
    import { openDatabase } from ${at('../../db/open.ts')}
    import { createCommitter } from ${at('./committer.ts')}
    import { createSqliteStore, LEDGER_PROGRAMS } from ${at('./sqlite-store.ts')}
    const database = await openDatabase({ path: ${JSON.stringify(path)}, programs: LEDGER_PROGRAMS })
    const committer = createCommitter({ store: createSqliteStore(database), log: console })
    console.log('ready')
    process.stdin.once('data', async () => {
      const holds = Array.from({ length: ${count} }, async (_, index) => {
        if (index % 7 === 0) await new Promise(setImmediate)
        return committer.hold(holdUnit({ id: 'chatcmpl-${name}-' + index }))
      })
      const outcomes = await Promise.all(holds)
      console.log(outcomes.filter(({ kind }) => kind === 'held').length, outcomes.filter(({ kind }) => kind === 'refused').length)
      process.exit()
    })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { child, line: async () => String((await lines.next()).value) }
}

test('INV-3, F24: of 200 holds at once from two processes on one file, exactly the 10 that fit are granted', async (t) => {
  const path = await temporaryPath(t)
  const { database, db, commit } = await setUp(t, path)
  await commit(purchase(1_099n))
  const others = ['x', 'y'].map((name) => otherProcess(t, { path, name, count: 100 }))
  for (const { line } of others) assert.equal(await line(), 'ready')
  for (const { child } of others) child.stdin.write('go')
  const counts = await Promise.all(others.map(async ({ line }) => (await line()).split(' ').map(Number)))
  const [held, refused] = [0, 1].map((index) => counts.reduce((sum, count) => sum + (count[index] ?? 0), 0))
  assert.deepEqual([held, refused], [10, 190])
  assert.equal((await db.selectFrom('hold').selectAll().execute()).length, 10)
  assert.deepEqual(await credit(database), { balance: 1_099n, held: 1_000n, charges: 0, completions: 0 })
})

test('F15, DUR-3: on a full disk a batch is refused as a whole, and lands when there is space', async (t) => {
  const { database, db, commit } = await setUp(t)
  const names = Array.from({ length: 400 }, (_, index) => index)
  await commit(purchase(1_000_000n), ...names.map((name) => hold(name)))
  const before = await credit(database)
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db)
  await sql`pragma max_page_count = ${sql.raw(String(rows[0]?.page_count))}`.execute(db)
  const batch = [...names.map((name) => hold(`more-${name}`)), ...names.map((name) => settle(name))]
  await assert.rejects(commit(...batch), { code: 'database_unavailable' })
  assert.deepEqual(await credit(database), before)
  await sql`pragma max_page_count = 1000000`.execute(db)
  const outcomes = await commit(...batch)
  assert.ok(outcomes.every(({ kind }) => kind === 'held' || kind === 'done'))
  assert.deepEqual(await credit(database), { balance: 984_000n, held: 40_000n, charges: 400, completions: 400 })
})

test('an empty batch changes nothing and tells whether the database can be written to', async (t) => {
  const { database, db, commit } = await setUp(t)
  await commit(purchase(5n))
  assert.deepEqual(await commit(), [])
  assert.deepEqual(await credit(database), { balance: 5n, held: 0n, charges: 0, completions: 0 })
  await database.close()
  await assert.rejects(commit(), { code: 'database_unavailable' })
  assert.ok(db)
})

const quiet = { warn: () => undefined, error: (fields: object) => assert.fail(JSON.stringify(fields)) }

test('F14: what was committed without an answer is not done twice: a hold is given back, a settlement found done', async (t) => {
  const { database, db, store, commit } = await setUp(t)
  await commit(purchase(1_000n), hold('running'))
  let isLost = true
  const forgetful: LedgerStore = {
    async commit(batch) {
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
  await settled
  await committer.close()
  assert.deepEqual(await db.selectFrom('hold').selectAll().execute(), [])
  assert.deepEqual(await credit(database), { balance: 960n, held: 0n, charges: 1, completions: 1 })
})

test('F12, LED-10: while another process locks the database holds are refused, and settlements land when it is free', async (t) => {
  const path = await temporaryPath(t)
  const { database, store, commit } = await setUp(t, path)
  await commit(purchase(1_000n), hold('running'))
  const other = new DatabaseSync(path)
  t.after(() => other.close())
  other.exec('begin immediate')
  const committer = createCommitter({ store, log: quiet })
  const available = new Promise((resolve) => committer.onAvailability((is) => is && resolve(is)))
  const settled = committer.settle(settle('running'))
  await assert.rejects(committer.hold(hold('early')), { code: 'database_unavailable' })
  if (committer.available()) await assert.rejects(committer.hold(hold('late')), { code: 'database_unavailable' })
  await assert.rejects(committer.hold(hold('later')), { code: 'database_unavailable' })
  other.exec('rollback')
  await Promise.all([settled, available])
  assert.equal((await committer.hold(hold('after'))).kind, 'held')
  await committer.close()
  assert.deepEqual(await credit(database), { balance: 960n, held: 100n, charges: 1, completions: 1 })
})
