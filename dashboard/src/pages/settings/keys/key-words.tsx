/** Parts of a key as they are read in rows and sheets. */
import { Ban, CircleCheck, CirclePause, TimerOff, TriangleAlert } from 'lucide-react'
import { formatUsd, plural } from '../../../lib/format.ts'
import { formatDate } from '../../../lib/time.ts'
import { StatusChip } from '../../../ui/status.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { UsedBar } from '../../../ui/used-bar.tsx'
import { Dash } from '../../../ui/values.tsx'
import { labelOfRight } from '../members/rights.ts'
import type { Key } from './queries.ts'

export type KeyState = 'active' | 'expiring' | 'disabled' | 'expired' | 'revoked'
type Timed = Pick<Key, 'revoked_at' | 'expires_at' | 'disabled_at'>

const DAY_MS = 86_400_000
/** Before an expiry, when the gateway sends its first alert. */
const EXPIRING_MS = 7 * DAY_MS

/** @param now Unix milliseconds. */
export function stateOf({ revoked_at, expires_at, disabled_at }: Timed, now: number): KeyState {
  if (revoked_at !== null) return 'revoked'
  const leftMs = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - now
  if (leftMs <= 0) return 'expired'
  if (disabled_at !== null) return 'disabled'
  return leftMs <= EXPIRING_MS ? 'expiring' : 'active'
}

const STATES = {
  active: ['good', CircleCheck, 'Active'],
  expiring: ['warn', TriangleAlert, 'Expires soon'],
  disabled: ['neutral', CirclePause, 'Disabled'],
  expired: ['warn', TimerOff, 'Expired'],
  revoked: ['bad', Ban, 'Revoked'],
} as const

export function KeyStatus({ row }: { readonly row: Timed }) {
  const now = useNow()
  const state = stateOf(row, now)
  const [tone, icon, word] = STATES[state]
  return (
    <StatusChip tone={tone} icon={icon}>
      {state === 'expiring' ? expiryText(row.expires_at, now) : word}
    </StatusChip>
  )
}

function expiryText(iso: string | null, now: number): string {
  const days = Math.floor((Date.parse(iso ?? '') - now) / DAY_MS)
  return days === 0 ? 'Expires within a day' : `Expires in ${plural(days, 'day')}`
}

export function KeyText({ row: { prefix, last4 } }: { readonly row: Pick<Key, 'prefix' | 'last4'> }) {
  return (
    <span className="font-mono text-xs whitespace-nowrap text-soft">
      {prefix}…{last4}
    </span>
  )
}

/** "Full access", or up to three scopes in words. */
export function accessOf({ scopes }: Pick<Key, 'scopes'>): string {
  return scopes.length === 0 ? 'Full access' : shortList(scopes.map(labelOfRight))
}

const MAX_NAMED = 2

export function shortList(words: readonly string[]): string {
  if (words.length <= MAX_NAMED + 1) return words.join(', ')
  return `${words.slice(0, MAX_NAMED).join(', ')} and ${words.length - MAX_NAMED} more`
}

type Budgeted = Pick<Key, 'monthly_budget_usd' | 'spent_usd' | 'resets_at'>

/** Spending against the limit, as text and bar, and when it resets. */
export function Budget({ row }: { readonly row: Budgeted }) {
  const { monthly_budget_usd: limit, spent_usd: spent, resets_at: reset } = row
  if (limit === null) return <Dash />
  const used = spent ?? 0
  return (
    <span className="inline-flex w-full max-w-56 min-w-28 flex-col items-stretch gap-1 py-0.5 text-left">
      <span className="flex flex-wrap justify-between gap-x-2 text-sm tabular-nums">
        <span className="whitespace-nowrap">
          {formatUsd(used)} of {formatUsd(limit)}
        </span>
        {reset !== null && <span className="whitespace-nowrap text-soft">resets {shortDate(reset)}</span>}
      </span>
      <UsedBar share={limit === 0 ? 1 : used / limit} />
    </span>
  )
}

/** Budgets are of UTC months: the day is that of UTC. `Dec 1` */
function shortDate(iso: string): string {
  return formatDate(iso, 'utc').replace(/, \d{4}$/, '')
}
