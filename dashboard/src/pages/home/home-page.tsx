import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useCan, useMe } from '../../api/me.ts'
import { Page } from '../../ui/page.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Forbidden, Loaded, Skeleton } from '../../ui/states.tsx'
import { BalanceCard } from './balance-card.tsx'
import { Charts } from './charts.tsx'
import { Checklist } from './checklist.tsx'
import { FirstReceived } from './first-received.tsx'
import { LatestErrors } from './latest-errors.tsx'
import { ProvidersCard } from './providers-card.tsx'
import { newestQuery } from './queries.ts'
import { useRemembered } from './remembered.ts'
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
  const knownToHaveAny = useRemembered(account.id).done.includes('request')
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
          <h2 className="sr-only">Where things stand</h2>
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

/** On the left what there is to do or to look into, on the right how things stand. */
function Below({ range }: { readonly range: HomeRange }) {
  return (
    <section aria-label="Where things stand" className="-mt-4 grid items-start gap-4 lg:grid-cols-3">
      <h2 className="sr-only">Where things stand</h2>
      <div className="flex min-w-0 flex-col gap-4 lg:col-span-2">
        <Checklist hasRequests />
        <LatestErrors />
      </div>
      <div className="flex min-w-0 flex-col gap-4">
        <BalanceCard range={range} />
        <ProvidersCard range={range} />
      </div>
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
