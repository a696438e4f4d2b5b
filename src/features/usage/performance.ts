/**
 * How fast and how reliably completions were answered, from the histograms that the performance recorder keeps by hour and
 * by day. The database adds them up by what is asked for: a report costs as much as there are hours, models and providers,
 * however many completions there were. Groups of whole days are read from the sums of days, which are a tenth as many; of
 * days whose sums have fewer requests than their hours (written by an older release, or being written), from the hours.
 */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Insertable, type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database, PerformanceHourTable } from '../../db/schema/schema.ts'
import { within } from '../../db/shared-queries.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import { type Period, parsePeriod, timeParameter } from '../../http/period.ts'
import { isoTime, nullable, oneOf } from '../../http/wire-fields.ts'
import { type CompletionCounts, countCompletions } from '../../jobs/completion-watch.ts'
import { bucketOf, percentilesOf as ranksOf } from '../../lib/log-buckets.ts'
import type { FeatureDeps } from '../deps.ts'
import { DAY_MS, HOUR_MS, splitPeriod } from './period.ts'

const HOURS_OF_DAY = 24
const GROUPINGS = ['model', 'provider'] as const

interface Choice {
  readonly accountId: AccountId
  readonly period: Period
  readonly grouping: (typeof GROUPINGS)[number]
  readonly withHours: boolean
}

async function readPerformance(db: Kysely<Database>, choice: Choice): Promise<Static<typeof PerformanceView>> {
  const { accountId, period, withHours, grouping } = choice
  const range = { start: Math.floor(period.start / HOUR_MS), end: Math.ceil(period.end / HOUR_MS) }
  const days = await sumsByDay(db, choice, splitPeriod(range, HOURS_OF_DAY).units) // before the hours, to be no more than they are
  const rows = hoursIn(db, accountId, range)
  const [hours, hoursOfGroups] = await Promise.all([sumsByHour(rows), withHours ? countsByHour(rows, grouping) : []])
  const whole = wholeDays(days, hours)
  const rests = hoursBetween(whole, range).map((rest) => sumsOfGroups(hoursIn(db, accountId, rest), grouping))
  const groups = [...days.filter(({ day }) => whole.includes(day)), ...(await Promise.all(rests)).flat()]
  const byGroup = Map.groupBy(hoursOfGroups, ({ key }) => key)
  return {
    period_start: isoTime(period.start),
    period_end: isoTime(period.end),
    sampled: false,
    groups: [...Map.groupBy(groups, ({ key }) => key)]
      .map(([key, sums]) => ({ ...groupOf(key, sums), ...(withHours && { hours: hoursOf(byGroup.get(key) ?? []) }) }))
      .toSorted((one, other) => other.requests - one.requests || (one.key < other.key ? -1 : 1)),
    series: seriesOf(hours),
  }
}

type Rows<Row = object> = SelectQueryBuilder<Database, 'performance_hour', Row>

/** @param range In hours. */
function hoursIn(db: Kysely<Database>, accountId: AccountId, range: Period): Rows {
  return db.selectFrom('performance_hour').where('account_id', '=', accountId).where(within('hour', range))
}

/** @param range In days. */
function sumsByDay(db: Kysely<Database>, { accountId, grouping }: Choice, range: Period) {
  return db
    .selectFrom('performance_day')
    .where('account_id', '=', accountId)
    .where(within('day', range))
    .select(['day', `${grouping} as key`, 'measure', 'bucket', COUNT.as('count')])
    .groupBy(['day', grouping, 'measure', 'bucket'])
    .execute()
}

/** Days with all requests that their hours have, in order. */
function wholeDays(days: readonly (Sum & { readonly day: number })[], hours: readonly HourSum[]): readonly number[] {
  const ofHours = new Map<number, number>()
  for (const { hour, bucket, count } of hours) {
    const day = Math.floor(hour / HOURS_OF_DAY)
    if (bucket === REQUESTS) ofHours.set(day, count + (ofHours.get(day) ?? 0))
  }
  return [...Map.groupBy(days, ({ day }) => day)]
    .filter(([day, sums]) => countOf(sums, 'requests') === ofHours.get(day))
    .map(([day]) => day)
    .toSorted((one, other) => one - other)
}

/** The hours of a range outside of the days. */
function hoursBetween(days: readonly number[], { start, end }: Period): readonly Period[] {
  const starts = [start, ...days.map((day) => (day + 1) * HOURS_OF_DAY)]
  const ends = [...days.map((day) => day * HOURS_OF_DAY), end]
  return starts.map((from, at) => ({ start: from, end: ends[at] ?? end })).filter((one) => one.start < one.end)
}

/** How often a bucket of a measure was met, of one model, provider or hour. */
interface Sum {
  readonly measure: PerformanceHourTable['measure']
  readonly bucket: number
  readonly count: number
}

const COUNT = sql<number>`cast(sum(count) as bigint)`

function sumsOfGroups(rows: Rows, grouping: Choice['grouping']): Promise<readonly (Sum & { readonly key: string })[]> {
  return rows
    .select([`${grouping} as key`, 'measure', 'bucket', COUNT.as('count')])
    .groupBy([grouping, 'measure', 'bucket'])
    .execute()
}

type HourSum = Pick<Sum, 'bucket' | 'count'> & { readonly hour: number }

/** Instead of a bucket: the number of requests of the hour. */
const REQUESTS = -1

/** Requests and times to the first byte, told apart by numbers, which SQLite sorts faster than texts. */
function sumsByHour(rows: Rows): Promise<readonly HourSum[]> {
  const bucket = sql<number>`case measure when 'requests' then ${sql.lit(REQUESTS)} else bucket end`
  return rows
    .where('measure', 'in', ['requests', 'first_byte'])
    .select(['hour', bucket.as('bucket'), COUNT.as('count')])
    .groupBy(['hour', bucket])
    .execute()
}

function countsByHour(rows: Rows, grouping: Choice['grouping']) {
  return rows
    .where('measure', 'in', ['requests', 'failed'])
    .select([`${grouping} as key`, 'hour', 'measure', COUNT.as('count')])
    .groupBy([grouping, 'hour', 'measure'])
    .orderBy('hour')
    .execute()
}

function seriesOf(hours: readonly HourSum[]) {
  return [...Map.groupBy(hours, ({ hour }) => hour)]
    .toSorted(([one], [other]) => one - other)
    .map(([hour, sums]) => {
      const firstByteMs = percentilesOf(sums.filter(({ bucket }) => bucket !== REQUESTS))
      return {
        at: isoTime(hour * HOUR_MS),
        first_byte_ms_p50: firstByteMs?.p50 ?? null,
        first_byte_ms_p95: firstByteMs?.p95 ?? null,
        requests: sums.find(({ bucket }) => bucket === REQUESTS)?.count ?? 0,
      }
    })
}

function groupOf(key: string, sums: readonly Sum[]) {
  const failed = countOf(sums, 'failed')
  const completed = countOf(sums, 'completed')
  return {
    key,
    requests: countOf(sums, 'requests'),
    failed,
    success_rate: completed + failed === 0 ? null : completed / (completed + failed),
    first_byte_ms: percentilesOf(ofMeasure(sums, 'first_byte')) ?? null,
    duration_ms: percentilesOf(ofMeasure(sums, 'duration')) ?? null,
  }
}

type HourCount = Omit<Sum, 'bucket'> & { readonly hour: number }

/** @param counts Of one group, by hour. */
function hoursOf(counts: readonly HourCount[]) {
  return [...Map.groupBy(counts, ({ hour }) => hour)].map(([hour, ofHour]) => ({
    at: isoTime(hour * HOUR_MS),
    requests: countOf(ofHour, 'requests'),
    failed: countOf(ofHour, 'failed'),
  }))
}

function countOf(sums: readonly Omit<Sum, 'bucket'>[], wanted: Sum['measure']): number {
  return sums.reduce((total, { measure, count }) => (measure === wanted ? total + count : total), 0)
}

function ofMeasure(sums: readonly Sum[], wanted: Sum['measure']): readonly Sum[] {
  return sums.filter(({ measure }) => measure === wanted)
}

function percentilesOf(sums: readonly Pick<Sum, 'bucket' | 'count'>[]) {
  const buckets = new Map<number, number>()
  for (const { bucket, count } of sums) buckets.set(bucket, count + (buckets.get(bucket) ?? 0))
  const [p50, p95] = ranksOf(buckets, [50, 95]) ?? []
  return p50 === undefined || p95 === undefined ? undefined : { p50, p95 }
}

const MAX_PERIOD_MS = 31 * 86_400_000

const PerformanceQuery = Type.Object({
  period_start: timeParameter('ISO 8601 UTC. Default: a day before `period_end`.'),
  period_end: timeParameter('ISO 8601 UTC, exclusive, at most 31 days after `period_start`. Default: now.'),
  group_by: Type.Optional(oneOf(GROUPINGS, { default: 'model', description: 'Dimension of `groups`.' })),
  include: Type.Optional(oneOf(['hours'] as const, { description: '`hours` adds the hours of each group.' })),
})

const PercentilesView = Type.Object({
  p50: Type.Integer({ description: 'Milliseconds.' }),
  p95: Type.Integer({ description: 'Milliseconds.' }),
})
const percentiles = (description: string) =>
  Type.Unsafe<Static<typeof PercentilesView> | null>({ anyOf: [PercentilesView, { type: 'null' }], description })

const HoursView = Type.Array(
  Type.Object({
    at: Type.String({ description: 'Start of the hour, ISO 8601 UTC.' }),
    requests: Type.Integer({ description: 'Number of completions of the group in this hour, whatever their outcome.' }),
    failed: Type.Integer({ description: 'Number of completions that failed or that the provider broke off.' }),
  }),
  { description: 'Only with `include=hours`: UTC hours in order. Hours without completions are omitted.' },
)

const FIRST_BYTE = 'From the arrival of the request to the first byte, for streams only. Null: no streams.'

const PerformanceView = Type.Object({
  period_start: Type.String({ description: 'ISO 8601 UTC.' }),
  period_end: Type.String({ description: 'ISO 8601 UTC, exclusive.' }),
  sampled: Type.Boolean({
    description: 'Always false: all completions are counted. Earlier releases evaluated the newest 5000.',
  }),
  groups: Type.Array(
    Type.Object({
      key: Type.String({ description: 'ID of the model, or name of the provider in the configuration.' }),
      requests: Type.Integer({ description: 'Number of completions, whatever their outcome.' }),
      failed: Type.Integer({ description: 'Number of completions that failed or that the provider broke off.' }),
      success_rate: nullable<number>(
        'number',
        'Completed ÷ (completed + failed), 0 to 1, without clients that disconnected. Null: all of them disconnected.',
      ),
      first_byte_ms: percentiles(FIRST_BYTE),
      duration_ms: percentiles(
        'From the arrival of the request to its end, for completed ones only. Null: none completed.',
      ),
      hours: Type.Optional(HoursView),
    }),
    { description: 'Groups with the most requests first.' },
  ),
  series: Type.Array(
    Type.Object({
      at: Type.String({ description: 'Start of the hour, ISO 8601 UTC.' }),
      first_byte_ms_p50: nullable<number>('integer', FIRST_BYTE),
      first_byte_ms_p95: nullable<number>('integer', FIRST_BYTE),
      requests: Type.Integer({ description: 'Number of completions, whatever their outcome.' }),
    }),
    { description: 'UTC hours in order. Hours without completions are omitted.' },
  ),
})

const schema = {
  summary: 'Get latency and reliability',
  description:
    'Returns how many completions failed and how long the others took, of all UTC hours that the period has a part in. Completions are counted within seconds of their end. Percentiles are read from histograms, within 7 %. Times to the first byte cover streams only, `duration_ms` covers completed completions only.',
  tags: ['Usage'],
  querystring: PerformanceQuery,
  response: { 200: PerformanceView },
}

export function performanceRoutes({
  db,
  now,
  callerOf,
}: Pick<FeatureDeps, 'db' | 'now' | 'callerOf'>): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/usage/performance', { config: { scope: 'usage:read' }, schema }, async (request) => {
      const { accountId, teamId } = callerOf(request)
      if (teamId !== undefined)
        throw new GatewayError('insufficient_scope', 'A key of a team cannot read the latency of the account.')
      const period = periodOf(request.query, now())
      const { group_by: grouping = 'model', include } = request.query
      return readPerformance(db, { accountId, period, grouping, withHours: include === 'hours' })
    })
  }
}

/** Throws 400 with `param` for what is too long or no period. */
function periodOf(query: Static<typeof PerformanceQuery>, now: number): Period {
  const { end } = parsePeriod({ period_end: query.period_end }, { start: 0, end: now })
  const period = parsePeriod(query, { start: Math.max(0, end - DAY_MS), end })
  if (period.end - period.start <= MAX_PERIOD_MS) return period
  const param = query.period_start === undefined ? 'period_end' : 'period_start'
  throw new GatewayError('invalid_value', 'The period exceeds 31 days.', { param })
}

// Counts completions by hour and day, model and provider, with histograms of their times, for reports of speed and reliability.
// The counts are added to the database every few seconds; what it does not accept is dropped.

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
