/** What the gateway's providers are doing: which are left alone, since what, and how fast the others answer. */
import { useQuery } from '@tanstack/react-query'
import { CircleDollarSign, Plug, Plus } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { useCan } from '../../../api/me.ts'
import { formatDateTime } from '../../../lib/time.ts'
import { announce } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { Notice } from '../../../ui/notice.tsx'
import { Page, Section } from '../../../ui/page.tsx'
import { Empty, Forbidden, Loaded, SkeletonRows } from '../../../ui/states.tsx'
import { LoadMore } from '../../../ui/table/paged.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { readProvidersSearch } from '../search.ts'
import { AddProvider } from './add-provider.tsx'
import { ProviderCard, QuietProviders } from './provider-card.tsx'
import { ProviderSheet } from './provider-sheet.tsx'
import { bySeverity, countsText, hasNews } from './provider-words.ts'
import { type Provider, priceEndsQuery, useProviders } from './queries.ts'

const TITLE = 'Providers'

export function ProvidersPage() {
  if (useCan('operator')) return <Providers />
  return (
    <Page title={TITLE}>
      <Forbidden what="providers" right="operator" />
    </Page>
  )
}

function Providers() {
  const pages = useProviders()
  const { add, provider } = useSearchOf(readProvidersSearch)
  const change = useSearchChange()
  const begin = () => change({ add: '1' })
  const open = (name: string) => change({ provider: name })
  return (
    <Page
      title={TITLE}
      description="Health over the last 24 hours, of all processes. Latency and load are of the process that answered. Refreshed every 5 s."
      actions={
        <Button variant="primary" icon={Plus} onClick={begin}>
          Add provider
        </Button>
      }
      wide
    >
      <PriceEnds />
      <Loaded query={pages} what="providers" skeleton={<SkeletonRows rows={8} />}>
        {(providers) =>
          providers.length === 0 ? (
            <NoProviders onAdd={begin} />
          ) : (
            <>
              <ProviderList providers={providers} onOpen={open} />
              <LoadMore pages={pages} noun="provider" />
            </>
          )
        }
      </Loaded>
      <AddProvider open={add === '1'} providers={pages.rows} onClose={() => change({ add: undefined })} />
      <ProviderSheet name={provider} onClose={() => change({ provider: undefined })} />
    </Page>
  )
}

/** Renders nothing without such prices or without an answer: the page does not depend on it. */
function PriceEnds() {
  const { data: ends = [] } = useQuery(priceEndsQuery)
  if (ends.length === 0) return null
  return (
    <Notice icon={CircleDollarSign} tone="bad" title="Prices without a successor">
      <ul className="list-disc pl-5">
        {ends.map(({ id, model, ends_at: at, ended }) => (
          <li key={id}>
            <span className="font-mono break-all">{model}</span> {ended ? 'ended' : 'ends'} {formatDateTime(at, 'utc')}
          </li>
        ))}
      </ul>
      <p className="mt-2">
        Requests to a model without a price are rejected. Set its <code className="font-mono">pricing</code>, or the{' '}
        <code className="font-mono">successors</code> of its price, in turnpike.yaml.
      </p>
    </Notice>
  )
}

interface ProviderListProps {
  readonly providers: readonly Provider[]
  readonly onOpen: (name: string) => void
}

function ProviderList({ providers, onOpen }: ProviderListProps) {
  useAnnouncedStates(providers)
  const called = bySeverity(providers.filter(hasNews))
  const quiet = providers.filter((provider) => !hasNews(provider))
  return (
    <div className="flex flex-col gap-8">
      {called.length > 0 && (
        <Section title="In use" description={countsText(called)}>
          <div className="flex flex-col gap-4">
            {called.map((provider) => (
              <ProviderCard key={provider.id} provider={provider} onOpen={onOpen} />
            ))}
          </div>
        </Section>
      )}
      {quiet.length > 0 && <QuietProviders providers={quiet} onOpen={onOpen} />}
    </div>
  )
}

function NoProviders({ onAdd }: { readonly onAdd: () => void }) {
  return (
    <Empty
      icon={Plug}
      title="No providers are configured"
      action={
        <Button variant="primary" icon={Plus} onClick={onAdd}>
          Add provider
        </Button>
      }
    >
      Or set a key such as <code className="font-mono">OPENAI_API_KEY</code> in the environment of the gateway.
    </Empty>
  )
}

/** Says which providers have come into another state since the list was last there. */
function useAnnouncedStates(providers: readonly Provider[]): void {
  const before = useRef<ReadonlyMap<string, Provider['status']>>(new Map())
  useEffect(() => {
    const known = before.current
    before.current = new Map(providers.map(({ id, status }) => [id, status]))
    const changed = providers.filter(({ id, status }) => known.has(id) && known.get(id) !== status)
    if (changed.length > 0) announce(changed.map(({ name, status }) => `${name} is ${status}`).join(', '))
  }, [providers])
}
