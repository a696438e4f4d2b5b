/** Speed and errors: of all models and keys, and of 7 days and 5,000 requests at most, which it says. */
import { useQuery } from '@tanstack/react-query'
import { useCan } from '../../api/me.ts'
import { present } from '../../lib/address.ts'
import type { Period } from '../../lib/period.ts'
import { formatDateTime } from '../../lib/time.ts'
import { LinkButton } from '../../ui/button.tsx'
import { Segmented } from '../../ui/choices.tsx'
import { classNames } from '../../ui/class-names.ts'
import { Section } from '../../ui/page.tsx'
import { Empty, Loaded, Skeleton, SkeletonRows } from '../../ui/states.tsx'
import { useNow, useTimeZone } from '../../ui/time-zone.ts'
import { usePeriod } from '../../ui/use-period.ts'
import { periodSearch, requestsTarget, useUsageChange, useUsageSearch } from './address.ts'
import { type AskedSpeed, speedQuery } from './queries.ts'
import { FALLBACK_RANGE, SPEED_GROUPS, type SpeedGroup } from './search.ts'
import { SpeedChart } from './speed-chart.tsx'
import { coveredPeriod, type MeasuredPeriod, measuredPeriod, type SpeedRow } from './speed-data.ts'
import { SPEED_GROUP_NAMES, SpeedTable } from './speed-table.tsx'
import { Labelled } from './usage-controls.tsx'

export function SpeedView() {
  const { by = 'model', ...search } = useUsageSearch()
  const { period } = usePeriod(search, FALLBACK_RANGE)
  const measured = measuredPeriod(period, useNow())
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
          The filters by model and key do not apply here: these figures are of all requests.
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
  const covered = coveredPeriod(asked.period, performance)
  if (performance.groups.length === 0) return <NoRequests isShortened={measured.isShortened} />
  const isWhole = covered.start === whole.start && covered.end === whole.end
  const span = periodSearch(isWhole ? search : { range: 'custom' }, covered)
  const targetOf = ({ key }: SpeedRow, status?: 'failed') => requestsTarget(present({ ...span, [group]: key, status }))
  return (
    <>
      <Scope measured={measured} oldest={performance.sampled ? covered.start : undefined} />
      <section>
        <h2 className="sr-only">Over time</h2>
        <SpeedChart hours={performance.series} period={covered} />
      </section>
      <Section title={`By ${SPEED_GROUP_NAMES[group].toLowerCase()}`}>
        <SpeedTable group={group} rows={performance.groups} targetOf={targetOf} />
        <p className="mt-3 max-w-prose text-sm text-soft">{WHAT_COUNTS}</p>
      </Section>
    </>
  )
}

const WHAT_COUNTS =
  'p50 is what half of the times do not exceed, p95 what 95% do not. First tokens are those of streams, durations those ' +
  'of completed requests. Failed are also those that the provider broke off, which Requests lists as Incomplete; ' +
  'clients that left count for neither side of the success rate.'

interface ScopeProps {
  readonly measured: MeasuredPeriod
  /** ISO 8601: the hour of the oldest request, where not all were looked at. */
  readonly oldest: string | undefined
}

/** What of the chosen period the figures are not about. */
function Scope({ measured: { isShortened, period }, oldest }: ScopeProps) {
  const zone = useTimeZone()
  if (!isShortened && oldest === undefined) return null
  return (
    <div role="note" className="rounded-xl border border-line bg-surface px-4 py-3 text-soft">
      {isShortened && <p>These figures are of the last 7 days of the period: {period.label}.</p>}
      {oldest !== undefined && (
        <p>
          There were more than 5,000 requests: these figures are of the newest 5,000, the oldest of them from the hour
          of {formatDateTime(oldest, zone)}.
        </p>
      )}
    </div>
  )
}

function NoRequests({ isShortened }: { readonly isShortened: boolean }) {
  const canChat = useCan('chat')
  return (
    <Empty
      title={isShortened ? 'No requests in the last 7 days of this period' : 'No requests in this period'}
      action={
        canChat && (
          <LinkButton variant="primary" to="/playground">
            Open the Playground
          </LinkButton>
        )
      }
      command={'echo "Say hello." | turnpike chat'}
    >
      Speed and errors are told from the requests themselves, of at most 7 days.
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
