/** What Home asks of the API: one question for three of the charts, one for the fourth, each also about the period before. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import type { paths } from '../../api/schema.d.ts'
import { type Period, previousPeriod, resolvePeriod } from '../../lib/period.ts'
import { useNow, useTimeZone } from '../../ui/time-zone.ts'
import type { HomeRange } from './search.ts'

type Answer<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } }
}
  ? Body
  : never

export type UsageReport = Answer<'/v1/usage'>
export type Performance = Answer<'/v1/usage/performance'>
export type Completion = Answer<'/v1/usage/completions'>['data'][number]

export type Bounds = Pick<Period, 'start' | 'end'>

/** The built-in model. */
export const SIMULATOR = 'turnpike-simulator'

const COMPLETIONS = '/v1/usage/completions'
const REFRESH_MS = 30_000
const WAIT_MS = 1_000

/**
 * The newest request of the account; null when there was none. While there is none it is asked for every second, as long
 * as the page is seen.
 */
export const newestQuery = queryOptions({
  queryKey: [COMPLETIONS, 'newest'],
  queryFn: async (): Promise<Completion | null> => {
    const page = await take(api.GET(COMPLETIONS, { params: { query: { limit: 1 } } }))
    return page.data[0] ?? null
  },
  refetchInterval: ({ state }) => (state.data === null ? WAIT_MS : false),
})

const REJECTIONS = '/v1/usage/rejections'

/** While the first request is waited for. */
export const rejectionsQuery = queryOptions({
  queryKey: [REJECTIONS, 'newest'],
  queryFn: () => take(api.GET(REJECTIONS, { params: { query: { limit: 100 } } })),
  refetchInterval: 2 * WAIT_MS,
})

/** By hour, of which days of every time zone are made. */
export const usageQuery = ({ start, end }: Bounds) =>
  queryOptions({
    queryKey: ['/v1/usage', 'by model and hour', start, end],
    queryFn: () => {
      const query = { period_start: start, period_end: end, group_by: 'model', interval: 'hour' } as const
      return take(api.GET('/v1/usage', { params: { query } }))
    },
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })

export const usageTotalsQuery = ({ start, end }: Bounds) =>
  queryOptions({
    queryKey: ['/v1/usage', 'totals', start, end],
    queryFn: () => take(api.GET('/v1/usage', { params: { query: { period_start: start, period_end: end } } })),
    staleTime: REFRESH_MS,
  })

/** The last 24 hours: its series is for a chart, its groups are for the providers, both of one answer. */
export const performanceQuery = ({ start, end }: Bounds) =>
  queryOptions({
    queryKey: ['/v1/usage/performance', 'by provider and hour', start, end],
    queryFn: () => {
      const query = { period_start: start, period_end: end, group_by: 'provider', include: 'hours' } as const
      return take(api.GET('/v1/usage/performance', { params: { query } }))
    },
    placeholderData: keepPreviousData,
    staleTime: REFRESH_MS,
    refetchInterval: 2 * REFRESH_MS,
  })

export const timesQuery = ({ start, end }: Bounds) =>
  queryOptions({
    queryKey: ['/v1/usage/performance', start, end],
    queryFn: () => {
      const query = { period_start: start, period_end: end }
      return take(api.GET('/v1/usage/performance', { params: { query } }))
    },
    placeholderData: keepPreviousData,
    staleTime: REFRESH_MS,
    refetchInterval: 2 * REFRESH_MS,
  })

/** Of each status: what causes are counted in. */
const NEWEST_ERRORS = 100

/** The newest of those that failed or that a provider broke off, whenever it was, the newest first. */
export const latestErrorsQuery = queryOptions({
  queryKey: [COMPLETIONS, 'latest errors'],
  queryFn: async (): Promise<readonly Completion[]> => {
    const [failed, incomplete] = await Promise.all([newestOf('failed'), newestOf('incomplete')])
    return [...failed, ...incomplete].toSorted(
      (one, other) => Date.parse(other.created_at) - Date.parse(one.created_at),
    )
  },
  refetchInterval: REFRESH_MS,
})

async function newestOf(status: Completion['status']): Promise<readonly Completion[]> {
  const query = { status, limit: NEWEST_ERRORS }
  return (await take(api.GET(COMPLETIONS, { params: { query } }))).data
}

/** For operators: what the process that answers knows of each provider. */
export const providerStatesQuery = queryOptions({
  queryKey: ['/v1/admin/providers'],
  queryFn: async () => (await take(api.GET('/v1/admin/providers', { params: { query: { limit: 100 } } }))).data,
  refetchInterval: REFRESH_MS,
})

const STEP_MS = 5 * 60_000

export interface HomePeriods {
  readonly period: Period
  /** As much of the one before as has passed of this one; it moves every five minutes. */
  readonly before: Period
  /** Unix milliseconds. */
  readonly now: number
}

export function useHomePeriods(range: HomeRange): HomePeriods {
  const now = useNow()
  const period = resolvePeriod({ range }, now, '24h', useTimeZone())
  return { period, before: previousPeriod(period, Math.ceil(now / STEP_MS) * STEP_MS), now }
}
