import { DeliveryStatus } from '../../ui/status.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Dash, Time } from '../../ui/values.tsx'
import { eventsInWords } from './event-types.ts'
import type { Webhook } from './queries.ts'
import { SuccessRate } from './success-rate.tsx'
import { WebhookStatus } from './webhook-status.tsx'

const COLUMNS: readonly Column<Webhook>[] = [
  { id: 'url', header: 'Endpoint', primary: true, cell: (webhook) => <Endpoint webhook={webhook} /> },
  { id: 'status', header: 'Status', cell: (webhook) => <WebhookStatus webhook={webhook} /> },
  {
    id: 'events',
    header: 'Events',
    cell: ({ events }) => (
      <span className="block md:max-w-36 md:truncate xl:max-w-none" title={events?.join(', ')}>
        {eventsInWords(events)}
      </span>
    ),
  },
  {
    id: 'success',
    header: 'Delivered, 24 h',
    align: 'right',
    cell: ({ deliveries_24h: counts }) => <SuccessRate counts={counts} />,
  },
  { id: 'last', header: 'Last delivery', cell: ({ last_delivery: last }) => <LastDelivery last={last} /> },
]

export function WebhooksTable({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  return (
    <Table
      label="Webhooks"
      columns={COLUMNS}
      rows={webhooks}
      rowKey={({ id }) => id}
      rowHref={({ id }) => ({ to: '/webhooks/$webhookId', params: { webhookId: id } })}
      density="comfortable"
    />
  )
}

function Endpoint({ webhook: { url, description } }: { readonly webhook: Webhook }) {
  return (
    <span className="block min-w-0 md:max-w-44 xl:max-w-96 2xl:max-w-[34rem]">
      <span className="block break-all md:truncate" title={url}>
        {url}
      </span>
      {description !== '' && (
        <span className="block truncate text-sm font-normal text-soft" title={description}>
          {description}
        </span>
      )}
    </span>
  )
}

function LastDelivery({ last }: { readonly last: Webhook['last_delivery'] }) {
  if (last === null) return <Dash />
  return (
    <span className="inline-flex flex-wrap items-center justify-end gap-x-2 gap-y-0.5 md:justify-start">
      <DeliveryStatus status={last.status} />
      <span className="text-soft">
        <Time iso={last.created_at} relative />
      </span>
    </span>
  )
}
