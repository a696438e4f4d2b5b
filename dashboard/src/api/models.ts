/** The whole list of models, once: it is short, and several views read all of it. */
import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client.ts'
import type { paths } from './schema.d.ts'

export type ListedModel = paths['/v1/models']['get']['responses'][200]['content']['application/json']['data'][number]

/** @param now Unix milliseconds. */
export function isRetired({ deprecation_date: date }: Pick<ListedModel, 'deprecation_date'>, now: number): boolean {
  return date !== null && Date.parse(date) <= now
}

export const modelsQuery = queryOptions({
  queryKey: ['/v1/models'],
  queryFn: async () => (await take(api.GET('/v1/models'))).data,
  staleTime: 30_000,
  refetchInterval: 60_000,
})
