import { Ban } from 'lucide-react'
import { StatusChip } from '../../ui/status.tsx'
import type { Webhook } from './queries.ts'

type Standing = Pick<Webhook, 'status' | 'disabled_reason' | 'failing_since'>

export function WebhookStatus({ webhook }: { readonly webhook: Standing }) {
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
