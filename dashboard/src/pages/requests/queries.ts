/** What the gateway is asked for: one request for the list together with its overview, one for a sheet. */
import {
  type InfiniteData,
  keepPreviousData,
  type QueryKey,
  queryOptions,
  useInfiniteQuery,
} from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import type { FollowedConnection } from '../../api/event-stream.ts'
import type { ApiProblem } from '../../api/problem.ts'
import type { paths } from '../../api/schema.d.ts'
import type { Period } from '../../lib/period.ts'
import type { Pages } from '../../ui/table/paged.tsx'
import type { RequestFilters } from './search.ts'

export const LIST = '/v1/usage/completions'
type ListAnswer = paths[typeof LIST]['get']['responses']['200']['content']['application/json']
export type Completion = ListAnswer['data'][number]
export type Attempt = Completion['attempt_log'][number]
export type Overview = NonNullable<ListAnswer['overview']>
export type WholeCompletion =
  paths['/v1/usage/completions/{id}']['get']['responses']['200']['content']['application/json']
export type Pricing = NonNullable<WholeCompletion['pricing']>

/** The list as it is in the cache of queries. */
export type ListPages = InfiniteData<ListAnswer, string | undefined>

export const PAGE_SIZE = 50

export interface RequestsQuery {
  readonly period: Pick<Period, 'start' | 'end'>
  readonly filters: RequestFilters
  readonly order: 'asc' | 'desc'
  /** Loads the first page only; the event stream delivers later requests. */
  readonly isLive: boolean
}

export type LiveConnection = FollowedConnection | 'off' | 'connecting'

export interface LiveRequests {
  /** What has come for these filters, the newest first: as many as a page has. */
  readonly rows: readonly Completion[]
  /** How many have ever come, whatever the filters were. */
  readonly count: number
  readonly connection: LiveConnection
  /** Why it cannot be opened; undefined unless it failed. */
  readonly problem: ApiProblem | undefined
}

export interface LiveAdditions {
  readonly live: LiveRequests
  /** ISO 8601: where the period begins by now. */
  readonly since: string
}

export interface RequestPages extends Pages<Completion> {
  readonly overview: Overview | undefined
  /** What is there belongs to an earlier question. */
  readonly isOutdated: boolean
}

export function useRequests(question: RequestsQuery, { live, since }: LiveAdditions): RequestPages {
  const { isLive } = question
  const asked = askedOf(question)
  const query = useInfiniteQuery({
    queryKey: listKey(question),
    queryFn: ({ pageParam: cursor }) =>
      take(
        api.GET(LIST, {
          params: { query: { ...asked, ...(cursor === undefined ? { include: 'overview' } : { cursor }) } },
        }),
      ),
    initialPageParam: undefined as string | undefined, // (else it would be of the type that has undefined alone)
    getNextPageParam: (last) => (isLive ? undefined : (last.next_cursor ?? undefined)),
    placeholderData: keepPreviousData,
    ...(isLive && { ...COMES_BY_ITSELF, enabled: live.connection !== 'connecting' }),
  })
  const pages = query.data?.pages
  const listed = pages?.flatMap((page) => page.data)
  const data = isLive ? listed && newestOf(live.rows, listed, { limit: PAGE_SIZE, since }) : listed
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

/** Asked for once the stream is open, which tells what ends from then on. */
const COMES_BY_ITSELF = {
  staleTime: Number.POSITIVE_INFINITY,
  refetchOnWindowFocus: false,
  refetchOnReconnect: false,
} as const

function askedOf({ period, filters, order }: RequestsQuery) {
  return { period_start: period.start, period_end: period.end, ...filters, order, limit: PAGE_SIZE }
}

export function listKey(question: RequestsQuery): QueryKey {
  return [LIST, askedOf(question), question.isLive]
}

export function isLiveList(key: QueryKey): boolean {
  return key[0] === LIST && key[2] === true
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

interface Row {
  /** Sorts by when it began. */
  readonly id: string
  /** ISO 8601 UTC. */
  readonly created_at: string
}

export interface NewestOf {
  readonly limit: number
  /** ISO 8601: what began before it is left out. */
  readonly since?: string
}

/** The newest of both, the newest first, each once. */
export function newestOf<Known extends Row>(
  come: readonly Known[],
  listed: readonly Known[],
  { limit, since }: NewestOf,
): readonly Known[] {
  const first = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since)
  const byId = new Map([...listed, ...come].map((row) => [row.id, row]))
  return [...byId.values()]
    .filter((row) => Date.parse(row.created_at) >= first)
    .sort((one, other) => (one.id < other.id ? 1 : -1))
    .slice(0, limit)
}
