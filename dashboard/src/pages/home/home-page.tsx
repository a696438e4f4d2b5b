import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { CircleCheck } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useCan, useMe } from '../../api/me.ts'
import { formatUsd, plural } from '../../lib/format.ts'
import { announce } from '../../ui/announcer.tsx'
import { LinkButton } from '../../ui/button.tsx'
import { Segmented } from '../../ui/form/segmented.tsx'
import { Page } from '../../ui/page.tsx'
import { Forbidden, Loaded, Skeleton } from '../../ui/states.tsx'
import { BalanceCard } from './balance-card.tsx'
import { Charts } from './charts.tsx'
import { Checklist } from './checklist.tsx'
import { useChecklistState } from './checklist-state.ts'
import { LatestErrors } from './latest-errors.tsx'
import { ProvidersCard } from './providers-card.tsx'
import { type Completion, newestQuery, SIMULATOR } from './queries.ts'
import type { HomeRange } from './search.ts'

// Seen once by each account: most visits need not load it.
const Waiting = lazy(async () => ({ default: (await import('./waiting.tsx')).Waiting }))

const route = getRouteApi('/')
const RANGES: readonly { readonly value: HomeRange; readonly label: string }[] = [
  { value: '24h', label: '24 hours' },
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
]

export function HomePage() {
  const mayRead = useCan('usage:read')
  if (!mayRead) {
    return (
      <Page title="Home">
        <Forbidden what="the use of this account" right="usage:read" />
      </Page>
    )
  }
  return <Home />
}

function Home() {
  const { account } = useMe()
  const knownToHaveAny = useChecklistState(account.id).done.includes('request')
  const newest = useQuery({ ...newestQuery, enabled: !knownToHaveAny })
  const [hasWaited, setHasWaited] = useState(false)
  if (newest.data === null && !hasWaited) setHasWaited(true)
  if (knownToHaveAny && !hasWaited) return <Overview />
  return (
    <Loaded query={newest} what="the requests of this account" skeleton={<HomeSkeleton />}>
      {(first) =>
        first === null ? <Welcome /> : <Overview>{hasWaited && <FirstReceived completion={first} />}</Overview>
      }
    </Loaded>
  )
}

function Welcome() {
  return (
    <Page title="Home">
      <div className="grid items-start gap-4 lg:grid-cols-3">
        <Suspense fallback={<Skeleton className="h-96 rounded-xl lg:col-span-2" />}>
          <Waiting className="lg:col-span-2" />
        </Suspense>
        <div className="flex min-w-0 flex-col gap-4">
          <h2 className="sr-only">Overview</h2>
          <Checklist hasRequests={false} />
          <ProvidersCard />
        </div>
      </div>
    </Page>
  )
}

function Overview({ children }: { readonly children?: React.ReactNode }) {
  const { range = '24h' } = route.useSearch()
  const navigate = route.useNavigate()
  const choose = (next: HomeRange) => void navigate({ search: { range: next }, resetScroll: false })
  return (
    <Page
      title="Home"
      actions={<Segmented<HomeRange> label="Period" value={range} onChange={choose} options={RANGES} />}
    >
      {children}
      <Charts range={range} />
      <Below range={range} />
    </Page>
  )
}

/** Rows as wide as the page, whatever each has to show: what there is to do, what to look into, how things stand. */
function Below({ range }: { readonly range: HomeRange }) {
  return (
    <section aria-label="Overview" className="-mt-4 flex flex-col gap-4">
      <h2 className="sr-only">Overview</h2>
      <Checklist hasRequests />
      <div className="grid gap-4 lg:grid-cols-3 *:first:lg:col-span-2 *:only:lg:col-span-3">
        <LatestErrors />
        <BalanceCard range={range} />
      </div>
      <ProvidersCard hasStrips />
    </section>
  )
}

function HomeSkeleton() {
  return (
    <Page title="Home">
      <div className="grid gap-4 lg:grid-cols-2">
        {[1, 2, 3, 4].map((each) => (
          <Skeleton key={each} className="h-72 rounded-xl" />
        ))}
      </div>
    </Page>
  )
}

/** What was waited for. */
function FirstReceived({ completion }: { readonly completion: Completion }) {
  const text = receivedText(completion)
  useEffect(() => announce(text), [text])
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 rounded-xl border border-line bg-good-soft px-4 py-3">
      <CircleCheck aria-hidden className="size-5 shrink-0 text-good" />
      <div className="min-w-0 flex-1 basis-64">
        <p className="font-medium text-ink tabular-nums">{text}</p>
        {completion.model === SIMULATOR && (
          <p className="text-sm text-soft">
            The built-in simulator answered it, at a fictitious price. No provider was called.
          </p>
        )}
      </div>
      <LinkButton to="/requests" search={{ request: completion.id }} size="sm">
        See the request
      </LinkButton>
    </div>
  )
}

function receivedText({
  status,
  prompt_tokens: prompt,
  completion_tokens: generated,
  cost_usd: cost,
}: Completion): string {
  const text = `First request received: ${plural(prompt + generated, 'token')}, ${formatUsd(cost)}`
  return status === 'failed' ? `${text}. It failed` : text
}
