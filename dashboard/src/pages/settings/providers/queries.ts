/** Providers as the process that answers knows them. */

import { queryOptions } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/table/paged.tsx'

type Answer = paths['/v1/admin/providers']['get']['responses'][200]['content']['application/json']
export type Provider = Answer['data'][number]
export type Deployment = Provider['deployments'][number]
export type Credential = Provider['credentials'][number]
export type ProviderTestResult =
  paths['/v1/admin/providers/{name}/test']['post']['responses'][200]['content']['application/json']

/** As long as the page is seen. */
const REFRESH_MS = 5_000
const PAGE_SIZE = 100

export function useProviders(): Pages<Provider> {
  return usePages(
    ['/v1/admin/providers'],
    (cursor) =>
      take(
        api.GET('/v1/admin/providers', {
          params: { query: { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } },
        }),
      ),
    { refetchInterval: REFRESH_MS },
  )
}

export type PriceEnd =
  paths['/v1/admin/price_ends']['get']['responses'][200]['content']['application/json']['data'][number]

/** Prices that end within a week, or have ended; few, so that one page has them. */
export const priceEndsQuery = queryOptions({
  queryKey: ['/v1/admin/price_ends'],
  queryFn: async () => (await take(api.GET('/v1/admin/price_ends', { params: { query: { limit: PAGE_SIZE } } }))).data,
  staleTime: 60_000,
})

/**
 * One call by the process that answers, which may take 10 s; made when it is asked for and never by itself. What came of it
 * stays when its place on the page changes.
 */
export function providerTestQuery(name: string) {
  return queryOptions({
    queryKey: ['/v1/admin/providers/{name}/test', name],
    queryFn: () => take(api.POST('/v1/admin/providers/{name}/test', { params: { path: { name } } })),
    enabled: false,
    retry: false,
  })
}
