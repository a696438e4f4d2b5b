import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { PREPAID } from '../../../../../test/support/ledger/credit-model.ts'
import {
  A,
  creditOf,
  hold,
  kinds,
  NOW,
  purchase,
  settle,
  storeOn,
} from '../../../../../test/support/ledger/ledger-store.ts'
import { temporaryPath, temporarySqlite } from '../../../../../test/support/sqlite-file.ts'
import { openConnection, type ProgramConnection } from '../../../../db/sqlite/connection.ts'
import { createCommitter } from '../../commit/committer.ts'
import { run } from './program.ts'
import { toWire } from './store.ts'

const openStore = async (t: TestContext, path?: string) => storeOn(await temporarySqlite(t, path))

test('LED-3: a hold that the account does not cover at the moment of writing is not committed, whatever was read', async (t) => {
  const { database, db, commit } = await openStore(t)
  await commit(purchase(1_000n))
  await sql`create trigger thief after insert on hold begin
    update credit set balance_nano_usd = 0 where account_id = new.account_id; end`.execute(db)
  assert.deepEqual(kinds(await commit(hold(1), { kind: 'touch', accountId: A, terms: PREPAID })), ['failed', 'touched'])
  assert.deepEqual(await db.selectFrom('hold').selectAll().execute(), [])
  assert.deepEqual(await creditOf(database), { balance: 1_000n, held: 0n, charges: 0, completions: 0 })
})

test('a batch that lost a race is carried out again on what is there now, as a whole and once', async (t) => {
  const path = await temporaryPath(t)
  const { database, commit } = await openStore(t, path)
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
  assert.deepEqual(await creditOf(database), { balance: 110n, held: 100n, charges: 1, completions: 1 })
})

test('F15, DUR-3: on a full disk a batch is refused as a whole, and lands when there is space', async (t) => {
  const { database, db, commit } = await openStore(t)
  const names = Array.from({ length: 400 }, (_, index) => index)
  await commit(purchase(1_000_000n), ...names.map((name) => hold(name)))
  const before = await creditOf(database)
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db)
  await sql`pragma max_page_count = ${sql.raw(String(rows[0]?.page_count))}`.execute(db)
  const batch = [...names.map((name) => hold(`more-${name}`)), ...names.map((name) => settle(name))]
  await assert.rejects(commit(...batch), { code: 'database_unavailable' })
  assert.deepEqual(await creditOf(database), before)
  await sql`pragma max_page_count = 1000000`.execute(db)
  const outcomes = await commit(...batch)
  assert.ok(outcomes.every(({ kind }) => kind === 'held' || kind === 'done'))
  assert.deepEqual(await creditOf(database), { balance: 984_000n, held: 40_000n, charges: 400, completions: 400 })
})

const quiet = { warn: () => undefined, error: (fields: object) => assert.fail(JSON.stringify(fields)) }

test('F12, LED-10: while another process locks the database holds are refused, and settlements land when it is free', async (t) => {
  const path = await temporaryPath(t)
  const { database, store, commit } = await openStore(t, path)
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
  assert.deepEqual(await creditOf(database), { balance: 960n, held: 100n, charges: 1, completions: 1 })
})
