import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useCan } from '../../api/me.ts'
import { Tabs } from '../../ui/choices.tsx'
import { CopyableText } from '../../ui/copy.tsx'
import { Page } from '../../ui/page.tsx'
import { Forbidden, Loaded, Skeleton, SkeletonRows } from '../../ui/states.tsx'
import { DeliveriesTab } from './deliveries-tab.tsx'
import { DeliverySheet } from './delivery-sheet.tsx'
import { type Webhook, webhookQuery } from './queries.ts'
import type { WebhookSearch } from './search.ts'
import { StandingNotice } from './standing-notice.tsx'
import { VerificationTab } from './verification-tab.tsx'
import { WebhookActions } from './webhook-actions.tsx'
import { WebhookSummary } from './webhook-summary.tsx'

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
      <StandingNotice webhook={webhook} />
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
