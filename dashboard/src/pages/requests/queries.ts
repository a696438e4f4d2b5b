/** What the gateway is asked for: one request for the list together with its overview, one for a sheet. */
import { keepPreviousData, queryOptions, useInfiniteQuery } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import type { paths } from '../../api/schema.d.ts'
import type { Period } from '../../lib/period.ts'
import type { Pages } from '../../ui/paged.tsx'
import type { RequestFilters } from './search.ts'

export const LIST = '/v1/usage/completions'
type ListAnswer = paths[typeof LIST]['get']['responses']['200']['content']['application/json']
export type Completion = ListAnswer['data'][number]
export type Attempt = Completion['attempt_log'][number]
export type Overview = NonNullable<ListAnswer['overview']>
export type WholeCompletion =
  paths['/v1/usage/completions/{id}']['get']['responses']['200']['content']['application/json']
export type Pricing = NonNullable<WholeCompletion['pricing']>

const PAGE_SIZE = 50
const LIVE_MS = 5_000

export interface RequestsQuestion {
  readonly period: Pick<Period, 'start' | 'end'>
  readonly filters: RequestFilters
  readonly order: 'asc' | 'desc'
  /** Asked again every few seconds while it is seen, for the first page alone. */
  readonly isLive: boolean
}

export interface RequestPages extends Pages<Completion> {
  readonly overview: Overview | undefined
  /** What is there belongs to an earlier question. */
  readonly isOutdated: boolean
}

export function useRequests({ period, filters, order, isLive }: RequestsQuestion): RequestPages {
  const asked = { period_start: period.start, period_end: period.end, ...filters, order, limit: PAGE_SIZE }
  const query = useInfiniteQuery({
    queryKey: [LIST, asked, isLive],
    queryFn: ({ pageParam: cursor }) =>
      take(
        api.GET(LIST, {
          params: { query: { ...asked, ...(cursor === undefined ? { include: 'overview' } : { cursor }) } },
        }),
      ),
    initialPageParam: undefined as string | undefined, // (else it would be of the type that has undefined alone)
    getNextPageParam: (last) => (isLive ? undefined : (last.next_cursor ?? undefined)),
    placeholderData: keepPreviousData,
    refetchInterval: isLive && LIVE_MS,
  })
  const pages = query.data?.pages
  const data = pages?.flatMap((page) => page.data)
  const failedMore = query.isFetchNextPageError
  return {
    data,
    rows: data ?? [],
    overview: pages?.[0]?.overview,
    isOutdated: query.isPlaceholderData,
    error: failedMore ? null : query.error,
    isFetching: query.isFetching,
    refetch: () => query.refetch(),
    pageCount: pages?.length ?? 0,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    moreError: failedMore ? query.error : undefined,
    loadMore: () => void query.fetchNextPage(),
  }
}

export function completionQuery(id: string) {
  return queryOptions({
    queryKey: [LIST, 'one', id],
    queryFn: () => take(api.GET('/v1/usage/completions/{id}', { params: { path: { id } } })),
    staleTime: 60_000,
  })
}

/** Every model and key of the period, for those who want to filter by one. */
export function choicesQuery({ start, end }: Pick<Period, 'start' | 'end'>) {
  const query = { period_start: start, period_end: end, group_by: 'key' as const }
  return queryOptions({
    queryKey: ['/v1/usage', 'choices', query],
    queryFn: () => take(api.GET('/v1/usage', { params: { query } })),
    staleTime: 60_000,
  })
}
