/** Alerts in the database: in the same transaction as what they tell, and once, whoever charges and however often. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import { currentLocation, dialect, openLocation, temporaryDatabase } from '../../../test/support/database.ts'
import { PREPAID } from '../../../test/support/ledger/credit-model.ts'
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
} from '../../../test/support/ledger/ledger-store.ts'
import { lossyLine, postgresTest } from '../../../test/support/ledger/postgres-ledger.ts'
import type { Database } from '../../db/schema/schema.ts'
import { monthNumber } from '../../lib/time.ts'
import { createCommitter } from './commit/committer.ts'
import { createLedgerStore } from './ledger/store.ts'
import type { Outcome, Unit } from './ledger/unit.ts'

const MONTH = monthNumber(NOW)
const quiet = { warn: () => undefined, error: () => undefined }

const openStore = async (t: TestContext, place?: string) => storeOn(await temporaryDatabase(t, place))

const settings = (alertThresholds: readonly number[], monthlyBudgetNanoUsd: bigint | null = null): Unit => ({
  kind: 'settings',
  accountId: A,
  terms: PREPAID,
  monthlyBudgetNanoUsd,
  alertThresholds,
})

/** `month from May, event, basis, threshold, spent, limit` */
async function alertsIn({ db }: { readonly db: Kysely<Database> }): Promise<readonly string[]> {
  const rows = await db.selectFrom('usage_alert').selectAll().execute()
  for (const row of rows) assert.deepEqual([row.account_id, row.told], [A, 0])
  return rows
    .map((row) => [row.month - MONTH, row.event, row.basis, row.threshold, row.spent_nano_usd, row.limit_nano_usd])
    .map((row) => row.join(' '))
    .sort()
}

test('what a charge and a refusal tell is there with them, in any order within a batch', async (t) => {
  const store = await openStore(t)
  await store.commit(purchase(200n), settings([50]), hold(1), hold(2))
  assert.deepEqual(await alertsIn(store), [])
  await store.commit(hold(3), settle(1, { costNanoUsd: 99n }))
  assert.deepEqual(await alertsIn(store), [], 'others hold what there is, and may give it back')
  await store.commit(settle(2, { costNanoUsd: 30n }), hold(4), hold(5))
  assert.deepEqual(await alertsIn(store), ['0 credit.exhausted credit 100 129 200', '0 usage.alert credit 50 129 200'])
})

test('what was told stays as it was, and is not told again when a purchase is used up in the same month; the next month tells', async (t) => {
  const store = await openStore(t)
  await store.commit(purchase(100n), settings([100]), hold(1), settle(1, { costNanoUsd: 100n }))
  await store.db.updateTable('usage_alert').set({ told: 1 }).execute()
  const before = await store.db.selectFrom('usage_alert').selectAll().execute()
  assert.equal(before.length, 2)
  await store.commit(purchase(100n), hold(2), settle(2, { costNanoUsd: 100n }), hold(3))
  assert.deepEqual(await store.db.selectFrom('usage_alert').selectAll().execute(), before)
  await store.db.deleteFrom('usage_alert').execute()
  const units = [purchase(50n), hold(4, { outputTokens: 50 }), settle(4, { costNanoUsd: 50n })]
  await store.store.commit({ units, now: Date.UTC(2026, 5, 1) })
  assert.deepEqual(await alertsIn(store), ['1 credit.exhausted credit 100 50 50', '1 usage.alert credit 100 50 50'])
})

test('within a budget the alerts are of the budget, and the end of the credit is told nevertheless', async (t) => {
  const store = await openStore(t)
  await store.commit(purchase(100n), settings([10, 100], 1_000n), hold(1))
  await store.commit(settle(1, { costNanoUsd: 100n }))
  assert.deepEqual(await alertsIn(store), ['0 credit.exhausted credit 100 100 100', '0 usage.alert budget 10 100 1000'])
})

test('an alert that tells of a charge is not there when the charge is refused, and the charge is not when the alert is', async (t) => {
  const store = await openStore(t)
  await store.commit(purchase(100n), hold(1), hold('other', { outputTokens: 0 }))
  const broken = settle(1, { costNanoUsd: 100n, promptTokens: -1 })
  const other = settle('other', { costNanoUsd: 0n })
  assert.deepEqual(kinds(await store.commit(broken, other)), ['failed', 'done'])
  assert.deepEqual(await alertsIn(store), [])
  await refuseAlerts(store.db)
  assert.deepEqual(kinds(await store.commit(settle(1, { costNanoUsd: 100n }))), ['failed'])
  assert.deepEqual(await creditOf(store), { balance: 100n, held: 100n, charges: 0, completions: 1 })
  assert.deepEqual(await alertsIn(store), [])
})

const NO_ALERTS =
  dialect === 'sqlite'
    ? [sql`create trigger no_alerts before insert on usage_alert begin select raise(abort, 'no'); end`]
    : [
        sql`create function no_alerts() returns trigger as $$ begin raise exception 'no'; end $$ language plpgsql`,
        sql`create trigger no_alerts before insert on usage_alert for each row execute function no_alerts()`,
      ]

async function refuseAlerts(db: Kysely<Database>): Promise<void> {
  for (const statement of NO_ALERTS) await statement.execute(db)
}

const CHARGES = 20
const COST = 50n
/** As many as a store has connections: more would only wait for one, and not for ever. */
const AT_ONCE = 4

test('two stores on one database that charge and refuse at once, each everything, tell everything once, with the figures of one moment', async (t) => {
  const place = await currentLocation(t)
  const { database, db, commit } = await openStore(t, place)
  const second = await openLocation(place)
  t.after(() => second.close())
  const credit = COST * BigInt(CHARGES)
  const names = Array.from({ length: CHARGES }, (_, index) => index)
  await commit(purchase(credit), settings([25, 50, 100]), ...names.map((name) => hold(name, { outputTokens: 50 })))
  const stores = [createLedgerStore(database), createLedgerStore(second)]
  const commits = stores.flatMap((store, index) => {
    const units = names.flatMap((name) => [settle(name, { costNanoUsd: COST }), hold(`late ${index} ${name}`)])
    return Array.from({ length: AT_ONCE }, async (_, lane) => {
      const outcomes: Outcome[] = []
      for (const unit of units.filter((_unit, at) => at % AT_ONCE === lane))
        outcomes.push(...(await store.commit({ units: [unit], now: NOW })))
      return outcomes
    })
  })
  const outcomes = kinds((await Promise.all(commits)).flat())
  const count = (kind: string) => outcomes.filter((each) => each === kind).length
  assert.deepEqual([count('done'), count('already'), count('refused')], [CHARGES, CHARGES, 2 * CHARGES])
  assert.deepEqual(await creditOf(database), { balance: 0n, held: 0n, charges: CHARGES, completions: CHARGES })
  const rows = await db.selectFrom('usage_alert').selectAll().orderBy('event').orderBy('threshold').execute()
  assert.deepEqual(
    rows.map(({ event, threshold }) => `${event} ${threshold}`),
    ['credit.exhausted 100', 'usage.alert 25', 'usage.alert 50', 'usage.alert 100'],
  )
  const entries = await db.selectFrom('ledger').select('balance_nano_usd').where('kind', '=', 'charge').execute()
  const balances = new Set(entries.map(({ balance_nano_usd: balance }) => balance))
  for (const row of rows) {
    assert.equal(row.limit_nano_usd, credit)
    assert.ok(balances.has(row.limit_nano_usd - row.spent_nano_usd), 'a balance that the ledger has had')
  }
  const [exhausted, quarter, half] = rows
  assert.deepEqual([quarter?.spent_nano_usd, half?.spent_nano_usd], [credit / 4n, credit / 2n])
  assert.ok(exhausted !== undefined && credit - exhausted.spent_nano_usd < 100n, 'less was left than was asked for')
})

postgresTest('F14: a charge whose answer was lost is told once, however often it is asked for', async (t) => {
  const place = await currentLocation(t)
  const store = await openStore(t, place)
  await store.commit(purchase(100n), settings([]), hold('running'))
  const line = await lossyLine(t, place)
  const far = await openLocation(line.url)
  t.after(() => far.close())
  const committer = createCommitter({ store: createLedgerStore(far), log: quiet })
  line.loseNextCommit()
  await committer.settle(settle('running', { costNanoUsd: 100n, keyId: KEY, createdAt: Date.now() }))
  await committer.close()
  assert.equal(line.lost(), 1)
  const rows = await store.db.selectFrom('usage_alert').select(['event', 'spent_nano_usd', 'limit_nano_usd']).execute()
  assert.deepEqual(rows, [{ event: 'credit.exhausted', spent_nano_usd: 100n, limit_nano_usd: 100n }])
  assert.deepEqual(await creditOf(store), { balance: 0n, held: 0n, charges: 1, completions: 1 })
})
