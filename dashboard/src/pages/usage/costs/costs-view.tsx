/** The cost explorer: who and what the spend of a period is for. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { present } from '../../../lib/address.ts'
import { formatCount, formatExactUsd, formatUsd } from '../../../lib/format.ts'
import { formatAmount, formatBrief, formatTick, METRIC_NAMES } from '../../../lib/measures.ts'
import { Button } from '../../../ui/button.tsx'
import { ChartFrame, ChartTable, StackedBars } from '../../../ui/chart/index.ts'
import { classNames } from '../../../ui/class-names.ts'
import { DownloadButton } from '../../../ui/download-button.tsx'
import { Section } from '../../../ui/page.tsx'
import { usePeriod } from '../../../ui/period-picker.tsx'
import { Empty, Loaded, Skeleton, SkeletonRows } from '../../../ui/states.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { useUsageChange, useUsageSearch } from '../address.ts'
import { COST_FILTERS, type CostFilters, FALLBACK_RANGE } from '../search.ts'
import { CostControls } from './cost-controls.tsx'
import { CostTable } from './cost-table.tsx'
import { type Dimension, dimensionName, readDimensions } from './dimensions.ts'
import { costChartOf } from './groups.ts'
import { type AskedCosts, costsQuery, downloadCosts, useCostNames } from './queries.ts'

export function CostsView() {
  const search = useUsageSearch()
  const { period } = usePeriod(search, FALLBACK_RANGE)
  const filters = filtersOf(search)
  const dimensions = readDimensions(search.dims)
  const query = useQuery(costsQuery({ period, dimensions, filters }))
  const nameOf = useCostNames(period)
  return (
    <>
      <CostControls dimensions={dimensions} filters={filters} period={period} nameOf={nameOf} />
      <Loaded query={query} what="costs" skeleton={<CostsSkeleton />}>
        {(answer) => (
          <div
            aria-busy={query.isPlaceholderData || undefined}
            className={classNames('flex flex-col gap-8 transition-opacity', query.isPlaceholderData && 'opacity-60')}
          >
            <Costs {...answer} nameOf={nameOf} />
          </div>
        )}
      </Loaded>
    </>
  )
}

function filtersOf(search: CostFilters): CostFilters {
  return present(Object.fromEntries(COST_FILTERS.map((name) => [name, search[name]])))
}

interface CostsProps extends AskedCosts {
  readonly nameOf: (id: string) => string
}

function Costs({ asked, report, nameOf }: CostsProps) {
  if (report.total_requests === 0) return <NoCosts isFiltered={Object.keys(asked.filters).length > 0} />
  const title = `By ${asked.dimensions.map((each) => dimensionName(each).toLowerCase()).join(', ')}`
  return (
    <>
      <section>
        <h2 className="sr-only">Over time</h2>
        <CostChart asked={asked} nameOf={nameOf} />
      </section>
      <Section
        title={title}
        actions={(['csv', 'json'] as const).map((format) => (
          <DownloadButton key={format} size="sm" download={() => downloadCosts(asked, format)}>
            Download {format.toUpperCase()}
          </DownloadButton>
        ))}
      >
        <CostTable asked={asked} report={report} nameOf={nameOf} />
      </Section>
    </>
  )
}

const DAY_MS = 86_400_000
const MAX_DAYS = 400

/** Each day of the period by the first of the dimensions that is not the day. */
function CostChart({ asked: table, nameOf }: Pick<CostsProps, 'asked' | 'nameOf'>) {
  const part = table.dimensions.find((each) => each !== 'day')
  const dimensions: readonly Dimension[] = part === undefined ? ['day'] : ['day', part]
  const question = { ...table, dimensions }
  const { start, end } = table.period
  const isTooLong = Date.parse(end) - Date.parse(start) > MAX_DAYS * DAY_MS
  const query = useQuery({ ...costsQuery(question), enabled: !isTooLong })
  if (isTooLong) {
    return (
      <p className="rounded-xl border border-line bg-surface px-4 py-3 text-soft">
        Charts show at most {MAX_DAYS} days. The table below covers the whole period.
      </p>
    )
  }
  return (
    <Loaded query={query} what="the chart" skeleton={<Skeleton className="h-96 w-full" />}>
      {(answer) => <Bars {...answer} nameOf={nameOf} />}
    </Loaded>
  )
}

function Bars({ asked, report, nameOf }: CostsProps) {
  const { metric = 'spend' } = useUsageSearch()
  const openDay = useOpenDay()
  const { dimensions, period } = asked
  const { series, points } = costChartOf(report, { dimensions, metric, period, nameOf, now: useNow() })
  const by = dimensions[1] ?? 'day'
  const title = `${METRIC_NAMES[metric]} by ${dimensionName(by).toLowerCase()}, each day`
  const exact = (amount: number) => formatAmount(metric, amount)
  const total =
    metric === 'spend' ? (
      <span title={formatExactUsd(report.total_cost_usd)}>{formatUsd(report.total_cost_usd)}</span>
    ) : (
      formatCount(metric === 'requests' ? report.total_requests : report.total_tokens)
    )
  return (
    <ChartFrame
      title={title}
      total={total}
      table={<ChartTable label={title} series={series} points={points} format={exact} pointHeader="Day (UTC)" />}
    >
      <StackedBars
        label={title}
        summary={`${METRIC_NAMES[metric]} of ${points.length} days.`}
        series={series}
        points={points}
        format={exact}
        formatTotal={(amount) => formatBrief(metric, amount)}
        formatTick={(amount) => formatTick(metric, amount)}
        height={260}
        onSelect={openDay}
      />
      {report.other !== undefined && (
        <p className="mt-2 text-sm text-soft">
          Without {formatCount(report.other.groups)} smaller bars, together {formatUsd(report.other.cost_usd)}.
        </p>
      )}
    </ChartFrame>
  )
}

function useOpenDay(): (point: { readonly at: string }) => void {
  const change = useUsageChange()
  return ({ at }) => change({ range: 'custom', from: at.slice(0, 10), to: at.slice(0, 10) })
}

const NO_FILTERS = Object.fromEntries(COST_FILTERS.map((name) => [name, undefined]))

function NoCosts({ isFiltered }: { readonly isFiltered: boolean }) {
  const change = useUsageChange()
  const navigate = useNavigate()
  if (isFiltered) {
    return (
      <Empty title="No matching usage" action={<Button onClick={() => change(NO_FILTERS)}>Clear filters</Button>}>
        No requests with these filters in this period.
      </Empty>
    )
  }
  return (
    <Empty
      title="No usage in this period"
      action={<Button onClick={() => void navigate({ to: '/playground' })}>Open the Playground</Button>}
    >
      Requests with the header x-turnpike-tags: customer=northwind are told apart here.
    </Empty>
  )
}

function CostsSkeleton() {
  return (
    <div className="flex flex-col gap-8">
      <Skeleton className="h-96 w-full" />
      <SkeletonRows rows={5} />
    </div>
  )
}
