import { RefreshCw } from 'lucide-react'
import { useCan } from '../../api/me.ts'
import { problemOf } from '../../api/problem.ts'
import { present } from '../../lib/address.ts'
import { announce } from '../../ui/announcer.tsx'
import { Button, IconButton, LinkButton } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { Page } from '../../ui/page.tsx'
import { LoadMore } from '../../ui/paged.tsx'
import { PeriodPicker } from '../../ui/period-picker.tsx'
import { Empty, Forbidden, Loaded, Skeleton, SkeletonRows } from '../../ui/states.tsx'
import { useRequestsChange, useRequestsSearch } from './address.ts'
import { ExportButton } from './export-button.tsx'
import { FilterChips, NO_FILTERS } from './filter-chips.tsx'
import { FilterMenu } from './filter-menu.tsx'
import { Histogram } from './histogram.tsx'
import { LiveSwitch } from './live-switch.tsx'
import { type RequestPages, useRequests } from './queries.ts'
import { RequestSheet } from './request-sheet.tsx'
import { RequestsTable } from './requests-table.tsx'
import { RequestsViews } from './requests-views.tsx'
import { FALLBACK_RANGE, type RequestFilters } from './search.ts'
import { useAskedPeriod } from './use-asked-period.ts'
import { useLiveOverview } from './use-live-overview.ts'
import { useLiveRequests } from './use-live-requests.ts'
import { useAnnouncedCount } from './use-live-turn.ts'

const RANGES = ['1h', 'today', '24h', '7d', '30d', 'month', 'custom'] as const

export function RequestsPage() {
  if (useCan('usage:read')) return <Requests />
  return (
    <Page title="Requests">
      <Forbidden what="requests" right="usage:read" />
    </Page>
  )
}

function Requests() {
  const search = useRequestsSearch()
  const change = useRequestsChange()
  const { status, model, key_id, provider, agent_id, order = 'desc' } = search
  const filters: RequestFilters = present({ status, model, key_id, provider, agent_id })
  const isLive = search.live === '1' && search.range !== 'custom' // a period that is over does not live
  const { period, asked, renew } = useAskedPeriod(search, { fallback: FALLBACK_RANGE, isLive })
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
      description="Every completion that reached a provider, and what became of it."
      wide
      actions={
        <>
          <PeriodPicker
            search={search}
            ranges={RANGES}
            fallback={FALLBACK_RANGE}
            onChange={(next) => change({ range: undefined, from: undefined, to: undefined, live: undefined, ...next })}
          />
          <IconButton label="Refresh" icon={RefreshCw} variant="secondary" onClick={refresh} />
          <RequestsViews rows={pages.rows} />
        </>
      }
    >
      <div className="-mt-2 flex flex-wrap items-center gap-x-4 gap-y-2">
        <FilterMenu filters={filters} period={period} rows={pages.rows} />
        <FilterChips filters={filters} rows={pages.rows} />
        <ExportButton question={question} disabled={pages.rows.length === 0} />
        <LiveSwitch isLive={isLive} live={live} />
      </div>
      <Found pages={pages} filters={filters} isLive={isLive} />
      <RequestSheet id={search.request} />
    </Page>
  )
}

interface FoundProps {
  readonly pages: RequestPages
  readonly filters: RequestFilters
  readonly isLive: boolean
}

function Found({ pages, filters, isLive }: FoundProps) {
  const change = useRequestsChange()
  const { provider, agent_id: agent } = filters
  const problem = problemOf(pages.error)
  if (pages.error !== null && problem.param === 'period_start' && provider !== undefined && agent === undefined) {
    return (
      <Empty
        title="A filter by provider is for at most 7 days"
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
                  The newest requests: others come on top when they end. Turn off Live to see older ones.
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
      <Empty
        title="No request matches these filters"
        action={<Button onClick={() => change(NO_FILTERS)}>Clear filters</Button>}
      >
        A longer period may have some.
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
      A request is listed here within a second of its end.
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
