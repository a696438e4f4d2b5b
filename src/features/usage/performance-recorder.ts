/**
 * Counts completions by hour and day, model and provider, with histograms of their times, for reports of speed and reliability.
 * The counts are added to the database every few seconds; what it does not accept is dropped.
 */
import { type Insertable, type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import { type CompletionCounts, countCompletions } from '../../jobs/completion-watch.ts'
import { bucketOf } from '../../lib/log-buckets.ts'
import { HOUR_MS } from './period.ts'

const WRITE_AFTER_MS = 2_000
const ROWS_PER_STATEMENT = 500

type Row = Insertable<Database['performance_hour']>
type DayRow = Insertable<Database['performance_day']>
type Counted = Pick<
  CompletionRecord,
  'accountId' | 'model' | 'provider' | 'createdAt' | 'status' | 'stream' | 'firstByteMs' | 'durationMs' | 'attemptLog'
>

interface RecorderInput {
  readonly db: Kysely<Database>
  readonly log: { warn(fields: object, message: string): void }
}

/** Observes the completions that the gateway publishes. */
export function startPerformanceRecorder({ db, log }: RecorderInput): CompletionCounts {
  return countCompletions<Row>({
    writeAfterMs: WRITE_AFTER_MS,
    count,
    add: (sums) => addSums(db, sums),
    onFailure: (err, rows) => log.warn({ err, rows }, 'completions were not added to the hours of performance'),
  })
}

/** Adds completions to their hours. */
export async function addPerformance(db: Kysely<Database>, records: readonly Counted[]): Promise<void> {
  const sums = new Map<string, Row>()
  for (const record of records) count(sums, record)
  await addSums(db, sums)
}

/** Times to the first byte are those of streams: an answer in one piece has its first byte with its last. */
function count(sums: Map<string, Row>, record: Counted): void {
  const { accountId, model, provider, createdAt, status, stream, firstByteMs, durationMs } = record
  const hour = Math.floor(createdAt / HOUR_MS)
  const prefix = `${accountId} ${hour} ${model} ${provider}`
  const add = (measure: Row['measure'], bucket: number): void => {
    const name = `${prefix} ${measure} ${bucket}`
    const known = sums.get(name)
    if (known !== undefined) known.count += 1
    else sums.set(name, { account_id: accountId, hour, model, provider, measure, bucket, count: 1 })
  }
  add('requests', 0)
  if (isFailure(record)) add('failed', 0)
  if (status === 'completed') {
    add('completed', 0)
    add('duration', bucketOf(durationMs))
  }
  if (stream && firstByteMs !== undefined) add('first_byte', bucketOf(firstByteMs))
}

/** The hours first: reports read a day from its hours until its sums are as much. */
async function addSums(db: Kysely<Database>, sums: ReadonlyMap<string, Row>): Promise<void> {
  for (const rows of inPieces(sums)) {
    await db
      .insertInto('performance_hour')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(['account_id', 'hour', 'model', 'provider', 'measure', 'bucket'])
          .doUpdateSet({ count: sql<number>`performance_hour.count + excluded.count` }),
      )
      .execute()
  }
  for (const rows of inPieces(byDay(sums.values()))) {
    await db
      .insertInto('performance_day')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(['account_id', 'day', 'model', 'provider', 'measure', 'bucket'])
          .doUpdateSet({ count: sql<number>`performance_day.count + excluded.count` }),
      )
      .execute()
  }
}

/** In the order of the key, in which processes that write the same rows wait for one another. */
function* inPieces<Row>(sums: ReadonlyMap<string, Row>): Generator<readonly Row[]> {
  const rows = [...sums].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row)
  for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT) yield rows.slice(from, from + ROWS_PER_STATEMENT)
}

function byDay(rows: Iterable<Row>): ReadonlyMap<string, DayRow> {
  const sums = new Map<string, DayRow>()
  for (const { hour, ...row } of rows) {
    const day = Math.floor(hour / 24)
    const name = [row.account_id, day, row.model, row.provider, row.measure, row.bucket].join(' ')
    sums.set(name, { ...row, day, count: row.count + (sums.get(name)?.count ?? 0) })
  }
  return sums
}

/** Where a provider refused the content of the request, it is the client's fault, which says nothing of the provider. */
function isFailure({ status, attemptLog = [] }: Counted): boolean {
  if (status === 'incomplete') return true
  return status === 'failed' && !attemptLog.some(({ outcome }) => outcome === 'rejected')
}
