/** Speed and errors: of all models and keys, and of 31 days at most, which it says. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCan } from '../../api/me.ts'
import { present } from '../../lib/address.ts'
import { formatCount, formatMs, formatSuccess } from '../../lib/format.ts'
import type { Period } from '../../lib/period.ts'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import { LinkButton } from '../../ui/button.tsx'
import { ChartFrame, type ChartPoint, ChartTable, LineChart } from '../../ui/chart/index.ts'
import { classNames } from '../../ui/class-names.ts'
import { Segmented } from '../../ui/form/segmented.tsx'
import { Section } from '../../ui/page.tsx'
import { usePeriod } from '../../ui/period-picker.tsx'
import { Empty, Loaded, Skeleton, SkeletonRows } from '../../ui/states.tsx'
import { type Column, type Sort, Table } from '../../ui/table/table.tsx'
import { useNow, useTimeZone } from '../../ui/time-zone.ts'
import { Dash, Ms } from '../../ui/values.tsx'
import { clippedSpan, periodSearch, requestsTarget, useUsageChange, useUsageSearch } from './address.ts'
import { HOUR_MS } from './chart-data.ts'
import { type AskedSpeed, speedQuery } from './queries.ts'
import { FALLBACK_RANGE, SPEED_COLUMNS, SPEED_GROUPS, type SpeedColumn, type SpeedGroup } from './search.ts'
import {
  type MeasuredPeriod,
  measuredPeriod,
  SPEED_SERIES,
  type SpeedHour,
  type SpeedRow,
  searchablePeriod,
  sortedSpeed,
  speedPoints,
  speedSummary,
} from './speed-data.ts'
import { Labelled } from './usage-controls.tsx'

export function SpeedView() {
  const { by = 'model', ...search } = useUsageSearch()
  const zone = useTimeZone()
  const { period } = usePeriod(search, FALLBACK_RANGE, zone)
  const measured = measuredPeriod(period, useNow(), zone)
  const query = useQuery(speedQuery({ period: measured.period, group: by }))
  return (
    <>
      <SpeedControls group={by} />
      <Loaded query={query} what="speed and errors" skeleton={<SpeedSkeleton />}>
        {(answer) => (
          <div
            aria-busy={query.isPlaceholderData || undefined}
            className={classNames('flex flex-col gap-8 transition-opacity', query.isPlaceholderData && 'opacity-60')}
          >
            <SpeedReport {...answer} whole={period} measured={measured} />
          </div>
        )}
      </Loaded>
    </>
  )
}

function SpeedControls({ group }: { readonly group: SpeedGroup }) {
  const change = useUsageChange()
  const { model, key_id: keyId } = useUsageSearch()
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
      <Labelled text="Group by">
        <Segmented
          label="Group by"
          value={group}
          onChange={(next) => change({ by: next === 'model' ? undefined : next, sort: undefined, dir: undefined })}
          options={SPEED_GROUPS.map((value) => ({ value, label: SPEED_GROUP_NAMES[value] }))}
        />
      </Labelled>
      {(model !== undefined || keyId !== undefined) && (
        <p className="text-sm text-soft">
          The model and key filters do not apply here: these figures cover all requests.
        </p>
      )}
    </div>
  )
}

interface SpeedReportProps extends AskedSpeed {
  /** That of the page. */
  readonly whole: Period
  readonly measured: MeasuredPeriod
}

function SpeedReport({ asked, performance, whole, measured }: SpeedReportProps) {
  const search = useUsageSearch()
  const { group } = asked
  if (performance.groups.length === 0) return <NoRequests isShortened={measured.isShortened} />
  const listed = group === 'provider' ? searchablePeriod(asked.period) : asked.period
  const isWhole = listed.start === whole.start && listed.end === whole.end
  const span = periodSearch(isWhole ? search : { range: 'custom' }, listed)
  const targetOf = ({ key }: SpeedRow, status?: 'failed') => requestsTarget(present({ ...span, [group]: key, status }))
  return (
    <>
      <Scope measured={measured} />
      <section>
        <h2 className="sr-only">Over time</h2>
        <SpeedChart hours={performance.series} period={asked.period} />
      </section>
      <Section title={`By ${SPEED_GROUP_NAMES[group].toLowerCase()}`}>
        <SpeedTable group={group} rows={performance.groups} targetOf={targetOf} />
        <p className="mt-3 max-w-prose text-sm text-soft">{WHAT_COUNTS}</p>
      </Section>
    </>
  )
}

const WHAT_COUNTS =
  'p50 and p95 are percentiles. Time to first token covers streams, durations cover ' +
  'completed requests. Failed includes answers that the provider interrupted (Incomplete in Requests); ' +
  'requests of disconnected clients do not count in the success rate.'

interface ScopeProps {
  readonly measured: MeasuredPeriod
}

/** What of the chosen period the figures are not about. */
function Scope({ measured: { isShortened, period } }: ScopeProps) {
  if (!isShortened) return null
  return (
    <p role="note" className="rounded-xl border border-line bg-surface px-4 py-3 text-soft">
      These figures cover the last 31 days of the period: {period.label}.
    </p>
  )
}

function NoRequests({ isShortened }: { readonly isShortened: boolean }) {
  const canChat = useCan('chat')
  return (
    <Empty
      title={isShortened ? 'No requests in the last 31 days of this period' : 'No requests in this period'}
      action={
        canChat && (
          <LinkButton variant="primary" to="/playground">
            Open the Playground
          </LinkButton>
        )
      }
      command={'echo "Say hello." | turnpike chat'}
    >
      Speed and errors cover at most 31 days.
    </Empty>
  )
}

function SpeedSkeleton() {
  return (
    <div className="flex flex-col gap-8">
      <Skeleton className="h-96 w-full" />
      <SkeletonRows rows={5} />
    </div>
  )
}

interface SpeedChartProps {
  readonly hours: readonly SpeedHour[]
  readonly period: Pick<Period, 'start' | 'end'>
}

const TITLE = 'Time to first token'

function SpeedChart({ hours, period }: SpeedChartProps) {
  const zone = useTimeZone()
  const navigate = useNavigate()
  const points = speedPoints(hours, { period, zone, now: useNow() })
  const summary = speedSummary(points)
  if (summary === undefined) return <NoStreams />
  const openHours = ({ at }: ChartPoint, last: Pick<ChartPoint, 'at'> = { at }) => {
    const span = { start: Date.parse(at), end: Date.parse(last.at) + HOUR_MS }
    void navigate({ to: '/requests', search: { ...clippedSpan(span, period) } })
  }
  return (
    <ChartFrame
      title={TITLE}
      table={
        <ChartTable
          label={TITLE}
          series={SPEED_SERIES}
          points={points.filter(({ values }) => typeof values['p50'] === 'number')}
          format={formatMs}
          pointHeader={zone === 'utc' ? 'Hour (UTC)' : 'Hour'}
          hasTotals={false}
        />
      }
    >
      <p className="mb-3 max-w-prose text-sm text-soft">{summary}</p>
      <LineChart
        label={TITLE}
        summary={summary}
        series={SPEED_SERIES}
        points={points}
        format={formatMs}
        height={260}
        onSelect={(point) => openHours(point)}
        onZoom={openHours}
      />
    </ChartFrame>
  )
}

function NoStreams() {
  return (
    <p className="rounded-xl border border-line bg-surface px-4 py-3 text-soft">
      No streamed requests, so there is no time to first token. The table below has their durations.
    </p>
  )
}

interface SpeedTableProps {
  readonly group: SpeedGroup
  readonly rows: readonly SpeedRow[]
  /** To the requests of a row. */
  readonly targetOf: (row: SpeedRow, status?: 'failed') => LinkTarget
}

const SPEED_GROUP_NAMES: Readonly<Record<SpeedGroup, string>> = { model: 'Model', provider: 'Provider' }

/** As the gateway sends them. */
const DEFAULT_SORT: Sort = { id: 'requests', direction: 'desc' }

function SpeedTable({ group, rows, targetOf }: SpeedTableProps) {
  const search = useUsageSearch()
  const change = useUsageChange()
  const sort = search.sort === undefined ? DEFAULT_SORT : { id: search.sort, direction: search.dir ?? 'desc' }
  const sumOf = (field: 'requests' | 'failed') => formatCount(rows.reduce((sum, row) => sum + row[field], 0))
  return (
    <Table
      label={`Speed and errors by ${SPEED_GROUP_NAMES[group].toLowerCase()}`}
      columns={columnsOf(group, targetOf)}
      rows={search.sort === undefined ? rows : sortedSpeed(rows, sort)}
      rowKey={({ key }) => key}
      rowHref={(row) => targetOf(row)}
      sort={sort}
      onSort={({ id, direction }) => change({ sort: SPEED_COLUMNS.find((each) => each === id), dir: direction })}
      totals={{ requests: sumOf('requests'), failed: sumOf('failed') }}
    />
  )
}

type SpeedTableColumn = Column<SpeedRow> & { readonly id: SpeedColumn }

function columnsOf(group: SpeedGroup, targetOf: SpeedTableProps['targetOf']): readonly SpeedTableColumn[] {
  return [
    {
      id: 'name',
      header: SPEED_GROUP_NAMES[group],
      primary: true,
      sortable: true,
      cell: ({ key }) => (
        <span className="block max-w-80 min-w-32 truncate" title={key}>
          {key}
        </span>
      ),
    },
    number('requests', 'Requests', ({ requests }) => formatCount(requests)),
    number('failed', 'Failed', (row) => <Failures row={row} target={targetOf(row, 'failed')} />),
    number('success_rate', 'Success rate', ({ success_rate: rate }) =>
      rate === null ? <Dash /> : formatSuccess(rate),
    ),
    number('first_p50', 'First token p50', ({ first_byte_ms: ms }) => <Ms value={ms?.p50} />),
    number('first_p95', 'First token p95', ({ first_byte_ms: ms }) => <Ms value={ms?.p95} />),
    number('duration_p50', 'Duration p50', ({ duration_ms: ms }) => <Ms value={ms?.p50} />),
    number('duration_p95', 'Duration p95', ({ duration_ms: ms }) => <Ms value={ms?.p95} />),
  ]
}

function number(id: SpeedColumn, header: string, cell: SpeedTableColumn['cell']): SpeedTableColumn {
  return { id, header, align: 'right', sortable: true, cell }
}

function Failures({ row, target }: { readonly row: SpeedRow; readonly target: LinkTarget }) {
  const count = formatCount(row.failed)
  if (row.failed === 0) return count
  return (
    <AppLink
      {...target}
      aria-label={`${count} failed: ${row.key}`}
      className="-mx-1.5 inline-flex h-6 min-w-6 items-center justify-end rounded-md px-1.5 text-accent hover:bg-accent-soft"
    >
      {count}
    </AppLink>
  )
}
