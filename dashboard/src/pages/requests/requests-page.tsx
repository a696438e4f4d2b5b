import { RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { downloadFile } from '../../api/download.ts'
import { useCan, useMe } from '../../api/me.ts'
import { problemOf } from '../../api/problem.ts'
import { formatCount } from '../../lib/format.ts'
import { type Period, type PeriodSearch, type Range, resolvePeriod } from '../../lib/period.ts'
import { createPageViews } from '../../lib/saved-views.ts'
import { announce } from '../../ui/announcer.tsx'
import { Button, IconButton, LinkButton } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { DownloadButton } from '../../ui/download-button.tsx'
import { Page } from '../../ui/page.tsx'
import { minuteOf, PeriodPicker } from '../../ui/period-picker.tsx'
import { SavedViews } from '../../ui/saved-views.tsx'
import { Empty, Forbidden, Loaded, Skeleton, SkeletonRows } from '../../ui/states.tsx'
import { LoadMore } from '../../ui/table/paged.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { useNow, useTimeZone } from '../../ui/time-zone.ts'
import { useRequestsChange, useRequestsSearch } from './address.ts'
import { FilterMenu, NO_FILTERS, RequestFilterChips } from './filter-menu.tsx'
import { Histogram } from './histogram.tsx'
import { IdSearch } from './id-search.tsx'
import { useAnnouncedCount, useLiveOverview, useLiveRequests } from './live-requests.ts'
import { LiveSwitch } from './live-switch.tsx'
import { type Completion, LIST, type RequestPages, type RequestsQuery, useRequests } from './queries.ts'
import { RejectedView } from './rejected-view.tsx'
import { RequestSheet } from './request-sheet.tsx'
import { RequestsTable } from './requests-table.tsx'
import { FALLBACK_RANGE, filtersOf, type RequestFilters, readRequestsView } from './search.ts'
import { viewWords } from './words.ts'

const SAVED_VIEWS = createPageViews('requests', readRequestsView)
const RANGES = ['1h', 'today', '24h', '7d', '30d', 'month', 'custom'] as const

export function RequestsPage() {
  const { tab } = useRequestsSearch()
  if (useCan('usage:read')) return tab === 'rejected' ? <Rejected /> : <Requests />
  return (
    <Page title="Requests">
      <Forbidden what="requests" right="usage:read" />
    </Page>
  )
}

function Rejected() {
  return (
    <Page
      title="Requests"
      description="Requests that were rejected, and why."
      wide
      actions={<RequestsViews rows={[]} />}
    >
      <RequestTabs />
      <RejectedView />
    </Page>
  )
}

const TABS = [
  { value: 'completions', label: 'Completions' },
  { value: 'rejected', label: 'Rejected' },
] as const

function RequestTabs() {
  const { tab = 'completions' } = useRequestsSearch()
  const change = useRequestsChange()
  return (
    <div className="-my-4 flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
      <Tabs<(typeof TABS)[number]['value']>
        label="Outcome"
        value={tab}
        items={TABS}
        onChange={(next) => change({ ...NO_REJECTED, tab: next === 'rejected' ? next : undefined, live: undefined })}
        className="min-w-56 flex-1"
      />
      <IdSearch />
    </div>
  )
}

const NO_REJECTED = { code: undefined, request_id: undefined } as const

function Requests() {
  const search = useRequestsSearch()
  const change = useRequestsChange()
  const { order = 'desc' } = search
  const filters = filtersOf(search)
  const isLive = search.live === '1' && search.range !== 'custom' // a period that is over does not live
  const { period, asked, renew } = usePinnedPeriod(search, { fallback: FALLBACK_RANGE, isLive })
  const question = { period, filters, order: isLive ? 'desc' : order } as const
  const live = useLiveRequests(filters, isLive)
  const pages = useRequests({ ...question, period: asked, isLive }, { live, since: period.start })
  useLiveOverview({ ...question, period: asked, isLive }, { count: live.count, period })
  useAnnouncedCount(live.count)
  const refresh = () => {
    renew()
    void pages.refetch()
    announce('Refreshed')
  }
  return (
    <Page
      title="Requests"
      description="Every completion that reached a provider, with its result."
      wide
      actions={
        <>
          <PeriodPicker
            search={search}
            ranges={RANGES}
            fallback={FALLBACK_RANGE}
            zone={useTimeZone()}
            onChange={(next) => change({ range: undefined, from: undefined, to: undefined, live: undefined, ...next })}
          />
          <IconButton label="Refresh" icon={RefreshCw} variant="secondary" onClick={refresh} />
          <RequestsViews rows={pages.rows} />
        </>
      }
    >
      <RequestTabs />
      <div className="-mt-2 flex flex-wrap items-center gap-x-4 gap-y-2">
        <FilterMenu filters={filters} period={period} rows={pages.rows} />
        <RequestFilterChips filters={filters} rows={pages.rows} />
        <Exports
          question={question}
          unavailable={pages.rows.length === 0 ? 'There is no request to export.' : undefined}
        />
        <LiveSwitch isLive={isLive} live={live} />
      </div>
      <Found pages={pages} filters={filters} isLive={isLive} />
      <RequestSheet />
    </Page>
  )
}

/** They have no index. */
const SEARCHED = [
  'provider',
  'tag',
  'session_id',
  'client_request_id',
  'outcome',
  'min_duration_ms',
  'max_duration_ms',
  'min_cost_usd',
  'max_cost_usd',
] as const satisfies readonly (keyof RequestFilters)[]

interface FoundProps {
  readonly pages: RequestPages
  readonly filters: RequestFilters
  readonly isLive: boolean
}

function Found({ pages, filters, isLive }: FoundProps) {
  const change = useRequestsChange()
  const { agent_id: agent } = filters
  const searched = SEARCHED.some((name) => filters[name] !== undefined)
  const problem = problemOf(pages.error)
  if (pages.error !== null && problem.param === 'period_start' && searched && agent === undefined) {
    return (
      <Empty
        title="These filters support at most 7 days"
        action={
          <Button onClick={() => change({ range: '7d', from: undefined, to: undefined })}>Show the last 7 days</Button>
        }
      >
        {problem.message}
      </Empty>
    )
  }
  return (
    <Loaded query={pages} what="requests" skeleton={<ListSkeleton />}>
      {(rows) => (
        <div
          aria-busy={pages.isOutdated || undefined}
          className={classNames('flex flex-col gap-6 transition-opacity', pages.isOutdated && 'opacity-60')}
        >
          {rows.length > 0 && pages.overview !== undefined && <Histogram overview={pages.overview} />}
          {rows.length === 0 ? (
            <NothingFound isFiltered={Object.keys(filters).length > 0} />
          ) : (
            <section>
              <h2 className="sr-only">List</h2>
              <RequestsTable rows={rows} />
              {isLive ? (
                <p className="mt-3 text-center text-sm text-soft">
                  The newest requests; new ones appear on top when they end. Turn off Live to see older ones.
                </p>
              ) : (
                <LoadMore pages={pages} noun="request" />
              )}
            </section>
          )}
        </div>
      )}
    </Loaded>
  )
}

function NothingFound({ isFiltered }: { readonly isFiltered: boolean }) {
  const change = useRequestsChange()
  const canChat = useCan('chat')
  if (isFiltered) {
    return (
      <Empty title="No matching requests" action={<Button onClick={() => change(NO_FILTERS)}>Clear filters</Button>}>
        Try a longer period.
      </Empty>
    )
  }
  return (
    <Empty
      title="No requests in this period"
      action={
        canChat ? (
          <LinkButton variant="primary" to="/playground">
            Open the Playground
          </LinkButton>
        ) : (
          <Button onClick={() => change({ range: '30d', from: undefined, to: undefined })}>
            Show the last 30 days
          </Button>
        )
      }
      command={'echo "Say hello." | turnpike chat'}
    >
      Requests appear here within a second of their end.
    </Empty>
  )
}

function ListSkeleton() {
  return (
    <div className="flex flex-col gap-6">
      <Skeleton className="h-72 w-full" />
      <SkeletonRows rows={12} />
    </div>
  )
}

const MAX_ROWS = 10_000

interface ExportsProps {
  readonly question: Omit<RequestsQuery, 'isLive'>
  readonly unavailable: string | undefined
}

function Exports(props: ExportsProps) {
  const { agent_id: agent, client_request_id: name, request_id: id } = props.question.filters
  const hasContent = useCan('content') && (agent ?? name ?? id) === undefined // it has no such filters
  return (
    <>
      <ExportButton {...props} path={LIST} format="csv" file="turnpike-requests.csv" className="ml-auto">
        Export CSV
      </ExportButton>
      {hasContent && (
        <ExportButton {...props} path="/v1/usage/content" format="jsonl" file="turnpike-content.jsonl">
          Export prompts and answers
        </ExportButton>
      )}
    </>
  )
}

interface ExportButtonProps extends ExportsProps {
  readonly path: string
  readonly format: 'csv' | 'jsonl'
  readonly file: string
  readonly className?: string
  readonly children: string
}

/** A file that could not have everything says so, below the toolbar, until something else is asked for. */
function ExportButton({ question, path, format, file, ...button }: ExportButtonProps) {
  const { period, filters, order } = question
  const [cut, setCut] = useState<string>()
  const bounds = { period_start: period.start, period_end: period.end }
  const query = new URLSearchParams({ ...bounds, ...filters, order, format, limit: String(MAX_ROWS) }).toString()
  const download = async () => {
    const { name, headers } = await downloadFile(`${path}?${query}`, file)
    const isCut = headers.has('x-next-cursor')
    setCut(isCut ? query : undefined)
    if (isCut) announce(cutNote(order))
    return name
  }
  return (
    <>
      <DownloadButton download={download} {...button} />
      {cut === query && <p className="order-last basis-full text-sm text-soft">{cutNote(order)}</p>}
    </>
  )
}

function cutNote(order: 'asc' | 'desc'): string {
  const which = order === 'desc' ? 'newest' : 'oldest'
  return `The file has the ${which} ${formatCount(MAX_ROWS)} of the period. Choose a shorter period for the others.`
}

interface RequestsViewsProps {
  /** Keys are called in the proposed name what they are called in the list. */
  readonly rows: readonly Completion[]
}

function RequestsViews({ rows }: RequestsViewsProps) {
  const { account } = useMe()
  const search = useRequestsSearch()
  const context = { rows, now: useNow(), zone: useTimeZone() }
  return <SavedViews accountId={account.id} views={SAVED_VIEWS} search={search} words={viewWords(search, context)} />
}

interface PinnedPeriod {
  readonly period: Period
  /** As it was when it was asked for, also while it is live. */
  readonly asked: Period
  /** Up to now. */
  readonly renew: () => void
}

/**
 * The period as it was when it was asked for, so that a list does not change under the reader's eyes. It moves with time
 * only while it is live.
 */
function usePinnedPeriod(
  search: PeriodSearch,
  { fallback, isLive }: { readonly fallback: Exclude<Range, 'custom'>; readonly isLive: boolean },
): PinnedPeriod {
  const now = useNow()
  const question = [search.range, search.from, search.to, isLive].join()
  const [asked, setAsked] = useState({ question, at: Date.now() })
  if (asked.question !== question) setAsked({ question, at: Date.now() })
  const at = isLive ? Math.max(now, asked.at) : asked.at
  const zone = useTimeZone()
  const resolved = (moment: number) => resolvePeriod(search, minuteOf(moment), fallback, zone)
  return {
    period: resolved(at),
    asked: resolved(asked.at),
    renew: () => setAsked({ question, at: Date.now() }),
  }
}
