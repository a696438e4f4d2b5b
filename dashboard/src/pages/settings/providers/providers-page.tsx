/** What the gateway's providers are doing: which are left alone, since what, and how fast the others answer. */
import { Plug } from 'lucide-react'
import { useCan } from '../../../api/me.ts'
import { Page, Section } from '../../../ui/page.tsx'
import { LoadMore } from '../../../ui/paged.tsx'
import { Empty, Forbidden, Loaded, SkeletonRows } from '../../../ui/states.tsx'
import { ProviderCard } from './provider-card.tsx'
import { bySeverity, countsText, hasNews } from './provider-words.ts'
import { type Provider, useProviders } from './queries.ts'
import { QuietProviders } from './quiet-providers.tsx'
import { useAnnouncedStates } from './use-announced-states.ts'

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
  return (
    <Page
      title={TITLE}
      description="As the process that answers sees them, from its own calls since it started. Renewed every 5 s."
      wide
    >
      <Loaded query={pages} what="providers" skeleton={<SkeletonRows rows={8} />}>
        {(providers) =>
          providers.length === 0 ? (
            <NoProviders />
          ) : (
            <>
              <ProviderList providers={providers} />
              <LoadMore pages={pages} noun="provider" />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function ProviderList({ providers }: { readonly providers: readonly Provider[] }) {
  useAnnouncedStates(providers)
  const called = bySeverity(providers.filter(hasNews))
  const quiet = providers.filter((provider) => !hasNews(provider))
  return (
    <div className="flex flex-col gap-8">
      {called.length > 0 && (
        <Section title="In use" description={countsText(called)}>
          <div className="flex flex-col gap-4">
            {called.map((provider) => (
              <ProviderCard key={provider.id} provider={provider} />
            ))}
          </div>
        </Section>
      )}
      {quiet.length > 0 && <QuietProviders providers={quiet} />}
    </div>
  )
}

function NoProviders() {
  return (
    <Empty icon={Plug} title="No providers are configured" command="export OPENAI_API_KEY=sk-… && turnpike start">
      A key in the environment, or <code className="font-mono">providers</code> in turnpike.yaml, adds one.
    </Empty>
  )
}
