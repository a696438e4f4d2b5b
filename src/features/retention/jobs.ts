/** Deletes data after its retention period. Ledger, invoices, usage alerts and the sums by hour and day are never deleted. */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { dialectOf } from '../../db/database.ts'
import {
  createMonthPartitions,
  dropMonthPartition,
  type Month,
  readMonthPartitions,
} from '../../db/postgres/completion-partitions.ts'
import type { Database, IdempotencyTable } from '../../db/schema/schema.ts'
import { type AccountId, type CompletionId, completionIdFloor } from '../../domain/ids.ts'
import { BATCH_ROWS, inBatches } from '../../jobs/batched-deletion.ts'
import { every, type JobKind } from '../../jobs/job.ts'
import { forgetEnded } from '../../jobs/queue.ts'
import { monthNumber } from '../../lib/time.ts'
import type { FeatureDeps } from '../deps.ts'

const MINUTE_MS = 60_000
/** Partitions of completions are created ahead. */
const MONTHS_EVERY_MINUTES = 6 * 60
const DAY_MS = 24 * 3_600_000
const KEEP_JOBS_MS = 7 * DAY_MS
const KEEP_REJECTIONS_MS = 7 * DAY_MS
const KEEP_INSTANCES_MS = DAY_MS
/** Of an export that is no longer configured: until then completions are marked for it. */
const KEEP_EXPORTS_MS = 30 * DAY_MS
const KEEP_PROVIDER_HOURS = 30 * 24
const KEEP_PERFORMANCE_HOURS = 35 * 24
/** Retention of denied attempts; other audit events are kept permanently. */
const KEEP_DENIED_MS = 400 * DAY_MS
/** Minimum retention of usage rows. */
const KEEP_DAYS = 400
/** The longest time from the start of a completion to its ledger entry, even after an outage of the database. */
const SETTLED_WITHIN_MS = 31 * DAY_MS
const ACCOUNTS_PER_QUERY = 200
/** Hours of accounts, each of some hundred rows. */
const HOURS_AT_ONCE = 100

interface RetentionJobsInput extends Omit<RetentionInput, 'signal'> {
  /** How long a stored response is kept. */
  readonly responseDays: () => number
}

/** Background work of retention, by the names of its kinds. */
export function retentionJobs({ responseDays, ...input }: RetentionJobsInput): Readonly<Record<string, JobKind>> {
  const repeated = (minutes: number, work: (input: RetentionInput) => Promise<number>) =>
    every(minutes * MINUTE_MS, (_job, { signal }) => work({ ...input, signal }))
  return {
    'retention.idempotency': repeated(15, deleteIdempotencyKeys),
    'retention.months': repeated(MONTHS_EVERY_MINUTES, createPartitions),
    'retention.usage': repeated(60, retireUsage),
    'retention.traces': repeated(60, deleteTraces),
    'retention.rejections': repeated(60, deleteRejections),
    'retention.responses': repeated(15, (given) => deleteResponses(given, responseDays())),
  }
}

/** @returns The number of partitions that were created. */
export async function createPartitions({ db, now, signal }: RetentionInput): Promise<number> {
  return dialectOf(db) === 'postgres' ? (await createMonthPartitions(db, now(), signal)).length : 0
}

/** @returns The number of deleted rows. */
export async function deleteTraces({ db, now, signal }: RetentionInput): Promise<number> {
  const endedBefore = now() - KEEP_JOBS_MS
  const jobs = await inBatches(() => forgetEnded(db, { endedBefore, limit: BATCH_ROWS }), signal)
  await db
    .deleteFrom('provider_hour')
    .where('hour', '<', Math.floor(now() / 3_600_000) - KEEP_PROVIDER_HOURS)
    .execute()
  const hours = await inBatches(
    () => deletePerformance(db, Math.floor(now() / 3_600_000) - KEEP_PERFORMANCE_HOURS),
    signal,
  )
  const gone = db.deleteFrom('instance').where('seen_at', '<', now() - KEEP_INSTANCES_MS)
  const instances = Number((await gone.executeTakeFirst()).numDeletedRows)
  await deleteExports(db, now() - KEEP_EXPORTS_MS)
  return jobs + hours + instances + (await inBatches(() => deleteDenied(db, now() - KEEP_DENIED_MS), signal))
}

async function deleteExports(db: Kysely<Database>, before: number): Promise<void> {
  await db.deleteFrom('analytics_export').where('run_at', '<', before).execute()
  const known = db.selectFrom('analytics_export').select('name')
  await db.deleteFrom('analytics_export_late').where('export', 'not in', known).execute()
}

/** Responses deleted in one transaction, which may each be as large as `responses.max_bytes`. */
const BATCH_RESPONSES = 50

/** Deletes stored responses. @returns Their number. */
export async function deleteResponses({ db, now, signal }: RetentionInput, days: number): Promise<number> {
  const before = now() - days * DAY_MS
  const oldest = db
    .selectFrom('response')
    .select(['account_id', 'id'])
    .where('created_at', '<', before)
    .orderBy('created_at')
    .limit(BATCH_RESPONSES)
  return await inBatches(async () => {
    const deleting = db
      .deleteFrom('response')
      .where(({ eb, refTuple }) => eb(refTuple('account_id', 'id'), 'in', oldest.$asTuple('account_id', 'id')))
    return Number((await deleting.executeTakeFirst()).numDeletedRows)
  }, signal)
}

/** @returns The number of deleted rows. */
export async function deleteRejections({ db, now, signal }: RetentionInput): Promise<number> {
  const old = db
    .selectFrom('rejection')
    .select(['account_id', 'request_id'])
    .where('created_at', '<', now() - KEEP_REJECTIONS_MS)
    .limit(BATCH_ROWS)
  const deleting = db
    .deleteFrom('rejection')
    .where(({ eb, refTuple }) =>
      eb(refTuple('account_id', 'request_id'), 'in', old.$asTuple('account_id', 'request_id')),
    )
  return await inBatches(async () => Number((await deleting.executeTakeFirst()).numDeletedRows), signal)
}

/** What is old is looked for outside of the transaction that deletes it: the table is not sorted by hour. */
async function deletePerformance(db: Kysely<Database>, beforeHour: number): Promise<number> {
  const old = await db
    .selectFrom('performance_hour')
    .select(['account_id', 'hour'])
    .distinct()
    .where('hour', '<', beforeHour)
    .limit(HOURS_AT_ONCE)
    .execute()
  let deleted = 0
  for (const { account_id: accountId, hour } of old) {
    const day = Math.floor(hour / 24)
    await db.deleteFrom('performance_day').where('account_id', '=', accountId).where('day', '=', day).execute()
    const deleting = db.deleteFrom('performance_hour').where('account_id', '=', accountId).where('hour', '=', hour)
    deleted += Number((await deleting.executeTakeFirst()).numDeletedRows)
  }
  return deleted
}

async function deleteDenied(db: Kysely<Database>, before: number): Promise<number> {
  const old = db
    .selectFrom('audit')
    .select(['account_id', 'id'])
    .where('result', '=', 'denied')
    .where('created_at', '<', before)
    .limit(BATCH_ROWS)
  const deleting = db
    .deleteFrom('audit')
    .where(({ eb, refTuple }) => eb(refTuple('account_id', 'id'), 'in', old.$asTuple('account_id', 'id')))
  return Number((await deleting.executeTakeFirst()).numDeletedRows)
}

/** The difference between the times in an ID and `created_at` if the clock is set in between. */
const ID_TOLERANCE_MS = 60_000

/**
 * Deletes old usage rows that are on a closed invoice or cost nothing, and their sums by tag, session and the like. The other
 * sums and the ledger stay; the cost of deleted rows is summed in `credit` and `retired_usage`, so that the books still
 * balance. Rows of a partition of PostgreSQL stay until all of its month is old, and go with it.
 * @returns The number of deleted rows.
 */
export async function retireUsage(input: RetentionInput): Promise<number> {
  const { db, now, signal } = input
  const old = now() - KEEP_DAYS * DAY_MS
  const months = dialectOf(db) === 'postgres' ? await readMonthPartitions(db) : []
  const isOld = ({ to }: Month) => to <= completionIdFloor(old - ID_TOLERANCE_MS)
  let total = 0
  for (const month of await droppable(db, months.filter(isOld), old)) {
    total += await retireRows(input, { old, below: month.from }) // an account's rows go in their order
    total += await dropMonthPartition(db, month, signal)
  }
  const begun = months.find((month) => !isOld(month) && month.from < completionIdFloor(old))
  return total + (await retireRows(input, { old, below: begun?.from ?? completionIdFloor(old) }))
}

/** Those in which no account has rows that must stay. */
async function droppable(db: Kysely<Database>, months: readonly Month[], old: number): Promise<readonly Month[]> {
  const below = months.at(-1)?.to
  if (below === undefined) return []
  const wanted = new Set<string>()
  for await (const account of accountsWithOldRows(db, { old, below })) {
    const before = deletableBefore(account, old) ?? 0
    if (before === old) continue
    for (const { name, to, from } of months) {
      const kept = completionIdFloor(before)
      const query = db
        .selectFrom('completion')
        .select('id')
        .where('account_id', '=', account.id)
        .where('id', '>=', (kept > from ? kept : from) as CompletionId)
        .where('id', '<', to as CompletionId)
      if ((await query.limit(1).executeTakeFirst()) !== undefined) wanted.add(name)
    }
  }
  return months.filter(({ name, isRetiring }) => isRetiring || !wanted.has(name))
}

interface OldRows {
  /** Unix milliseconds. */
  readonly old: number
  /** The lowest ID that stays. */
  readonly below: string
}

async function retireRows({ db, signal }: RetentionInput, { old, below }: OldRows): Promise<number> {
  let total = 0
  for await (const account of accountsWithOldRows(db, { old, below })) {
    const before = deletableBefore(account, old)
    if (before === undefined) continue
    total += await inBatches(() => deleteRows(db, { id: account.id, before, below }), signal)
    await inBatches(() => deleteDimensionSums(db, { id: account.id, before }), signal)
  }
  return total
}

async function* accountsWithOldRows(db: Kysely<Database>, rows: OldRows): AsyncGenerator<AccountWithOldRows> {
  let after = ''
  for (;;) {
    const accounts = await readAccounts(db, rows, after)
    yield* accounts
    const last = accounts.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

type AccountWithOldRows = Awaited<ReturnType<typeof readAccounts>>[number]

function readAccounts(db: Kysely<Database>, { old, below }: OldRows, after: string) {
  return db
    .selectFrom('account')
    .leftJoin('credit', 'credit.account_id', 'account.id')
    .select(['account.id', 'credit.entries', 'credit.entered_at'])
    .select(({ selectFrom }) =>
      selectFrom('invoice')
        .select('invoice.period_end')
        .whereRef('invoice.account_id', '=', 'account.id')
        .orderBy('invoice.number', 'desc')
        .limit(1)
        .as('invoiced_until'),
    )
    .where('account.id', '>', after as AccountId)
    .where(({ exists, or, selectFrom }) =>
      or([
        exists(
          selectFrom('completion')
            .select('completion.id')
            .whereRef('completion.account_id', '=', 'account.id')
            .where('completion.id', '<', below as CompletionId),
        ),
        exists(
          selectFrom('usage_dimension')
            .select('usage_dimension.day')
            .whereRef('usage_dimension.account_id', '=', 'account.id')
            .where('usage_dimension.month', '<', monthNumber(old)),
        ),
      ]),
    )
    .orderBy('account.id')
    .limit(ACCOUNTS_PER_QUERY)
    .execute()
}

/** Undefined: the account's ledger has rows, and none is on an invoice yet. */
function deletableBefore(account: AccountWithOldRows, old: number): number | undefined {
  const { entries, entered_at: lastEntryAt, invoiced_until: invoicedUntil } = account
  if (lastEntryAt === null || entries === 0) return old
  if (invoicedUntil === null) return undefined
  return lastEntryAt < invoicedUntil ? old : Math.min(old, invoicedUntil - SETTLED_WITHIN_MS)
}

async function deleteRows(
  db: Kysely<Database>,
  { id, before, below }: { readonly id: AccountId; readonly before: number; readonly below: string },
): Promise<number> {
  return db.transaction().execute(async (inside) => {
    const old = inside
      .selectFrom('completion')
      .select('id')
      .where('account_id', '=', id)
      .where('id', '<', completionIdFloor(before))
      .where('id', '<', below as CompletionId)
      .where('created_at', '<', before)
    const rows = await inside
      .deleteFrom('completion')
      .where('account_id', '=', id)
      .where('id', 'in', old.orderBy('id').limit(BATCH_ROWS))
      .returning('cost_nano_usd')
      .execute()
    const cost = rows.reduce((sum, { cost_nano_usd }) => sum + cost_nano_usd, 0n)
    if (cost > 0n) {
      const result = await inside
        .updateTable('credit')
        .set(({ eb }) => ({ retired_nano_usd: eb('retired_nano_usd', '+', cost) }))
        .where('account_id', '=', id)
        .executeTakeFirst()
      if (result.numUpdatedRows !== 1n) throw new Error(`Completions of ${id} cost something, but it has no credit.`)
    }
    return rows.length
  })
}

/** Of whole months: their table is sorted by month. */
async function deleteDimensionSums(
  db: Kysely<Database>,
  { id, before }: { readonly id: AccountId; readonly before: number },
): Promise<number> {
  const key = sql.raw('month, dimension, value, day, model')
  const { numAffectedRows = 0n } = await sql`delete from usage_dimension where account_id = ${id} and (${key}) in
    (select ${key} from usage_dimension where account_id = ${id} and month < ${monthNumber(before)} limit ${BATCH_ROWS})`.execute(
    db,
  )
  return Number(numAffectedRows)
}

/*
 * Deletes idempotency keys: answers after a day, streams when they can no longer be resumed, and requests that will
 * never be answered.
 */

const KEEP_MS = 24 * 3_600_000
/** Answers deleted in one transaction; a single one may be larger. */
const BATCH_BYTES = 4 * 1024 * 1024

interface RetentionInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly signal?: AbortSignal | undefined
  /** How long an ended stream is kept, in milliseconds. Undefined: as long as any answer. */
  readonly keepStreamMs?: () => number
}

/** @returns The number of deleted rows. */
export async function deleteIdempotencyKeys({ db, now, signal, keepStreamMs }: RetentionInput): Promise<number> {
  const before = now() - KEEP_MS
  if (keepStreamMs !== undefined) {
    const streamsBefore = now() - keepStreamMs()
    await inBatches(() => emptyStreams(db, streamsBefore), signal)
  }
  const answered = await inBatches(() => deleteAnswered(db, before), signal)
  return answered + (await inBatches(() => deleteAbandoned(db, before), signal))
}

const KEY = ['account_id', 'endpoint', 'key'] as const
/** As `headers` are written; no client can insert text with these quotes. */
const IS_STREAM = sql<boolean>`headers like '%"content-type":"text/event-stream%' and body is not null`

/** Deletes the events of streams but not the rows, so that a repeat is told that the events have expired. */
async function emptyStreams(db: Kysely<Database>, before: number): Promise<number> {
  const limit = await rowsToEnd(db, before, IS_STREAM)
  if (limit === 0) return 0
  const oldest = oldestEnded(db, before).limit(limit)
  const result = await db
    .updateTable('idempotency')
    .set({ body: null })
    .where(({ eb, refTuple }) => eb(refTuple(...KEY), 'in', oldest.where(IS_STREAM).$asTuple(...KEY)))
    .where('ended_at', '<', before)
    .executeTakeFirst()
  return Number(result.numUpdatedRows)
}

async function deleteAnswered(db: Kysely<Database>, before: number): Promise<number> {
  const limit = await rowsToEnd(db, before, sql<boolean>`1 = 1`)
  if (limit === 0) return 0
  const oldest = oldestEnded(db, before).limit(limit)
  const result = await db
    .deleteFrom('idempotency')
    .where(({ eb, refTuple }) => eb(refTuple(...KEY), 'in', oldest.$asTuple(...KEY)))
    .where('ended_at', '<', before)
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}

function oldestEnded(db: Kysely<Database>, before: number) {
  return db.selectFrom('idempotency').select(KEY).where('ended_at', '<', before).orderBy('ended_at')
}

/** Selects as many of the oldest as fit into one transaction by the size of their answers. */
async function rowsToEnd(db: Kysely<Database>, before: number, which: RawBuilder<boolean>): Promise<number> {
  const rows = await db
    .selectFrom('idempotency')
    .select(sql<number>`coalesce(octet_length(body), 0)`.as('bytes'))
    .where('ended_at', '<', before)
    .where(which)
    .orderBy('ended_at')
    .limit(BATCH_ROWS)
    .execute()
  let bytes = 0
  const tooMany = rows.findIndex((row, index) => {
    bytes += row.bytes
    return index > 0 && bytes > BATCH_BYTES
  })
  return tooMany < 0 ? rows.length : tooMany
}

/** Requests whose process died and whose hold is released: a repeat may run. Uses the index of running rows. */
async function deleteAbandoned(db: Kysely<Database>, before: number): Promise<number> {
  const running = sql.lit<IdempotencyTable['state']>('running')
  const result = await db
    .deleteFrom('idempotency')
    .where(({ eb, refTuple, selectFrom, not, exists }) =>
      eb(
        refTuple(...KEY),
        'in',
        selectFrom('idempotency')
          .select(KEY)
          .where('state', '=', running)
          .where('lease_until', '<', before)
          .where(
            not(
              exists(
                selectFrom('hold')
                  .select('hold.id')
                  .whereRef('hold.account_id', '=', 'idempotency.account_id')
                  .whereRef('hold.id', '=', 'idempotency.subject_id'),
              ),
            ),
          )
          .limit(BATCH_ROWS)
          .$asTuple(...KEY),
      ),
    )
    .where('state', '=', running)
    .where('lease_until', '<', before)
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
