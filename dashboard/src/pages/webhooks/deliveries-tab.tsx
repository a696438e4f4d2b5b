/** What was sent to an endpoint, the newest first. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { History, RotateCw } from 'lucide-react'
import { useEffect, useState } from 'react'
import { formatCount, plural } from '../../lib/format.ts'
import { refreshIntervalMs } from '../../lib/refresh-interval.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyableId } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Segmented } from '../../ui/form/segmented.tsx'
import { RadioGroupField } from '../../ui/form/toggle-fields.tsx'
import { Empty, Failed, Loaded } from '../../ui/states.tsx'
import { DeliveryStatus } from '../../ui/status.tsx'
import { LoadMore, type Pages, usePages } from '../../ui/table/paged.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { Dash, Time } from '../../ui/values.tsx'
import {
  type Delivery,
  deliveriesKey,
  failedSinceQuery,
  loadDeliveries,
  redeliverFailed,
  renewWebhooks,
  type Webhook,
  webhookQuery,
} from './queries.ts'
import type { StatusOfDelivery } from './search.ts'
import { TestButton } from './webhook-actions.tsx'

export interface DeliveriesTabProps {
  readonly webhook: Webhook
  readonly status: StatusOfDelivery | undefined
  readonly onStatus: (status: StatusOfDelivery | undefined) => void
  readonly onTested: (deliveryId: string) => void
}

const FILTERS = [
  { value: 'all', label: 'All' },
  { value: 'pending', label: 'Pending' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'failed', label: 'Failed' },
] as const

export function DeliveriesTab({ webhook, status, onStatus, onTested }: DeliveriesTabProps) {
  const [isResending, setResending] = useState(false)
  const pages = useDeliveries(webhook.id, status)
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Segmented
          label="Status"
          value={status ?? 'all'}
          onChange={(next) => onStatus(next === 'all' ? undefined : next)}
          options={FILTERS}
        />
        <Button
          icon={RotateCw}
          unavailable={webhook.status === 'disabled' ? 'Enable the endpoint first.' : undefined}
          onClick={() => setResending(true)}
        >
          Resend failed…
        </Button>
      </div>
      <Loaded query={pages} what="deliveries">
        {(rows) =>
          rows.length > 0 ? (
            <div>
              <DeliveriesTable webhookId={webhook.id} rows={rows} />
              <LoadMore pages={pages} noun="event" />
            </div>
          ) : (
            <NoDeliveries webhook={webhook} status={status} onStatus={onStatus} onTested={onTested} />
          )
        }
      </Loaded>
      <ResendFailedDialog webhook={webhook} open={isResending} onOpenChange={setResending} />
    </div>
  )
}

/** Refreshes pending deliveries; when they end, also the endpoint, whose state may have changed. */
function useDeliveries(webhookId: string, status: StatusOfDelivery | undefined): Pages<Delivery> {
  const client = useQueryClient()
  const [everyMs, setEveryMs] = useState<number | false>(false)
  const load = (cursor: string | undefined) => loadDeliveries(webhookId, status, cursor)
  const pages = usePages<Delivery>(deliveriesKey(webhookId, status), load, { refetchInterval: everyMs })
  const { data } = pages
  const states = data?.map(({ id, status: state, attempts }) => `${id} ${state} ${attempts.length}`).join()
  useEffect(() => {
    if (states === undefined) return
    void client.invalidateQueries({ queryKey: webhookQuery(webhookId).queryKey, exact: true })
  }, [client, webhookId, states])
  useEffect(() => setEveryMs(refreshIntervalMs(data ?? [], Date.now())), [data])
  return pages
}

function NoDeliveries({ webhook, status, onStatus, onTested }: DeliveriesTabProps) {
  if (status !== undefined) {
    return (
      <Empty
        icon={History}
        title={`No ${status} deliveries`}
        action={<Button onClick={() => onStatus(undefined)}>Show all</Button>}
      >
        No deliveries of the last 30 days have this status.
      </Empty>
    )
  }
  return (
    <Empty
      icon={History}
      title="No deliveries yet"
      action={<TestButton webhook={webhook} onTested={onTested} />}
      command="turnpike webhooks trigger agent.completed"
    >
      Deliveries are kept for 30 days, with every attempt.
    </Empty>
  )
}

const COLUMNS: readonly Column<Delivery>[] = [
  { id: 'type', header: 'Event', primary: true, cell: ({ type }) => type },
  { id: 'status', header: 'Status', cell: ({ status }) => <DeliveryStatus status={status} /> },
  { id: 'code', header: 'Answer', cell: (delivery) => <LastAnswer delivery={delivery} /> },
  {
    id: 'attempts',
    header: 'Attempts',
    align: 'right',
    // (a list has the newest attempts alone, numbered through)
    cell: ({ attempts }) => attempts.at(-1)?.number ?? 0,
  },
  { id: 'event', header: 'Event ID', hideBelow: 'lg', cell: ({ event_id: id }) => <CopyableId id={id} /> },
  { id: 'created', header: 'When', cell: ({ created_at: at }) => <Time iso={at} relative /> },
  { id: 'next', header: 'Next attempt', cell: ({ next_attempt_at: at }) => <Time iso={at} relative /> },
]

interface DeliveriesTableProps {
  readonly webhookId: string
  readonly rows: readonly Delivery[]
}

function DeliveriesTable({ webhookId, rows }: DeliveriesTableProps) {
  return (
    <Table
      label="Deliveries"
      viewId="deliveries"
      columns={COLUMNS}
      rows={rows}
      rowKey={({ id }) => id}
      rowHref={({ id }) => ({
        to: '/webhooks/$webhookId',
        params: { webhookId },
        search: (previous) => ({ ...previous, delivery: id }),
      })}
    />
  )
}

/** Of the last attempt: its status, or why there is none. */
function LastAnswer({ delivery: { attempts, error } }: { readonly delivery: Delivery }) {
  const last = attempts.at(-1)
  if (last?.status_code != null) return <span className="tabular-nums">{last.status_code}</span>
  const why = last?.error ?? error
  return why === null ? <Dash /> : why.replaceAll('_', ' ')
}

interface ResendFailedDialogProps {
  readonly webhook: Webhook
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

/** Resends deliveries that failed since a time, after it has shown how many. */
function ResendFailedDialog({ webhook, open, onOpenChange }: ResendFailedDialogProps) {
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title="Resend failed deliveries"
      description="Sends the same events with the same IDs, oldest first, with a new series of attempts."
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
  { value: 'month', label: 'The last 30 days (all)' },
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
    toast(`${plural(sent, 'delivery', 'deliveries')} queued again`)
    onDone()
    await renewWebhooks(client)
  }
  const label = count ? `Resend ${plural(count, 'delivery', 'deliveries')}` : 'Resend'
  return (
    <Form
      onSubmit={resend}
      submitLabel={label}
      onCancel={onDone}
      missing={count ? undefined : 'There is nothing to resend.'}
    >
      <RadioGroupField label="Failed in" value={span} onChange={setSpan} options={OPTIONS} />
      {error === null ? (
        <p role="status" className="min-h-5 text-soft tabular-nums">
          {count !== undefined && inWords(count)}
        </p>
      ) : (
        <Failed error={error} what="the number of failed deliveries" onRetry={() => void refetch()} className="py-4" />
      )}
    </Form>
  )
}

function inWords(count: number): string {
  if (count === 0) return 'No failed deliveries in this period.'
  if (count < MOST) return `${plural(count, 'delivery has', 'deliveries have')} failed in this period.`
  return `${formatCount(MOST)} or more have failed in this period; the oldest ${formatCount(MOST)} go first.`
}
