import { useQuery } from '@tanstack/react-query'
import { useCan } from '../../api/me.ts'
import { formatCount, formatUsd, plural } from '../../lib/format.ts'
import { Card, CardTitle, Stat } from '../../ui/page.tsx'
import { StatusChip } from '../../ui/status.tsx'
import { daysLeft } from './chart-data.ts'
import { MoreLink } from './panel.tsx'
import { usageQuery, useHomePeriods } from './queries.ts'
import type { HomeRange } from './search.ts'

/** From what the charts have loaded already: the balance, and how long it lasts. */
export function BalanceCard({ range }: { readonly range: HomeRange }) {
  const { period, now } = useHomePeriods(range)
  const maySeeBilling = useCan('billing')
  const { data } = useQuery(usageQuery(period, range === '24h' ? 'hour' : 'day'))
  if (data === undefined) return null
  const { credit_remaining_usd: left, held_usd: held, total_cost_usd: spent, unlimited } = data
  return (
    <Card>
      <div className="flex items-baseline justify-between gap-4">
        <CardTitle>Balance</CardTitle>
        {maySeeBilling && <MoreLink to="/billing">Billing</MoreLink>}
      </div>
      {unlimited ? (
        <Unlimited spent={spent} period={period.label} />
      ) : (
        <div className="mt-2 flex flex-col gap-2">
          <Stat
            label="Left to spend"
            value={formatUsd(left, 'total')}
            hint={held > 0 ? `${formatUsd(held)} held by requests in flight` : undefined}
          />
          <Forecast left={left} days={daysLeft(left, spent, { ...period, now })} period={period.label} />
        </div>
      )}
    </Card>
  )
}

function Unlimited({ spent, period }: { readonly spent: number; readonly period: string }) {
  return (
    <div className="mt-2">
      <Stat label="Left to spend" value="No limit" />
      <p className="mt-1 text-sm text-soft">
        The plan of this account has no limit. {formatUsd(spent, 'total')} in the {period.toLowerCase()}.
      </p>
    </div>
  )
}

interface ForecastProps {
  readonly left: number
  /** Undefined: nothing was spent. */
  readonly days: number | undefined
  readonly period: string
}

const SOON_DAYS = 3
const FAR_DAYS = 365

function Forecast({ left, days, period }: ForecastProps) {
  const rate = `at the rate of the ${period.toLowerCase()}`
  if (left <= 0) {
    return (
      <div>
        <StatusChip tone="bad">Out of credit</StatusChip>
        <p className="mt-1 text-sm text-soft">Requests are rejected until credit is added.</p>
      </div>
    )
  }
  if (days === undefined) return <p className="text-sm text-soft">No spending in the {period.toLowerCase()}.</p>
  if (days > FAR_DAYS) return <p className="text-sm text-soft">Lasts more than a year {rate}.</p>
  if (days >= SOON_DAYS)
    return <p className="text-sm text-soft tabular-nums">{`About ${lasting(days)} left ${rate}.`}</p>
  return (
    <div>
      <StatusChip tone="warn">{`About ${lasting(days)} left`}</StatusChip>
      <p className="mt-1 text-sm text-soft">{`At ${rate}.`}</p>
    </div>
  )
}

function lasting(days: number): string {
  if (days >= 2) return `${formatCount(Math.floor(days))} days`
  const hours = Math.floor(days * 24)
  return hours < 1 ? 'less than an hour' : plural(hours, 'hour')
}
