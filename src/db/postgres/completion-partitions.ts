/**
 * The partitions of `completion` on PostgreSQL, by the time in the ID: one for each month (UTC), which is created ahead and
 * dropped as a whole; `completion_before` for everything older than the first of them; and `completion_default` for what
 * has no month yet. At first the default partition is the only one, with everything that the table had before it was
 * partitioned; it becomes `completion_before` as it is. Knows no retention periods.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql, type Transaction } from 'kysely'
import { completionIdFloor, timeOfId } from '../../domain/ids.ts'
import { monthNumber, monthStart } from '../../lib/time.ts'
import { LONG_RUNNING } from '../database.ts'
import { isLocked } from '../failure.ts'
import type { Database } from '../schema/schema.ts'

const MONTHS_AHEAD = 3
/** From the conversion to the first month: if its process dies, another has time to repeat it. */
const CONVERTED_AHEAD_MS = 28 * 86_400_000
/** Rows that move from `completion_default` into a new partition; with more of them it is not created. */
const MAX_MOVED_ROWS = 10_000
/** So that a busy month is vacuumed and analyzed long before a fifth of it is new. */
const STORAGE = 'autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02'

export interface Month {
  /** Of the partition. */
  readonly name: string
  /** The lowest ID of the month, and of the next one. */
  readonly from: string
  readonly to: string
  /** Whether rows can no longer change, since it is about to be dropped. */
  readonly isRetiring: boolean
}

/** Returns the months that have a partition, the oldest first. */
export async function readMonthPartitions(db: Kysely<Database>): Promise<readonly Month[]> {
  const partitions = await readPartitions(db)
  return partitions.flatMap(({ from, retiring, ...month }) =>
    from === null ? [] : [{ ...month, from, isRetiring: Number(retiring) === 1 }],
  )
}

interface Partition extends Pick<Month, 'name' | 'to'> {
  /** Null: everything before. */
  readonly from: string | null
  readonly retiring: 0 | 1
}

async function readPartitions(db: Kysely<Database>): Promise<readonly Partition[]> {
  const { rows } = await sql<Partition>`
    select name, substring(bound from 'FROM [(]''(\\w+-\\w+)') as "from", substring(bound from 'TO [(]''(\\w+-\\w+)') as "to",
      exists (select 1 from pg_trigger where tgrelid = partition and tgname = 'completion_retiring') as retiring
    from (select inhrelid as partition, relname as name, pg_get_expr(relpartbound, inhrelid) collate "C" as bound
      from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'completion'::regclass) as found
    where bound <> 'DEFAULT' order by "to"`.execute(db)
  return rows
}

/**
 * Creates the missing partitions of the months after `completion_before`, up to three after `now`.
 * @param now Unix milliseconds.
 * @returns Their names.
 */
export async function createMonthPartitions(
  db: Kysely<Database>,
  now: number,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  let partitions = await readPartitions(db)
  if (partitions.length === 0) {
    await convertDefaultPartition(db, { now, signal })
    partitions = await readPartitions(db)
  }
  const known = new Set(partitions.map(({ to }) => to))
  const created: string[] = []
  const oldest = partitions.find(({ from }) => from !== null) // those before it are dropped
  const first = timeOf(oldest?.from ?? partitions[0]?.to) ?? now
  for (let number = monthNumber(first); number <= monthNumber(now) + MONTHS_AHEAD; number++) {
    const month = monthOf(number)
    if (!known.has(month.to) && (await createMonthPartition(db, month))) created.push(month.name)
  }
  if (created.length > 0 || !(await isAnalyzed(db))) await longRunning(db, 'analyze completion')
  return created
}

/** Unix milliseconds of an ID, or of the lowest one of a millisecond. */
function timeOf(id: string | null | undefined): number | undefined {
  return timeOfId((id ?? '').padEnd(31, '0'), 'chatcmpl-')
}

interface Conversion {
  /** Unix milliseconds. */
  readonly now: number
  readonly signal: AbortSignal | undefined
}

/**
 * Turns the default partition into that of everything before a month to come, after all that is in it. Its rows are
 * read once, for a condition, while others read and write; it is attached in milliseconds.
 */
async function convertDefaultPartition(db: Kysely<Database>, { now, signal }: Conversion): Promise<void> {
  const [last] = await longRunning<{ id: string | null }>(
    db,
    `select max(last.id) as id from account
      cross join lateral (select id from completion where account_id = account.id order by id desc limit 1) as last`,
  )
  const latest = Math.max(now + CONVERTED_AHEAD_MS, timeOf(last?.id) ?? 0)
  const bound = completionIdFloor(monthStart(monthNumber(latest) + 1))
  const dropCondition = 'alter table completion_default drop constraint if exists completion_until'
  const condition = `alter table completion_default add constraint completion_until check (id < '${bound}') not valid`
  try {
    await change(db, 'completion_default', [dropCondition, condition], signal)
    await longRunning(db, 'alter table completion_default validate constraint completion_until')
    const statements = [
      'alter table completion detach partition completion_default',
      'alter table completion_default rename to completion_before',
      `alter table completion attach partition completion_before for values from (minvalue) to ('${bound}')`,
      'alter table completion_before drop constraint completion_until',
      'create table completion_default partition of completion default',
    ]
    await change(db, 'completion_default', statements, signal)
  } catch (error) {
    await change(db, 'completion_default', [dropCondition]) // it would refuse completions from that month on
    throw error
  }
}

/** Whether the planner has figures of all partitions together, which autovacuum does not collect. */
async function isAnalyzed(db: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql`select 1 from pg_stats
    where schemaname = current_schema() and tablename = 'completion' and inherited limit 1`.execute(db)
  return rows.length > 0
}

async function longRunning<Row>(db: Kysely<Database>, statement: string): Promise<readonly Row[]> {
  return await db.transaction().execute(async (inside) => {
    await sql`set local statement_timeout = '1h'`.execute(inside)
    return (await sql.raw<Row>(`${statement} ${LONG_RUNNING}`).execute(inside)).rows
  })
}

type Range = Pick<Month, 'name' | 'from' | 'to'>

function monthOf(number: number): Range {
  const start = monthStart(number)
  const name = `completion_${new Date(start).toISOString().slice(0, 7).replace('-', '_')}`
  return { name, from: completionIdFloor(start), to: completionIdFloor(monthStart(number + 1)) }
}

/**
 * Attaches a new table, which others do not wait for, and takes what `completion_default` has of the month: readers and
 * writers of that partition wait meanwhile. @returns False: there are too many rows of it, which retention deletes there.
 */
async function createMonthPartition(db: Kysely<Database>, { name, from, to }: Range): Promise<boolean> {
  const ofMonth = sql`completion_default where id >= ${from} and id < ${to}`
  const found = await sql<{ count: number }>`select count(*) as count
    from (select 1 from ${ofMonth} limit ${MAX_MOVED_ROWS + 1}) as found`.execute(db)
  if ((found.rows[0]?.count ?? 0) > MAX_MOVED_ROWS) return false
  await db.transaction().execute(async (inside) => {
    await sql`set local lock_timeout = '1s'`.execute(inside)
    await sql`set local statement_timeout = '2s'`.execute(inside)
    await sql
      .raw(`create table ${name} (like completion including defaults including constraints) with (${STORAGE})`)
      .execute(inside)
    await sql`lock table completion_default in access exclusive mode`.execute(inside)
    await sql`with moved as (delete from ${ofMonth} returning *)
      insert into ${sql.table(name)} select * from moved`.execute(inside)
    await sql
      .raw(`alter table completion attach partition ${name} for values from ('${from}') to ('${to}')`)
      .execute(inside)
  })
  return true
}

/**
 * Drops a month with its rows, and adds their cost to `retired_usage` in the same transaction. Its rows cannot change from
 * here on. To repeat after a failure.
 * @returns The number of rows.
 */
export async function dropMonthPartition(db: Kysely<Database>, { name }: Month, signal?: AbortSignal): Promise<number> {
  const refuseChanges = `create or replace trigger completion_retiring before insert or update or delete on ${name}
    for each row execute function turnpike_refuse_change()`
  await change(db, name, [refuseChanges], signal)
  return await db.transaction().execute(async (inside) => {
    await sql`set local statement_timeout = '1h'`.execute(inside)
    await cancelAutovacuum(inside, name)
    const { rows } = await sql<{ count: number }>`
      with sums as (select account_id, sum(cost_nano_usd) as cost, count(*) as count from ${sql.table(name)} group by 1),
        noted as (insert into retired_usage (account_id, cost_nano_usd) select account_id, cost from sums where cost > 0
          on conflict (account_id) do update set cost_nano_usd = retired_usage.cost_nano_usd + excluded.cost_nano_usd)
      select coalesce(sum(count), 0) as count from sums ${sql.raw(LONG_RUNNING)}`.execute(inside)
    await withoutQueue(inside, [`drop table ${name}`], signal)
    return rows[0]?.count ?? 0
  })
}

/** Whoever needs a table that a statement waits for waits behind it. */
const QUEUE_TIMEOUT = '100ms'
const RETRY_MS = 400
const MAX_ATTEMPTS = 100

function change(
  db: Kysely<Database>,
  table: string,
  statements: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  return db.transaction().execute(async (inside) => {
    await cancelAutovacuum(inside, table)
    await withoutQueue(inside, statements, signal)
  })
}

/** Until the transaction ends. The server cancels it for a waiting lock after a second: nobody waits for this one. */
async function cancelAutovacuum(transaction: Transaction<Database>, table: string): Promise<void> {
  await sql`lock table ${sql.table(table)} in share update exclusive mode`.execute(transaction)
}

/** Executes statements that need locks at a moment when they get them at once. */
async function withoutQueue(
  transaction: Transaction<Database>,
  statements: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  await sql.raw(`set local lock_timeout = '${QUEUE_TIMEOUT}'`).execute(transaction)
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    await sql`savepoint attempt`.execute(transaction)
    try {
      for (const statement of statements) await sql.raw(statement).execute(transaction)
      return
    } catch (error) {
      if (!isLocked(error) || attempt >= MAX_ATTEMPTS) throw error
      await sql`rollback to savepoint attempt`.execute(transaction)
    }
    await sleep(RETRY_MS)
  }
}
