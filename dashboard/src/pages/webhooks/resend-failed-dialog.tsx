/** Sends again what has failed since a time, after saying how many that are. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { formatCount, plural } from '../../lib/format.ts'
import { toast } from '../../ui/announcer.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { RadioGroupField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Failed } from '../../ui/states.tsx'
import { failedSinceQuery, redeliverFailed, renewWebhooks, type Webhook } from './queries.ts'

export interface ResendFailedDialogProps {
  readonly webhook: Webhook
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

export function ResendFailedDialog({ webhook, open, onOpenChange }: ResendFailedDialogProps) {
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title="Resend failed deliveries"
      description="The same events with the same ids, the oldest first, with all attempts anew."
    >
      <ResendForm webhook={webhook} onDone={() => onOpenChange(false)} />
    </Dialog>
  )
}

const HOUR_MS = 3_600_000
const SPANS = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 7 * 24 * HOUR_MS, month: 30 * 24 * HOUR_MS } as const
type Span = keyof typeof SPANS
const OPTIONS = [
  { value: 'hour', label: 'The last hour' },
  { value: 'day', label: 'The last 24 hours' },
  { value: 'week', label: 'The last 7 days' },
  { value: 'month', label: 'The last 30 days: all that are kept' },
] as const
/** In one call. */
const MOST = 10_000

function ResendForm({ webhook, onDone }: { readonly webhook: Webhook; readonly onDone: () => void }) {
  const [openedAt] = useState(Date.now)
  const [span, setSpan] = useState<Span>('day')
  const client = useQueryClient()
  const since = new Date(openedAt - SPANS[span]).toISOString()
  const { data: count, error, refetch } = useQuery(failedSinceQuery(webhook.id, since))
  const resend = async () => {
    const sent = await redeliverFailed(webhook.id, since)
    toast(`${plural(sent, 'delivery', 'deliveries')} on the way again`)
    onDone()
    await renewWebhooks(client)
  }
  const label = count ? `Resend ${plural(count, 'delivery', 'deliveries')}` : 'Resend'
  return (
    <Form onSubmit={resend} submitLabel={label} onCancel={onDone} disabled={!count}>
      <RadioGroupField label="What has failed in" value={span} onChange={setSpan} options={OPTIONS} />
      {error === null ? (
        <p role="status" className="min-h-5 text-soft tabular-nums">
          {count !== undefined && inWords(count)}
        </p>
      ) : (
        <Failed error={error} what="how many failed" onRetry={() => void refetch()} className="py-4" />
      )}
    </Form>
  )
}

function inWords(count: number): string {
  if (count === 0) return 'Nothing has failed in this time.'
  if (count < MOST) return `${plural(count, 'delivery has', 'deliveries have')} failed in this time.`
  return `${formatCount(MOST)} or more have failed in this time; the oldest ${formatCount(MOST)} go first.`
}
