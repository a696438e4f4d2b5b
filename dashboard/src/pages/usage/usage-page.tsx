import { useQuery } from '@tanstack/react-query'
import { useCan, useMe } from '../../api/me.ts'
import { formatCount } from '../../lib/format.ts'
import { GROUP_NAMES, type Group } from '../../lib/group-names.ts'
import type { Metric } from '../../lib/measures.ts'
import { type Period, previousPeriod } from '../../lib/period.ts'
import { createPageViews } from '../../lib/saved-views.ts'
import { monthName } from '../../lib/time.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Button, LinkButton } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { DownloadButton } from '../../ui/download-button.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { PeriodPicker, usePeriod } from '../../ui/period-picker.tsx'
import { SavedViews } from '../../ui/saved-views.tsx'
import { Empty, Forbidden, Loaded, Skeleton, SkeletonRows } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { type TimeZone, useNow, useTimeZone } from '../../ui/time-zone.ts'
import { periodSearch, requestsTarget, useUsageChange, useUsageSearch } from './address.ts'
import { viewWords } from './breakdown.ts'
import { intervalOf } from './chart-data.ts'
import { CostsView } from './costs/costs-view.tsx'
import {
  type AskedReport,
  downloadReport,
  optionsQuery,
  type Report,
  type ReportQuestion,
  reportQuery,
} from './queries.ts'
import { FALLBACK_RANGE, readUsageView, type UsageSearch } from './search.ts'
import { SpeedView } from './speed-view.tsx'
import { UsageChart, UsageSummary } from './usage-chart.tsx'
import { UsageControls } from './usage-controls.tsx'
import { UsageTable } from './usage-table.tsx'

const SAVED_VIEWS = createPageViews('usage', readUsageView)
const RANGES = ['today', '24h', '7d', '30d', 'month', 'custom'] as const

export function UsagePage() {
  if (useCan('usage:read')) return <Usage />
  return (
    <Page title="Usage">
      <Forbidden what="usage" right="usage:read" />
    </Page>
  )
}

const VIEWS = [
  { value: 'used', label: 'Spend and volume' },
  { value: 'costs', label: 'Cost explorer' },
  { value: 'speed', label: 'Speed and errors' },
] as const

const DESCRIPTIONS = {
  used: 'Usage and cost of this account. Days and months are UTC.',
  costs: 'Costs by tag, team, member, key and more. The rows add up to the ledger. Days and months are UTC.',
  speed: 'Speed and errors of this account’s requests. Days and months are those of your time zone.',
} as const

/** Of the days of a view: amounts are booked by those of UTC. */
function useZoneOf({ show }: UsageSearch): TimeZone {
  const zone = useTimeZone()
  return show === 'speed' ? zone : 'utc'
}

const VIEW_PARTS = { used: <UsedView />, costs: <CostsView />, speed: <SpeedView /> } as const

function Usage() {
  const search = useUsageSearch()
  const change = useUsageChange()
  const view = search.show ?? 'used'
  return (
    <Page
      title="Usage"
      description={DESCRIPTIONS[view]}
      actions={
        <>
          <PeriodPicker
            search={search}
            ranges={RANGES}
            fallback={FALLBACK_RANGE}
            zone={useZoneOf(search)}
            onChange={(next) =>
              change({ range: undefined, from: undefined, to: undefined, interval: undefined, ...next })
            }
          />
          <UsageViews />
        </>
      }
    >
      <Tabs
        label="Usage views"
        value={view}
        items={VIEWS}
        onChange={(next) => change({ show: next === 'used' ? undefined : next, sort: undefined, dir: undefined })}
        className="-mt-2"
      >
        <div className="flex flex-col gap-8">{VIEW_PARTS[view]}</div>
      </Tabs>
    </Page>
  )
}

function UsedView() {
  const search = useUsageSearch()
  const { period, comparedUntil } = usePeriod(search, FALLBACK_RANGE)
  const { group = 'model', metric = 'spend', model, key_id: keyId } = search
  const { interval, canChoose } = intervalOf(period, search.interval)
  const hasSeries = group === 'model' || group === 'key'
  const question = { period, group, interval: hasSeries ? interval : undefined, model, keyId }
  const query = useQuery(reportQuery(question))
  const before = useBefore(question, previousPeriod(period, comparedUntil))
  return (
    <>
      <UsageControls {...{ group, metric, interval, period }} canChooseInterval={hasSeries && canChoose} />
      <Loaded query={query} what="usage" skeleton={<UsageSkeleton />}>
        {(answer) => (
          <div
            aria-busy={query.isPlaceholderData || undefined}
            className={classNames('flex flex-col gap-8 transition-opacity', query.isPlaceholderData && 'opacity-60')}
          >
            <UsageReport {...answer} period={period} metric={metric} before={before(answer)} />
          </div>
        )}
      </Loaded>
    </>
  )
}

/** The period before, for an answer about the same groups; undefined while that is not known. */
function useBefore(
  { group, model, keyId }: ReportQuestion,
  period: Period,
): (answer: AskedReport) => Report | undefined {
  const isOfAll = group === 'day' // no day is in both periods
  const { data } = useQuery(reportQuery({ period, group: isOfAll ? undefined : group, model, keyId }))
  return ({ asked }) => {
    if (data === undefined) return undefined
    const before = data.asked
    const isSame = before.model === asked.model && before.keyId === asked.keyId
    return isSame && before.group === (asked.group === 'day' ? undefined : asked.group) ? data.report : undefined
  }
}

interface UsageReportProps extends AskedReport {
  readonly period: Period
  readonly metric: Metric
  readonly before: Report | undefined
}

function UsageReport({ asked, report, period, metric, before }: UsageReportProps) {
  const search = useUsageSearch()
  const { group = 'model', model, keyId } = asked
  if (report.total_requests === 0) return <NothingUsed isFiltered={model !== undefined || keyId !== undefined} />
  const target = requestsTarget({ ...periodSearch(search, period), model, key_id: keyId })
  const shown = { asked, report, metric, before }
  const hasGroups = report.groups !== undefined && report.groups.length > 0
  return (
    <>
      <UsageSummary report={report} before={before} target={target} />
      {hasGroups && (
        <section>
          <h2 className="sr-only">Over time</h2>
          <UsageChart {...shown} />
        </section>
      )}
      <Section
        title={`By ${GROUP_NAMES[group].toLowerCase()}`}
        actions={
          <>
            <InvoiceLinks period={period} />
            <DownloadButton size="sm" download={() => downloadReport(asked)}>
              Download CSV
            </DownloadButton>
          </>
        }
      >
        {hasGroups ? <UsageTable {...shown} /> : <NoGroups group={group} requests={report.total_requests} />}
      </Section>
    </>
  )
}

function NothingUsed({ isFiltered }: { readonly isFiltered: boolean }) {
  const change = useUsageChange()
  const canChat = useCan('chat')
  if (isFiltered) {
    return (
      <Empty
        title="No matching usage"
        action={<Button onClick={() => change({ model: undefined, key_id: undefined })}>Clear filters</Button>}
      >
        No requests with this model and key in this period.
      </Empty>
    )
  }
  return (
    <Empty
      title="No usage in this period"
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
      Requests are counted within a second of their end.
    </Empty>
  )
}

/** Only agents can be none of what was used. */
function NoGroups({ group, requests }: { readonly group: Group; readonly requests: number }) {
  return (
    <Empty title={`No ${GROUP_NAMES[group].toLowerCase()} has usage in this period`}>
      All {formatCount(requests)} requests came from outside agents.
    </Empty>
  )
}

/** To what each month of the period is billed as. */
function InvoiceLinks({ period }: { readonly period: Period }) {
  const canSee = useCan('billing')
  if (!canSee) return null
  return (
    <span className="flex flex-wrap items-center gap-x-3 text-sm text-soft">
      Invoice view:
      {monthsOf(period).map((month) => (
        <AppLink
          key={month}
          to="/billing"
          search={{ month }}
          className="inline-flex min-h-6 items-center text-accent hover:underline"
        >
          {monthName(month)}
        </AppLink>
      ))}
    </span>
  )
}

function UsageSkeleton() {
  return (
    <div className="flex flex-col gap-8">
      <Skeleton className="h-24 w-full" />
      <Skeleton className="h-96 w-full" />
      <SkeletonRows rows={5} />
    </div>
  )
}

/** Further back than this, one looks at Billing itself. */
const MAX_MONTHS = 3

/** The months that a period has a part of, the newest first: `2026-11`. */
function monthsOf({ start, end }: Pick<Period, 'start' | 'end'>): readonly string[] {
  const last = new Date(Date.parse(end) - 1)
  const months = Array.from({ length: MAX_MONTHS }, (_, back) =>
    new Date(Date.UTC(last.getUTCFullYear(), last.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  )
  return months.filter((month) => month >= start.slice(0, 7))
}

function UsageViews() {
  const { account } = useMe()
  const search = useUsageSearch()
  const { period } = usePeriod(search, FALLBACK_RANGE)
  // the filters ask for the keys; for a name alone it is not worth asking
  const keys = useQuery({ ...optionsQuery(period), enabled: false }).data?.report.groups ?? []
  return (
    <SavedViews
      accountId={account.id}
      views={SAVED_VIEWS}
      search={search}
      words={viewWords(search, keys, { now: useNow(), zone: useZoneOf(search) })}
    />
  )
}
