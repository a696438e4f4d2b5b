/** What the pages of models ask of the API: the whole list, once, since it is short and both pages read all of it. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import type { paths } from '../../api/schema.d.ts'
import type { Period } from '../../lib/period.ts'

type Answer<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } }
}
  ? Body
  : never

type Bounds = Pick<Period, 'start' | 'end'>
export type Speed = Answer<'/v1/usage/performance'>['groups'][number]

/** By the account's own requests. */
export interface Speeds {
  readonly byModel: ReadonlyMap<string, Speed>
}

const MINUTE_MS = 60_000
const WEEK_MS = 7 * 86_400_000

export const speedsQuery = queryOptions({
  queryKey: ['/v1/usage/performance', 'last 24 hours'],
  queryFn: () => readSpeeds({}),
  staleTime: MINUTE_MS,
})

export const weekSpeedsQuery = queryOptions({
  queryKey: ['/v1/usage/performance', 'last 7 days'],
  queryFn: () => {
    const end = Date.now()
    return readSpeeds({
      period_start: new Date(end - WEEK_MS).toISOString(),
      period_end: new Date(end).toISOString(), // said as well: by the gateway's clock, the week could be too long
    })
  },
  staleTime: 5 * MINUTE_MS,
})

async function readSpeeds(period: { period_start?: string; period_end?: string }): Promise<Speeds> {
  const query = { ...period, group_by: 'model' } as const
  const { groups } = await take(api.GET('/v1/usage/performance', { params: { query } }))
  return { byModel: new Map(groups.map((group) => [group.key, group])) }
}

/** Of every model that was used, since the API tells them together. @param start ISO 8601, as is `end`. */
export const uptimesQuery = ({ start, end }: Bounds) =>
  queryOptions({
    queryKey: ['/v1/usage/performance', 'by model and hour', start, end],
    queryFn: () => {
      const query = { period_start: start, period_end: end, group_by: 'model', include: 'hours' } as const
      return take(api.GET('/v1/usage/performance', { params: { query } }))
    },
    placeholderData: keepPreviousData,
    staleTime: MINUTE_MS,
  })

/** What the account used of one model, by hour, of which days of every time zone are made. @param start ISO 8601, as is `end`. */
export const modelUseQuery = (model: string, { start, end }: Bounds) =>
  queryOptions({
    queryKey: ['/v1/usage', 'of model', model, start, end],
    queryFn: () => {
      const query = { period_start: start, period_end: end, model, interval: 'hour' } as const
      return take(api.GET('/v1/usage', { params: { query } }))
    },
  })
