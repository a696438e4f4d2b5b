/** What webhooks were told of an agent, and where it went. */
import { Webhook } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useCan } from '../../api/me.ts'
import { refreshIntervalMs } from '../../lib/refresh-interval.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { LinkButton } from '../../ui/button.tsx'
import { Empty, Forbidden, Loaded, SkeletonRows } from '../../ui/states.tsx'
import { DeliveryStatus } from '../../ui/status.tsx'
import { LoadMore, type Pages, usePages } from '../../ui/table/paged.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { Time } from '../../ui/values.tsx'
import { type LiveAgent, loadWebhookEvents, type WebhookEvent, webhookEventsKey } from './queries.ts'
import { isEnded } from './work.ts'

const COLUMNS: readonly Column<WebhookEvent>[] = [
  { id: 'type', header: 'Event', primary: true, cell: ({ type }) => type },
  { id: 'created', header: 'When', cell: ({ created_at: at }) => <Time iso={at} relative /> },
  { id: 'deliveries', header: 'Sent to', cell: (event) => <Receivers event={event} /> },
]

export function EventsTab({ agent }: { readonly agent: LiveAgent }) {
  if (useCan('webhooks')) return <Events agent={agent} />
  return <Forbidden what="webhook events" right="webhooks" />
}

function Events({ agent }: { readonly agent: LiveAgent }) {
  const pages = useEvents(agent.id)
  return (
    <Loaded query={pages} what="webhook events" skeleton={<SkeletonRows rows={2} />}>
      {(rows) =>
        rows.length > 0 ? (
          <div>
            <Table label="Webhook events" columns={COLUMNS} rows={rows} rowKey={({ id }) => id} density="comfortable" />
            <LoadMore pages={pages} noun="event" />
          </div>
        ) : (
          <NoEvents isEnded={isEnded(agent.status)} />
        )
      }
    </Loaded>
  )
}

/** Loaded again while some of them are under way; the page sees to it when the agent has something new to tell. */
function useEvents(agentId: string): Pages<WebhookEvent> {
  const [everyMs, setEveryMs] = useState<number | false>(false)
  const load = (cursor: string | undefined) => loadWebhookEvents(agentId, cursor)
  const pages = usePages<WebhookEvent>(webhookEventsKey(agentId), load, { refetchInterval: everyMs })
  const { data } = pages
  useEffect(() => {
    const deliveries = (data ?? []).flatMap((event) => event.deliveries ?? [])
    setEveryMs(refreshIntervalMs(deliveries, Date.now()))
  }, [data])
  return pages
}

function Receivers({ event: { deliveries = [] } }: { readonly event: WebhookEvent }) {
  if (deliveries.length === 0) return <span className="text-soft">No endpoint</span>
  return (
    <ul className="flex min-w-0 flex-col gap-1">
      {deliveries.map(({ id, webhook_id: webhookId, webhook_url: url, status }) => (
        <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 max-md:justify-end">
          <AppLink
            to="/webhooks/$webhookId"
            params={{ webhookId }}
            search={{ delivery: id }}
            className="inline-flex min-h-6 min-w-0 items-center text-accent underline"
          >
            <span className="break-all">{url}</span>
          </AppLink>
          <DeliveryStatus status={status} />
        </li>
      ))}
    </ul>
  )
}

function NoEvents({ isEnded: ended }: { readonly isEnded: boolean }) {
  return (
    <Empty
      icon={Webhook}
      title={ended ? 'No webhook events left' : 'No webhook events yet'}
      action={<LinkButton to="/webhooks">Go to webhooks</LinkButton>}
    >
      {ended
        ? 'Webhook events are kept for 30 days.'
        : 'Every subscribed endpoint receives an event when a run starts and when it ends.'}
    </Empty>
  )
}
