/** What was sent to an endpoint, the newest first. */
import { useQueryClient } from '@tanstack/react-query'
import { History, RotateCw } from 'lucide-react'
import { useEffect, useState } from 'react'
import { lookAgainMs } from '../../lib/look-again.ts'
import { Button } from '../../ui/button.tsx'
import { Segmented } from '../../ui/choices.tsx'
import { LoadMore, type Pages, usePages } from '../../ui/paged.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { DeliveriesTable } from './deliveries-table.tsx'
import { type Delivery, deliveriesKey, loadDeliveries, type Webhook, webhookQuery } from './queries.ts'
import { ResendFailedDialog } from './resend-failed-dialog.tsx'
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
          disabled={webhook.status === 'disabled'}
          title={webhook.status === 'disabled' ? 'Enable it first' : undefined}
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

/** Loaded anew while something is under way; when that has ended, the endpoint too, whose standing it may have changed. */
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
  useEffect(() => setEveryMs(lookAgainMs(data ?? [], Date.now())), [data])
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
        Nothing that was sent in the last 30 days is in this state.
      </Empty>
    )
  }
  return (
    <Empty
      icon={History}
      title="Nothing was sent yet"
      action={<TestButton webhook={webhook} onTested={onTested} />}
      command="turnpike webhooks trigger agent.completed"
    >
      Deliveries of the last 30 days are kept here, with every attempt.
    </Empty>
  )
}
