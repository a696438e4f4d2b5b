/** Lists that come in pages: what is there so far, and the rest on request. */
import { keepPreviousData, type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import { formatCount, plural } from '../../lib/format.ts'
import { announce } from '../announcer.tsx'
import { Button } from '../button.tsx'
import { Failed, Loaded, type LoadedProps, type LoadedQuery } from '../states.tsx'

/** A page as the gateway sends it. */
export interface ListPage<Row> {
  readonly data: readonly Row[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

/** A query whose data are the rows of all pages so far. `Loaded` takes it as it is. */
export interface Pages<Row> extends LoadedQuery<readonly Row[]> {
  /** The same, with nothing for what is not there yet. */
  readonly rows: readonly Row[]
  /** How many pages are there so far. */
  readonly pageCount: number
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  /** Why the next page did not come. */
  readonly moreError: unknown
  loadMore(): void
}

export interface PagesOptions {
  /** False: nothing is asked for yet. */
  readonly enabled?: boolean
  /** Milliseconds after which it is loaded again, as long as it is seen. */
  readonly refetchInterval?: number | false
}

/**
 * @param key Begins with the path, and has everything else that the list depends on.
 * @param load Asks for the page after the cursor; undefined: for the first.
 */
export function usePages<Row>(
  key: QueryKey,
  load: (cursor: string | undefined) => Promise<ListPage<Row>>,
  options: PagesOptions = {},
): Pages<Row> {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => load(pageParam),
    initialPageParam: undefined as string | undefined, // (else it would be of the type that has undefined alone)
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    ...options,
  })
  const data = query.data?.pages.flatMap((page) => page.data)
  const failedMore = query.isFetchNextPageError
  return {
    data,
    rows: data ?? [],
    error: failedMore ? null : query.error,
    isFetching: query.isFetching,
    refetch: () => query.refetch(),
    pageCount: query.data?.pages.length ?? 0,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    moreError: failedMore ? query.error : undefined,
    loadMore: () => void query.fetchNextPage(),
  }
}

interface PagedRowsProps<Row> extends Pick<LoadedProps<unknown>, 'skeleton' | 'what'> {
  readonly pages: Pages<Row>
  /** What the rows are: "request". */
  readonly noun: string
  /** Replaces a list without rows. */
  readonly empty: ReactNode
  readonly children: (rows: readonly Row[]) => ReactNode
}

/** The rows of all pages so far, and the button that loads the next page. */
export function PagedRows<Row>({ pages, noun, empty, children, ...loaded }: PagedRowsProps<Row>) {
  return (
    <Loaded query={pages} {...loaded}>
      {(rows) =>
        rows.length === 0 ? (
          empty
        ) : (
          <div>
            {children(rows)}
            <LoadMore pages={pages} noun={noun} />
          </div>
        )
      }
    </Loaded>
  )
}

export interface LoadMoreProps<Row> {
  readonly pages: Pages<Row>
  /** What the rows are: "request". */
  readonly noun?: string
}

/** Below the list; nothing where all of it is there. */
export function LoadMore<Row>({ pages, noun = 'row' }: LoadMoreProps<Row>) {
  const count = pages.rows.length
  useAnnouncedGrowth(pages, noun)
  if (pages.moreError !== undefined) {
    return <Failed error={pages.moreError} what="more" onRetry={pages.loadMore} className="mt-3 py-6" />
  }
  if (!pages.hasMore) return null
  return (
    <div className="mt-3 flex flex-wrap items-center justify-center gap-3">
      <Button pending={pages.isLoadingMore} onClick={pages.loadMore}>
        Load more
      </Button>
      <span className="text-sm text-soft tabular-nums">{plural(count, noun)} so far</span>
    </div>
  )
}

function useAnnouncedGrowth<Row>({ rows, pageCount }: Pages<Row>, noun: string): void {
  const before = useRef({ rows: 0, pages: 0 })
  useEffect(() => {
    const { current } = before
    const more = rows.length - current.rows
    before.current = { rows: rows.length, pages: pageCount }
    const isNextPage = current.pages > 0 && pageCount === current.pages + 1
    if (isNextPage && more > 0) announce(`${plural(more, `more ${noun}`)} loaded, ${formatCount(rows.length)} in all`)
  }, [rows.length, pageCount, noun])
}
