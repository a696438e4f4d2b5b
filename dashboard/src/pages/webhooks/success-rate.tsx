import { formatCount, formatSuccess } from '../../lib/format.ts'
import { Dash } from '../../ui/values.tsx'
import type { Webhook } from './queries.ts'

type Counts = Webhook['deliveries_24h']

/** How many of those that ended were delivered. */
export function successRate({ delivered, failed }: Counts): string | undefined {
  const ended = delivered + failed
  return ended === 0 ? undefined : formatSuccess(delivered / ended)
}

/** The rate, and of how many. */
export function SuccessRate({ counts }: { readonly counts: Counts }) {
  const rate = successRate(counts)
  if (rate === undefined) return <Dash />
  return (
    <span className="whitespace-nowrap tabular-nums">
      {rate} <span className="text-sm text-soft">of {formatCount(counts.delivered + counts.failed)}</span>
    </span>
  )
}
