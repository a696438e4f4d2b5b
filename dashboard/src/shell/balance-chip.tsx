/** What is left of the credit, on every view. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Wallet } from 'lucide-react'
import { api, take } from '../api/client.ts'
import { useCan } from '../api/me.ts'
import { formatUsd } from '../lib/format.ts'
import { AppLink } from '../ui/app-link.tsx'

/** This month, with the balance: one cheap query that several views share. */
export const monthUsageQuery = queryOptions({
  queryKey: ['/v1/usage', 'this month'],
  queryFn: () => take(api.GET('/v1/usage')),
  staleTime: 15_000,
  refetchInterval: 30_000,
})

export function BalanceChip() {
  const mayRead = useCan('usage:read')
  const maySeeBilling = useCan('billing')
  const { data } = useQuery({ ...monthUsageQuery, enabled: mayRead })
  if (data === undefined) return null
  const { credit_remaining_usd: left, unlimited } = data
  const isOut = !unlimited && left <= 0
  const text = unlimited ? 'No limit' : `${formatUsd(left)} left`
  const content = (
    <>
      <Wallet aria-hidden="true" className="size-4" />
      <span className="tabular-nums">{text}</span>
      {isOut && <span className="sr-only">: out of credit</span>}
    </>
  )
  const looks = `balance-chip ${isOut ? 'border-transparent bg-bad-soft text-bad' : ''}`
  if (!maySeeBilling) return <span className={looks}>{content}</span>
  return (
    <AppLink to="/billing" className={looks}>
      {content}
    </AppLink>
  )
}
