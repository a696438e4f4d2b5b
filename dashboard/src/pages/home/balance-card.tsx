import { useQuery } from '@tanstack/react-query'
import { useCan } from '../../api/me.ts'
import { lastingText } from '../../lib/days-left.ts'
import { formatUsd } from '../../lib/format.ts'
import { type CreditLasting, useLasting } from '../../shell/lasting.ts'
import { Card, CardTitle, Stat } from '../../ui/page.tsx'
import { StatusChip } from '../../ui/status.tsx'
import { MoreLink } from './panel.tsx'
import { usageQuery, useHomePeriods } from './queries.ts'
import type { HomeRange } from './search.ts'

/** From what the charts have loaded already: the balance; and how long the account can go on spending. */
export function BalanceCard({ range }: { readonly range: HomeRange }) {
  const { period } = useHomePeriods(range)
  const maySeeBilling = useCan('billing')
  const { data } = useQuery(usageQuery(period))
  const lasting = useLasting()
  if (data === undefined) return null
  const { credit_remaining_usd: left, held_usd: held, total_cost_usd: spent, unlimited } = data
  return (
    <Card>
      <div className="flex items-baseline justify-between gap-4">
        <CardTitle>Balance</CardTitle>
        {maySeeBilling && <MoreLink to="/billing">Billing</MoreLink>}
      </div>
      <div className="mt-2 flex flex-col gap-2">
        {unlimited ? (
          <Unlimited spent={spent} period={period.label} />
        ) : (
          <Stat
            label="Left to spend"
            value={formatUsd(left)}
            hint={held > 0 ? `${formatUsd(held)} held by requests in flight` : undefined}
          />
        )}
        {!unlimited && left <= 0 ? <OutOfCredit /> : lasting && <Forecast known={lasting} />}
      </div>
    </Card>
  )
}

function Unlimited({ spent, period }: { readonly spent: number; readonly period: string }) {
  return (
    <div>
      <Stat label="Left to spend" value="No limit" />
      <p className="mt-1 text-sm text-soft">
        The plan of this account has no limit. {formatUsd(spent)} in the {period.toLowerCase()}.
      </p>
    </div>
  )
}

function OutOfCredit() {
  return (
    <div>
      <StatusChip tone="bad">Out of credit</StatusChip>
      <p className="mt-1 text-sm text-soft">Requests are rejected until credit is added.</p>
    </div>
  )
}

const SOON_DAYS = 3

/** The same figure as on Billing. */
function Forecast({ known: { lasting, perDayUsd, hasLimits } }: { readonly known: CreditLasting }) {
  if (!hasLimits) return null
  const rate = `${formatUsd(perDayUsd)} a day in the last 7 days`
  if (lasting === undefined)
    return (
      <p className="text-sm text-soft">
        {perDayUsd <= 0 ? 'No usage in the last 7 days.' : `No limit reached with ${rate}.`}
      </p>
    )
  const { days, limit } = lasting
  return (
    <div>
      {days < SOON_DAYS ? (
        <StatusChip tone="warn">{`Credit lasts: ${lastingText(lasting)}`}</StatusChip>
      ) : (
        <p className="text-ink tabular-nums">{`Credit lasts: ${lastingText(lasting)}`}</p>
      )}
      <p className="mt-1 text-sm text-soft">{`By ${limit.name}, with ${rate}.`}</p>
    </div>
  )
}
