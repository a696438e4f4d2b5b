/** How long the credit lasts: one figure, wherever it is shown. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, take } from '../api/client.ts'
import { useCan } from '../api/me.ts'
import { costPerDay, daysLeft, type Lasting, limitsOf } from '../lib/days-left.ts'
import { useNow } from '../ui/time-zone.ts'
import { monthUsageQuery } from './balance-chip.tsx'

/** Requires the right `billing`. */
export const accountQuery = queryOptions({
  queryKey: ['/v1/account'],
  queryFn: () => take(api.GET('/v1/account')),
})

const DAYS = 7
const DAY_MS = 86_400_000

/** The last seven days, today included: what the present rate is read from. Days are those of UTC, as amounts are booked. */
function lastDaysQuery(now: number) {
  const end = (Math.floor(now / DAY_MS) + 1) * DAY_MS
  const period_start = new Date(end - DAYS * DAY_MS).toISOString()
  const period_end = new Date(end).toISOString()
  return queryOptions({
    queryKey: ['/v1/usage', 'last days', period_start],
    queryFn: () => take(api.GET('/v1/usage', { params: { query: { period_start, period_end } } })),
    staleTime: 60_000,
  })
}

export interface CreditLasting {
  readonly perDayUsd: number
  /** Undefined: no limit is reached at this rate. */
  readonly lasting: Lasting | undefined
  readonly hasLimits: boolean
}

/** Undefined: not known yet, or not to this person. */
export function useLasting(): CreditLasting | undefined {
  const now = useNow()
  const enabled = useCan('billing')
  const { data: account } = useQuery({ ...accountQuery, enabled })
  const { data: month } = useQuery({ ...monthUsageQuery, enabled })
  const { data: last } = useQuery({ ...lastDaysQuery(now), enabled })
  if (account === undefined || month === undefined || last === undefined) return undefined
  const since = Math.max(Date.parse(last.period_start), Date.parse(account.created_at))
  const perDayUsd = costPerDay({ costUsd: last.total_cost_usd, since, now })
  const limits = limitsOf(account, month, now)
  return { perDayUsd, lasting: daysLeft(limits, { perDayUsd, now }), hasLimits: limits.length > 0 }
}
