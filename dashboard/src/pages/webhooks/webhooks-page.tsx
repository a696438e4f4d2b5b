import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Plus, Webhook as WebhookIcon } from 'lucide-react'
import { useCan } from '../../api/me.ts'
import { Button } from '../../ui/button.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Forbidden, Loaded } from '../../ui/states.tsx'
import { DeliveryStatus } from '../../ui/status.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { Dash, Time } from '../../ui/values.tsx'
import { CreateDialog } from './create-dialog.tsx'
import { EndpointNotice } from './endpoint-notice.tsx'
import { eventsInWords, type Webhook, webhooksQuery } from './queries.ts'
import { SuccessRate, WebhookStatus } from './webhook-status.tsx'

const route = getRouteApi('/webhooks')
const DESCRIPTION = 'Signed events of this account, posted to your endpoints.'

export function WebhooksPage() {
  if (useCan('webhooks')) return <Webhooks />
  return (
    <Page title="Webhooks">
      <Forbidden what="webhooks" right="webhooks" />
    </Page>
  )
}

function Webhooks() {
  const query = useQuery(webhooksQuery)
  const { create } = route.useSearch()
  const navigate = route.useNavigate()
  const setOpen = (isOpen: boolean) => void navigate({ search: () => (isOpen ? { create: '1' } : {}) })
  const open = () => setOpen(true)
  const hasSome = query.data !== undefined && query.data.length > 0
  return (
    <Page
      title="Webhooks"
      description={DESCRIPTION}
      actions={
        hasSome && (
          <Button variant="primary" icon={Plus} onClick={open}>
            Add webhook
          </Button>
        )
      }
    >
      <Loaded query={query} what="webhooks">
        {(webhooks) => (webhooks.length === 0 ? <NoWebhooks onAdd={open} /> : <List webhooks={webhooks} />)}
      </Loaded>
      <CreateDialog open={create !== undefined} onClose={() => setOpen(false)} />
    </Page>
  )
}

function List({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  const stopped = webhooks.filter(({ disabled_reason: reason }) => reason !== null && reason !== 'by_request')
  return (
    <div className="flex flex-col gap-4">
      {stopped.map((webhook) => (
        <EndpointNotice key={webhook.id} webhook={webhook} named />
      ))}
      <WebhooksTable webhooks={webhooks} />
    </div>
  )
}

function NoWebhooks({ onAdd }: { readonly onAdd: () => void }) {
  return (
    <Empty
      icon={WebhookIcon}
      title="No webhooks yet"
      action={
        <Button variant="primary" icon={Plus} onClick={onAdd}>
          Add webhook
        </Button>
      }
      command="turnpike webhooks listen --forward localhost:8000"
    >
      Your endpoint receives an event when agents end or credit runs out. On your machine, this command receives all
      events.
    </Empty>
  )
}

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

function WebhooksTable({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
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
