/** `GET /usage/performance`. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import { type Period, parsePeriod } from '../../http/period.ts'
import type { FeatureDeps } from '../deps.ts'
import {
  PERFORMANCE_GROUPINGS,
  type Percentiles,
  type Performance,
  type PerformanceGroup,
  type PerformanceGrouping,
  readPerformance,
} from './performance.ts'
import { DAY_MS } from './period.ts'
import { isoTime, nullable, oneOf, time } from './wire-fields.ts'

const MAX_PERIOD_MS = 7 * 86_400_000

const PerformanceQuery = Type.Object({
  period_start: time('ISO 8601 UTC; default: a day before `period_end`.'),
  period_end: time('ISO 8601 UTC, not included; default: now. At most 7 days after `period_start`.'),
  group_by: Type.Optional(oneOf(PERFORMANCE_GROUPINGS, { default: 'model', description: 'What `groups` are of.' })),
  include: Type.Optional(
    oneOf(['hours'] as const, { description: '`hours`: adds to each group how each of its hours went.' }),
  ),
})

const PercentilesView = Type.Object({
  p50: Type.Integer({ description: 'Milliseconds.' }),
  p95: Type.Integer({ description: 'Milliseconds.' }),
})
const percentiles = (description: string) =>
  Type.Unsafe<Static<typeof PercentilesView> | null>({ anyOf: [PercentilesView, { type: 'null' }], description })

const HoursView = Type.Array(
  Type.Object({
    at: Type.String({ description: 'ISO 8601 UTC: the first moment of the hour.' }),
    requests: Type.Integer({ description: 'Completions of the group in this hour, whatever became of them.' }),
    failed: Type.Integer({ description: 'Those that failed or that the provider broke off.' }),
  }),
  { description: 'Only with `include=hours`: by UTC hour, in order. Hours without a completion are left out.' },
)

const FIRST_BYTE = 'From the request’s arrival to the first byte, of streams alone. Null: there was none.'

const PerformanceView = Type.Object({
  period_start: Type.String({ description: 'ISO 8601 UTC.' }),
  period_end: Type.String({ description: 'ISO 8601 UTC, not included.' }),
  sampled: Type.Boolean({
    description: 'Whether there were more than 5000 completions: all of this is about the newest 5000.',
  }),
  groups: Type.Array(
    Type.Object({
      key: Type.String({ description: 'The model’s ID, or the provider by its name in the configuration.' }),
      requests: Type.Integer({ description: 'Completions, whatever became of them.' }),
      failed: Type.Integer({ description: 'Those that failed or that the provider broke off.' }),
      success_rate: nullable<number>(
        'number',
        'Completed ÷ (completed + failed), 0 to 1: clients that left do not count. Null: all of them did.',
      ),
      first_byte_ms: percentiles(FIRST_BYTE),
      duration_ms: percentiles('From the request’s arrival to the end, of those that completed. Null: none did.'),
      hours: Type.Optional(HoursView),
    }),
    { description: 'Those with the most requests first.' },
  ),
  series: Type.Array(
    Type.Object({
      at: Type.String({ description: 'ISO 8601 UTC: the first moment of the hour.' }),
      first_byte_ms_p50: nullable<number>('integer', FIRST_BYTE),
      first_byte_ms_p95: nullable<number>('integer', FIRST_BYTE),
      requests: Type.Integer({ description: 'Completions that were looked at, whatever became of them.' }),
    }),
    { description: 'By UTC hour, in order. Hours without a completion are left out.' },
  ),
})

const schema = {
  summary: 'Speed and reliability',
  description:
    'What the newest completions of a period say, at most 5000 of them: how many failed, and how long the others took. ' +
    'A percentile is the nearest rank, the smallest measured time that so many per cent did not exceed. Times to the ' +
    'first byte are those of streams, `duration_ms` those of completions that completed. `groups` and `series` are ' +
    'about the same completions.',
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
      const grouping: PerformanceGrouping = request.query.group_by ?? 'model'
      const performance = await readPerformance(db, accountId, { period, grouping })
      return renderPerformance(performance, { period, withHours: request.query.include === 'hours' })
    })
  }
}

/** Throws 400 with `param` for what is too long or no period. */
function periodOf(query: Static<typeof PerformanceQuery>, now: number): Period {
  const { end } = parsePeriod({ period_end: query.period_end }, { start: 0, end: now })
  const period = parsePeriod(query, { start: Math.max(0, end - DAY_MS), end })
  if (period.end - period.start <= MAX_PERIOD_MS) return period
  const param = query.period_start === undefined ? 'period_end' : 'period_start'
  throw new GatewayError('invalid_value', 'The period may be at most 7 days long.', { param })
}

interface Rendering {
  readonly period: Period
  readonly withHours: boolean
}

function renderPerformance(performance: Performance, { period, withHours }: Rendering): Static<typeof PerformanceView> {
  return {
    period_start: isoTime(period.start),
    period_end: isoTime(period.end),
    sampled: performance.isSampled,
    groups: performance.groups.map((group) => ({
      ...renderGroup(group),
      ...(withHours && { hours: group.hours.map(({ at, ...counts }) => ({ at: isoTime(at), ...counts })) }),
    })),
    series: performance.series.map(({ at, requests, firstByteMs }) => ({
      at: isoTime(at),
      first_byte_ms_p50: firstByteMs?.p50 ?? null,
      first_byte_ms_p95: firstByteMs?.p95 ?? null,
      requests,
    })),
  }
}

function renderGroup({ key, requests, failed, successRate, firstByteMs, durationMs }: PerformanceGroup) {
  const orNull = (times: Percentiles | undefined) => (times === undefined ? null : { ...times })
  return {
    key,
    requests,
    failed,
    success_rate: successRate ?? null,
    first_byte_ms: orNull(firstByteMs),
    duration_ms: orNull(durationMs),
  }
}
