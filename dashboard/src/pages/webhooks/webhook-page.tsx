import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useCan } from '../../api/me.ts'
import { plural } from '../../lib/format.ts'
import { CodeBlock } from '../../ui/code.tsx'
import { CopyableText } from '../../ui/copy.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { Forbidden, Loaded, Skeleton, SkeletonRows } from '../../ui/states.tsx'
import { DeliveryStatus } from '../../ui/status.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Dash, Time } from '../../ui/values.tsx'
import { DeliveriesTab } from './deliveries-tab.tsx'
import { DeliverySheet } from './delivery-sheet.tsx'
import { EndpointNotice } from './endpoint-notice.tsx'
import { eventsInWords, type Webhook, webhookQuery } from './queries.ts'
import type { Language, WebhookSearch } from './search.ts'
import { VERIFICATION_CODE } from './verification-code.ts'
import { WebhookActions } from './webhook-actions.tsx'
import { SuccessRate, WebhookStatus } from './webhook-status.tsx'

const route = getRouteApi('/webhooks/$webhookId')
const PARENT = { label: 'Webhooks', to: '/webhooks' }

export function WebhookPage() {
  const { webhookId } = route.useParams()
  if (useCan('webhooks')) return <WebhookView key={webhookId} id={webhookId} />
  return (
    <Page title="Webhook">
      <Forbidden what="webhooks" right="webhooks" />
    </Page>
  )
}

function WebhookView({ id }: { readonly id: string }) {
  const query = useQuery(webhookQuery(id))
  if (query.data !== undefined) return <Known webhook={query.data} />
  return (
    <Page title="Webhook" parent={PARENT}>
      <Loaded query={query} what="this webhook" skeleton={<PageSkeleton />}>
        {() => null}
      </Loaded>
    </Page>
  )
}

function Known({ webhook }: { readonly webhook: Webhook }) {
  const search = route.useSearch()
  const change = useSearchChange()
  const tab = search.tab ?? 'deliveries'
  return (
    <Page
      title={new URL(webhook.url).host}
      parent={PARENT}
      description={<Address webhook={webhook} />}
      actions={<WebhookActions webhook={webhook} onTested={(delivery) => change({ delivery })} />}
    >
      <EndpointNotice webhook={webhook} />
      <WebhookSummary webhook={webhook} />
      <Tabs
        label="Of this webhook"
        value={tab}
        onChange={(next) => change({ tab: next === 'deliveries' ? undefined : next })}
        items={[
          { value: 'deliveries', label: 'Deliveries' },
          { value: 'verification', label: 'Verification code' },
        ]}
      >
        {tab === 'verification' ? (
          <VerificationTab language={search.language} onLanguage={(language) => change({ language })} />
        ) : (
          <DeliveriesTab
            webhook={webhook}
            status={search.status}
            onStatus={(status) => change({ status })}
            onTested={(delivery) => change({ delivery })}
          />
        )}
      </Tabs>
      <DeliverySheet webhook={webhook} id={search.delivery} onClose={() => change({ delivery: undefined })} />
    </Page>
  )
}

type SearchChange = { readonly [Name in keyof WebhookSearch]: WebhookSearch[Name] | undefined }

function useSearchChange(): (changes: SearchChange) => void {
  const navigate = useNavigate({ from: '/webhooks/$webhookId' })
  return (changes) => {
    void navigate({ search: (previous) => ({ ...previous, ...changes }) as WebhookSearch, resetScroll: false })
  }
}

function Address({ webhook: { url, description } }: { readonly webhook: Webhook }) {
  return (
    <>
      <CopyableText text={url} label="Copy URL">
        <span className="break-all">{url}</span>
      </CopyableText>
      {description !== '' && <p className="break-words">{description}</p>}
    </>
  )
}

function PageSkeleton() {
  return (
    <div className="flex flex-col gap-8">
      <Skeleton className="h-20 w-full" />
      <SkeletonRows rows={6} />
    </div>
  )
}

/** What there is to know about an endpoint at a glance. */
function WebhookSummary({ webhook }: { readonly webhook: Webhook }) {
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
      Both valid until <Time iso={iso} />
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

interface VerificationTabProps {
  readonly language: Language | undefined
  readonly onLanguage: (language: Language) => void
}

function VerificationTab({ language = 'typescript', onLanguage }: VerificationTabProps) {
  const shown = VERIFICATION_CODE.find(({ id }) => id === language) ?? VERIFICATION_CODE[0]
  return (
    <div className="flex flex-col gap-4">
      <p className="max-w-prose text-soft">
        Verify the signature over the raw body before you parse it. Answer 2xx within 10 seconds, then process the
        event; answer 2xx to an <code className="font-mono text-sm">event_id</code> that you have already processed, and
        ignore it. The secret is in <code className="font-mono text-sm">TURNPIKE_WEBHOOK_SECRET</code>.
      </p>
      <Tabs
        label="Language"
        value={shown.id}
        onChange={onLanguage}
        items={VERIFICATION_CODE.map(({ id, label }) => ({ value: id, label }))}
      >
        <CodeBlock code={shown.code.trimEnd()} label={`Verification in ${shown.label}`} />
      </Tabs>
    </div>
  )
}
