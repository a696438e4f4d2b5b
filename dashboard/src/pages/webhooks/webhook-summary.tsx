import type { ReactNode } from 'react'
import { plural } from '../../lib/format.ts'
import { Card } from '../../ui/page.tsx'
import { DeliveryStatus } from '../../ui/status.tsx'
import { Dash, Time } from '../../ui/values.tsx'
import { eventsInWords } from './event-types.ts'
import type { Webhook } from './queries.ts'
import { SuccessRate } from './success-rate.tsx'
import { WebhookStatus } from './webhook-status.tsx'

/** What there is to know about an endpoint at a glance. */
export function WebhookSummary({ webhook }: { readonly webhook: Webhook }) {
  const { events, deliveries_24h: counts, last_delivery: last, previous_secret_expires_at: previousUntil } = webhook
  return (
    <Card>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-4 md:grid-cols-[repeat(auto-fit,minmax(10rem,1fr))]">
        <Fact name="Status">
          <WebhookStatus webhook={webhook} />
        </Fact>
        <Fact
          name="Delivered, 24 h"
          hint={counts.pending === 0 ? undefined : `${plural(counts.pending, 'delivery', 'deliveries')} pending`}
        >
          <SuccessRate counts={counts} />
        </Fact>
        <Fact name="Last delivery" hint={last === null ? undefined : <Time iso={last.created_at} relative />}>
          {last === null ? <Dash /> : <DeliveryStatus status={last.status} />}
        </Fact>
        <Fact name="Events" hint={events !== null && events.length > 1 ? events.slice(1).join(', ') : undefined}>
          {events !== null && events.length > 1 ? events[0] : eventsInWords(events)}
        </Fact>
        {previousUntil === null ? (
          <Fact name="Added">
            <Time iso={webhook.created_at} relative />
          </Fact>
        ) : (
          <Fact name="Secrets" hint={<OldSecretEnd iso={previousUntil} />}>
            New and old
          </Fact>
        )}
      </dl>
    </Card>
  )
}

function OldSecretEnd({ iso }: { readonly iso: string }) {
  return (
    <>
      Both until <Time iso={iso} />
    </>
  )
}

interface FactProps {
  readonly name: string
  readonly hint?: ReactNode
  readonly children: ReactNode
}

function Fact({ name, hint, children }: FactProps) {
  return (
    <div className="min-w-0">
      <dt className="text-sm text-soft">{name}</dt>
      <dd className="mt-1 flex min-h-6 flex-col justify-center gap-1 break-words text-ink">
        <span>{children}</span>
        {hint !== undefined && <span className="text-sm text-soft">{hint}</span>}
      </dd>
    </div>
  )
}
