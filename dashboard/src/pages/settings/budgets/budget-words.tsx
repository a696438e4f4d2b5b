/** Parts of a budget as they are read in rows, cards and sheets. */
import { Ban, BellRing } from 'lucide-react'
import { formatPercent, formatUsd } from '../../../lib/format.ts'
import { StatusChip } from '../../../ui/status.tsx'
import { UsedBar } from '../../../ui/used-bar.tsx'
import { Dash, Time, Usd } from '../../../ui/values.tsx'
import type { Budget, BudgetLevel } from './queries.ts'

export const LEVEL_NAMES: Readonly<Record<BudgetLevel, string>> = {
  account: 'Account',
  team: 'Team',
  member: 'Member',
  key: 'Key',
  tag: 'Tag',
}

export const WINDOW_NAMES: Readonly<Record<Budget['window'], string>> = {
  day: 'Day',
  week: 'Week',
  month: 'Month',
  quarter: 'Quarter',
  total: 'Total',
}

const WINDOW_TEXTS: Readonly<Record<Budget['window'], string>> = {
  day: 'a day',
  week: 'a week',
  month: 'a month',
  quarter: 'a quarter',
  total: 'in total',
}

/** `$50.00 a week`: without raises. */
export function limitText({ usd, window }: Pick<Budget, 'usd' | 'window'>): string {
  return `${formatUsd(usd)} ${WINDOW_TEXTS[window]}`
}

type Used = Pick<Budget, 'limit_usd' | 'spent_usd' | 'held_usd'>

export function shareOf({ limit_usd: limit, spent_usd: spent }: Used): number {
  return limit === 0 ? 1 : spent / limit
}

/** What is spent of what may be, as text and bar; what requests in flight hold besides. */
export function UsedOf({ budget }: { readonly budget: Used }) {
  const { limit_usd: limit, spent_usd: spent, held_usd: held } = budget
  const share = shareOf(budget)
  return (
    <span className="inline-flex w-full max-w-72 min-w-40 flex-col items-stretch gap-1 py-0.5 text-left">
      <span className="flex flex-wrap justify-between gap-x-2 text-sm">
        <span className="whitespace-nowrap">
          <Usd value={spent} /> of <Usd value={limit} />
        </span>
        <span className="whitespace-nowrap text-soft tabular-nums">{formatPercent(share, 0)}</span>
      </span>
      <UsedBar share={share} held={limit === 0 ? 0 : held / limit} />
      {held > 0 && (
        <span className="text-xs text-soft">
          <Usd value={held} /> held by requests in flight
        </span>
      )}
    </span>
  )
}

export function BudgetAction({ action }: Pick<Budget, 'action'>) {
  if (action === 'block') {
    return (
      <StatusChip tone="neutral" icon={Ban}>
        Blocks
      </StatusChip>
    )
  }
  return (
    <StatusChip tone="neutral" icon={BellRing}>
      Warns
    </StatusChip>
  )
}

export function Resets({ budget: { resets_at: at } }: { readonly budget: Pick<Budget, 'resets_at'> }) {
  return at === null ? <span className="text-soft">Never</span> : <Time iso={at} relative />
}

type Forecasted = Used & Pick<Budget, 'forecast_exhausted_at'>

/** When it is spent at this pace, where that is before it resets. */
export function Forecast({ budget }: { readonly budget: Forecasted }) {
  if (shareOf(budget) >= 1) return <StatusChip tone="bad">Spent</StatusChip>
  if (budget.forecast_exhausted_at === null) return <Dash />
  return (
    <span className="text-warn">
      <Time iso={budget.forecast_exhausted_at} relative />
    </span>
  )
}
