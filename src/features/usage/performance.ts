/**
 * How fast and how reliably completions were answered, by what the newest rows of a period say. The database gathers them
 * by name and hour, with their times as one text each; to rank them there took three times as long as to read them.
 */

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type Static, Type } from 'typebox'
import { readRows } from '../../db/dialect.ts'
import type { Database } from '../../db/schema/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import { type Period, parsePeriod, timeParameter } from '../../http/period.ts'
import { isoTime, nullable, oneOf } from '../../http/wire-fields.ts'
import type { FeatureDeps } from '../deps.ts'
import { DAY_MS, HOUR_MS, idsBornIn } from './period.ts'

/** Rows of a period that are looked at. */
const MAX_ROWS = 5_000

const GROUPINGS = ['model', 'provider'] as const

interface Choice {
  readonly accountId: AccountId
  readonly period: Period
  readonly grouping: (typeof GROUPINGS)[number]
  readonly withHours: boolean
}

async function readPerformance(db: Kysely<Database>, choice: Choice): Promise<Static<typeof PerformanceView>> {
  const { period, withHours } = choice
  const cells = await gather(db, choice)
  const isFull = sumOf(cells, 'requests') === MAX_ROWS
  return {
    period_start: isoTime(period.start),
    period_end: isoTime(period.end),
    sampled: isFull && (await hasMore(db, choice)),
    groups: [...Map.groupBy(cells, ({ key }) => key)]
      .map(([key, ofGroup]) => ({ ...groupOf(key, ofGroup), ...(withHours && { hours: hoursOf(ofGroup) }) }))
      .toSorted((one, other) => other.requests - one.requests || (one.key < other.key ? -1 : 1)),
    series: [...Map.groupBy(cells, ({ hour }) => hour)]
      .toSorted(([one], [other]) => one - other)
      .map(([hour, ofHour]) => {
        const firstByteMs = percentilesOf(ofHour, 'firstBytes')
        return {
          at: isoTime(hour * HOUR_MS),
          first_byte_ms_p50: firstByteMs?.p50 ?? null,
          first_byte_ms_p95: firstByteMs?.p95 ?? null,
          requests: sumOf(ofHour, 'requests'),
        }
      }),
  }
}

/** What one name did in one hour. */
interface Cell {
  readonly key: string
  readonly hour: number
  readonly requests: number
  readonly failed: number
  readonly completed: number
  /** Milliseconds with commas between. Of streams: the first byte of an answer in one piece is its last one, too. */
  readonly firstBytes: string | null
  /** The same; of those that completed. */
  readonly durations: string | null
}

/** The provider refused the request's content: the client's fault, which says nothing of the provider. */
const REJECTED = sql`(attempt_log is not null and attempt_log like '%"outcome":"rejected"%')`

function gather(db: Kysely<Database>, { grouping, ...choice }: Choice): Promise<readonly Cell[]> {
  return readRows(
    db,
    sql<Cell>`select name as key, hour, count(*) as requests,
      count(case when status = 'incomplete' or (status = 'failed' and not ${REJECTED}) then 1 end) as failed,
      count(case when status = 'completed' then 1 end) as completed,
      string_agg(case when stream = 1 then cast(first_byte_ms as text) end, ',') as "firstBytes",
      string_agg(case when status = 'completed' then cast(duration_ms as text) end, ',') as "durations"
    from (
      select ${sql.ref(grouping)} as name, created_at / ${sql.lit(HOUR_MS)} as hour, status, stream, duration_ms, first_byte_ms, attempt_log
      from completion where ${isIn(choice)} order by id desc limit ${sql.lit(MAX_ROWS)}
    ) as newest group by name, hour`,
  )
}

function isIn({ accountId, period }: Pick<Choice, 'accountId' | 'period'>): RawBuilder<unknown> {
  const { above, below } = idsBornIn(period)
  return sql`account_id = ${accountId} and id > ${above} and id < ${below}
    and created_at >= ${period.start} and created_at < ${period.end}`
}

async function hasMore(db: Kysely<Database>, choice: Choice): Promise<boolean> {
  const query = sql`select 1 from completion where ${isIn(choice)} order by id desc limit 1 offset ${sql.lit(MAX_ROWS)}`
  return (await readRows(db, query)).length > 0
}

function groupOf(key: string, cells: readonly Cell[]) {
  const failed = sumOf(cells, 'failed')
  const completed = sumOf(cells, 'completed')
  return {
    key,
    requests: sumOf(cells, 'requests'),
    failed,
    success_rate: completed + failed === 0 ? null : completed / (completed + failed),
    first_byte_ms: percentilesOf(cells, 'firstBytes') ?? null,
    duration_ms: percentilesOf(cells, 'durations') ?? null,
  }
}

/** @param cells Of one group, one for each hour. */
function hoursOf(cells: readonly Cell[]) {
  return cells
    .toSorted((one, other) => one.hour - other.hour)
    .map(({ hour, requests, failed }) => ({ at: isoTime(hour * HOUR_MS), requests, failed }))
}

/** The nearest rank: always a time that was measured. */
function percentilesOf(cells: readonly Cell[], times: 'firstBytes' | 'durations') {
  const texts = cells.flatMap((cell) => cell[times] ?? [])
  if (texts.length === 0) return undefined
  const ranked = Float64Array.from(texts.join(',').split(','), Number).sort()
  const at = (percent: number) => ranked[Math.ceil((ranked.length * percent) / 100) - 1] ?? 0
  return { p50: at(50), p95: at(95) }
}

function sumOf(cells: readonly Cell[], field: 'requests' | 'failed' | 'completed'): number {
  return cells.reduce((sum, cell) => sum + cell[field], 0)
}

const MAX_PERIOD_MS = 7 * 86_400_000

const PerformanceQuery = Type.Object({
  period_start: timeParameter('ISO 8601 UTC. Default: a day before `period_end`.'),
  period_end: timeParameter('ISO 8601 UTC, exclusive, at most 7 days after `period_start`. Default: now.'),
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
    description: 'Whether the period has more than 5000 completions. All figures cover the newest 5000.',
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
      requests: Type.Integer({ description: 'Number of evaluated completions, whatever their outcome.' }),
    }),
    { description: 'UTC hours in order. Hours without completions are omitted.' },
  ),
})

const schema = {
  summary: 'Get latency and reliability',
  description:
    'Evaluates the newest completions of a period, at most 5000: how many failed, and how long the others took. Percentiles use the nearest rank. Times to the first byte cover streams only, `duration_ms` covers completed completions only. `groups` and `series` cover the same completions.',
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
      const { accountId } = callerOf(request)
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
  throw new GatewayError('invalid_value', 'The period exceeds 7 days.', { param })
}
