/** What the pages of models ask of the API: the whole list, once, since it is short and both pages read all of it. */
import { queryOptions } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import type { paths } from '../../api/schema.d.ts'

type Answer<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } }
}
  ? Body
  : never

export type Speed = Answer<'/v1/usage/performance'>['groups'][number]

const MINUTE_MS = 60_000

/** Of the last 24 hours, by the account's own requests. */
export const speedsQuery = queryOptions({
  queryKey: ['/v1/usage/performance', 'last 24 hours'],
  queryFn: async (): Promise<ReadonlyMap<string, Speed>> => {
    const { groups } = await take(api.GET('/v1/usage/performance', { params: { query: { group_by: 'model' } } }))
    return new Map(groups.map((group) => [group.key, group]))
  },
  staleTime: MINUTE_MS,
})

/** What the account used of one model, by day. @param start ISO 8601, as is `end`. */
export const modelUseQuery = (model: string, { start, end }: { readonly start: string; readonly end: string }) =>
  queryOptions({
    queryKey: ['/v1/usage', 'of model', model, start, end],
    queryFn: () => {
      const query = { period_start: start, period_end: end, model, interval: 'day' } as const
      return take(api.GET('/v1/usage', { params: { query } }))
    },
  })
