import { Ban } from 'lucide-react'
import { formatCount, formatSuccess } from '../../lib/format.ts'
import { StatusChip } from '../../ui/status.tsx'
import { Dash } from '../../ui/values.tsx'
import type { Webhook } from './queries.ts'

type EndpointState = Pick<Webhook, 'status' | 'disabled_reason' | 'failing_since'>

export function WebhookStatus({ webhook }: { readonly webhook: EndpointState }) {
  if (webhook.status === 'enabled') {
    return webhook.failing_since === null ? (
      <StatusChip tone="good">Enabled</StatusChip>
    ) : (
      <StatusChip tone="warn">Failing</StatusChip>
    )
  }
  return (
    <StatusChip tone={webhook.disabled_reason === 'by_request' ? 'neutral' : 'bad'} icon={Ban}>
      Disabled
    </StatusChip>
  )
}

type Counts = Webhook['deliveries_24h']

/** How many of those that ended were delivered. */
function successRate({ delivered, failed }: Counts): string | undefined {
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
