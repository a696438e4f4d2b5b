import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { openLocation, postgresTest, temporaryDatabase, temporaryLocation } from '../../../test/support/database.ts'
import { completionIdAt, completionRecord, recordCompletions } from '../../../test/support/ledger/completions.ts'
import { createPartitionsSince } from '../../../test/support/ledger/month-partitions.ts'
import type { OpenedDatabase } from '../database.ts'
import { createMonthPartitions, dropMonthPartition, readMonthPartitions } from './completion-partitions.ts'

const at = (day: string) => Date.parse(`${day}T12:00:00Z`)
const MARCH = at('2027-03-10')

/** Partitions that have rows. */
async function rowsByPartition({ db }: OpenedDatabase) {
  const { rows } = await sql<{ name: string; count: number }>`
    select tableoid::regclass::text as name, count(*) as count from completion group by 1`.execute(db)
  return Object.fromEntries(rows.map(({ name, count }) => [name.replace(/.*\./, ''), count]))
}

const namesOf = async ({ db }: OpenedDatabase) => (await readMonthPartitions(db)).map(({ name }) => name)

postgresTest('months are made three ahead, once, and completions are in that of their ID', async (t) => {
  const database = await temporaryDatabase(t)
  await createPartitionsSince(database, at('2027-02-28'), MARCH)
  const names = ['02', '03', '04', '05', '06'].map((month) => `completion_2027_${month}`)
  assert.deepEqual(await namesOf(database), names)
  assert.deepEqual(await createMonthPartitions(database.db, MARCH), [])
  assert.deepEqual(await createMonthPartitions(database.db, at('2027-05-01')), [
    'completion_2027_07',
    'completion_2027_08',
  ])
  const times = [Date.UTC(2027, 1, 1) - 1, Date.UTC(2027, 1, 1), Date.UTC(2027, 2, 1) - 1, Date.UTC(2027, 2, 1)]
  await recordCompletions(
    database,
    times.map((createdAt) => completionRecord({ createdAt })),
  )
  const expected = { completion_before: 1, completion_2027_02: 2, completion_2027_03: 1 }
  assert.deepEqual(await rowsByPartition(database), expected)
})

postgresTest('months begin after the latest completion that there is, whatever its clock was', async (t) => {
  const database = await temporaryDatabase(t)
  const ahead = completionRecord({ createdAt: at('2027-09-10') })
  await recordCompletions(database, [completionRecord({ createdAt: MARCH }), ahead])
  assert.deepEqual(await rowsByPartition(database), { completion_default: 2 })
  assert.deepEqual(await createMonthPartitions(database.db, MARCH), [])
  assert.deepEqual(await rowsByPartition(database), { completion_before: 2 })
  assert.deepEqual(await createMonthPartitions(database.db, at('2027-07-01')), ['completion_2027_10'])
})

postgresTest('a beginning of months that fails leaves nothing that refuses completions, and is repeated', async (t) => {
  const database = await temporaryDatabase(t)
  await recordCompletions(database, [completionRecord({ createdAt: MARCH })])
  await sql`create table completion_before ()`.execute(database.db)
  await assert.rejects(createMonthPartitions(database.db, MARCH), /already exists/)
  const condition = sql`select 1 from pg_constraint where conname = 'completion_until'`
  assert.deepEqual((await condition.execute(database.db)).rows, [])
  await sql`drop table completion_before`.execute(database.db)
  await sql`alter table completion_default add constraint completion_until check (id < 'd')`.execute(database.db)
  await createMonthPartitions(database.db, MARCH)
  assert.deepEqual((await condition.execute(database.db)).rows, [])
  assert.deepEqual(await rowsByPartition(database), { completion_before: 1 })
})

postgresTest('a completion of a month without a partition is stored, and moves there when it is made', async (t) => {
  const database = await temporaryDatabase(t)
  await createPartitionsSince(database, MARCH, MARCH)
  const far = completionRecord({ createdAt: at('2030-01-01') })
  const soon = completionRecord({ createdAt: at('2027-07-15') })
  await recordCompletions(database, [far, soon])
  assert.deepEqual(await rowsByPartition(database), { completion_default: 2 })
  await createMonthPartitions(database.db, at('2027-04-01'))
  assert.deepEqual(await rowsByPartition(database), { completion_2027_07: 1, completion_default: 1 })
  const ids = await database.db.selectFrom('completion').select('id').orderBy('id').execute()
  assert.deepEqual(ids, [{ id: soon.id }, { id: far.id }])
})

postgresTest(
  'a month with many rows that came before its partition stays where it is, and the next is made [limit: months-moved]',
  async (t) => {
    const database = await temporaryDatabase(t)
    await createPartitionsSince(database, MARCH, MARCH)
    await recordCompletions(database, [completionRecord({ createdAt: at('2027-07-15') })])
    await sql`insert into completion select (json_populate_record(completion, json_build_object('id',
      substr(id, 1, 17) || cast(10000000000000 + i as text)))).* from completion, generate_series(1, 10000) as i`.execute(
      database.db,
    )
    assert.deepEqual(await createMonthPartitions(database.db, at('2027-05-01')), ['completion_2027_08'])
    assert.deepEqual(await rowsByPartition(database), { completion_default: 10_001 })
  },
)

postgresTest('a month is dropped when nobody reads, and cannot change from the beginning', async (t) => {
  const location = await temporaryLocation(t)
  const database = await temporaryDatabase(t, location)
  const other = await openLocation(location)
  t.after(() => other.close())
  await createPartitionsSince(database, at('2027-02-01'), MARCH)
  const record = completionRecord({ createdAt: at('2027-02-03'), costNanoUsd: 7n })
  const free = completionRecord({ createdAt: at('2027-02-04'), costNanoUsd: 0n })
  await recordCompletions(database, [record, free])
  const [february = assert.fail()] = await readMonthPartitions(database.db)
  assert.equal(february.isRetiring, false)
  await other.db.transaction().execute(async (reading) => {
    await sql`select count(*) from completion`.execute(reading)
    const stop = AbortSignal.timeout(1_500)
    await assert.rejects(dropMonthPartition(database.db, february, stop), { name: 'TimeoutError' })
    const late = completionRecord({ createdAt: at('2027-03-03') })
    await recordCompletions(database, [late]) // writers do not wait for the reader
  })
  const [frozen = assert.fail()] = await readMonthPartitions(database.db)
  assert.equal(frozen.isRetiring, true)
  const change = database.db.updateTable('completion').set({ cost_nano_usd: 8n }).where('id', '=', record.id)
  await assert.rejects(change.execute(), /is append-only/)
  const insertion = recordCompletions(database, [completionRecord({ id: completionIdAt(at('2027-02-05')) })])
  await assert.rejects(insertion, /is append-only/)
  assert.equal(await dropMonthPartition(database.db, frozen), 2)
  assert.deepEqual(
    await namesOf(database),
    ['03', '04', '05', '06'].map((month) => `completion_2027_${month}`),
  )
  assert.deepEqual(await rowsByPartition(database), { completion_2027_03: 1 })
  const retired = await database.db.selectFrom('retired_usage').selectAll().execute()
  assert.deepEqual(retired, [{ account_id: record.accountId, cost_nano_usd: 7n }])
  await assert.rejects(dropMonthPartition(database.db, frozen), /does not exist/)
  assert.deepEqual(await createMonthPartitions(database.db, MARCH), [], 'what is dropped is not made again')
})
