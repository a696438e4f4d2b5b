import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useCan } from '../../api/me.ts'
import { modelsQuery } from '../../api/models.ts'
import { formatPercent } from '../../lib/format.ts'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import { classNames } from '../../ui/class-names.ts'
import { Empty, Loaded, type LoadedQuery, Skeleton } from '../../ui/states.tsx'
import { HealthStatus } from '../../ui/status.tsx'
import { useNow, useTimeZone } from '../../ui/time-zone.ts'
import { UptimeLegend, UptimeStrip } from '../../ui/uptime-strip.tsx'
import { failuresText, type UptimeCell, uptimeCells } from '../../ui/uptime-strip-cells.ts'
import { Panel, PanelHead } from './panel.tsx'
import { healthFromModels, healthFromStates, type ProviderHealth } from './provider-health.ts'
import { performanceQuery, providerStatesQuery, useHomePeriods } from './queries.ts'
import type { HomeRange } from './search.ts'

interface ProvidersCardProps {
  /** With it, each provider has a strip of the account's last 24 hours. */
  readonly range?: HomeRange | undefined
}

/** Whoever runs the installation sees how calls fare; everybody else, which models are paused. */
export function ProvidersCard({ range }: ProvidersCardProps) {
  const isOperator = useCan('operator')
  const mayList = useCan('models:read')
  if (isOperator) return <StatesOfProviders range={range} />
  return mayList ? <ProvidersOfModels range={range} /> : null
}

function StatesOfProviders({ range }: ProvidersCardProps) {
  const states = useQuery({ ...providerStatesQuery, select: (all) => healthFromStates(all, formatPercent) })
  const more = { to: '/settings/providers', label: 'Details' }
  return <Health range={range} query={states} more={more} target={() => ({ to: '/settings/providers' })} />
}

function ProvidersOfModels({ range }: ProvidersCardProps) {
  const models = useQuery({ ...modelsQuery, select: healthFromModels })
  const more = { to: '/models', label: 'Models' }
  return (
    <Health
      range={range}
      query={models}
      more={more}
      target={(name) => ({ to: '/models', search: { provider: name } })}
    />
  )
}

interface HealthProps extends ProvidersCardProps {
  readonly query: LoadedQuery<readonly ProviderHealth[]>
  readonly more: LinkTarget & { readonly label: string }
  readonly target: (name: string) => LinkTarget
}

function Health({ range, query, more, target }: HealthProps) {
  return (
    <Panel>
      <PanelHead id="providers" title="Providers" more={more} />
      <Loaded query={query} what="providers" skeleton={<Skeleton className="mx-4 mb-4 h-24" />}>
        {(providers) =>
          providers.length === 0 ? (
            <Empty title="No providers yet" className="m-4 mt-0 py-6" command="turnpike config check">
              Add a provider in the configuration file.
            </Empty>
          ) : (
            <ProviderList range={range} providers={providers} target={target} />
          )
        }
      </Loaded>
    </Panel>
  )
}

interface ProviderListProps extends Pick<HealthProps, 'range' | 'target'> {
  readonly providers: readonly ProviderHealth[]
}

function ProviderList({ range, providers, target }: ProviderListProps) {
  const { isLoading, cellsOf } = useUptimes(range)
  return (
    <>
      <ul
        aria-labelledby="providers"
        className={classNames(
          'divide-y divide-line border-t border-line',
          cellsOf === undefined && '*:last:rounded-b-xl',
        )}
      >
        {providers.map((provider) => (
          <ProviderRow key={provider.name} provider={provider} target={target(provider.name)}>
            {isLoading && <Skeleton className="h-4 w-48 max-w-full" />}
            {cellsOf && <Uptime cells={cellsOf(provider.name)} />}
          </ProviderRow>
        ))}
      </ul>
      {cellsOf && <Explained cells={providers.flatMap(({ name }) => cellsOf(name))} />}
    </>
  )
}

/** Above the row's link, so that an hour can be pointed at. */
function Uptime({ cells }: { readonly cells: readonly UptimeCell[] }) {
  const failures = failuresText(cells)
  return (
    <div>
      <UptimeStrip cells={cells} className="relative z-1" />
      {failures !== undefined && (
        <p aria-hidden className="mt-1 text-xs text-soft tabular-nums">
          {failures}
        </p>
      )}
    </div>
  )
}

function Explained({ cells }: { readonly cells: readonly UptimeCell[] }) {
  return (
    <div className="border-t border-line px-4 py-3">
      <p className="mb-1.5 text-xs text-soft">Your requests of the last 24 hours, by hour:</p>
      <UptimeLegend cells={cells} />
    </div>
  )
}

interface ProviderRowProps {
  readonly provider: ProviderHealth
  readonly target: LinkTarget
  readonly children: ReactNode
}

function ProviderRow({ provider, target, children }: ProviderRowProps) {
  const { name, status, detail } = provider
  return (
    <li className="linked-row flex min-h-9 flex-col gap-1.5 px-4 py-1.5 hover:bg-hover">
      <div className="flex items-center gap-3">
        <div className="min-w-0 flex-1">
          <AppLink {...target} className="row-link block truncate font-medium text-ink">
            {name}
          </AppLink>
          <span className="block text-xs text-soft tabular-nums">{detail}</span>
        </div>
        <HealthStatus status={status} />
      </div>
      {children}
    </li>
  )
}

interface Uptimes {
  readonly isLoading: boolean
  /** By the provider's name; undefined where nothing is known. */
  readonly cellsOf: ((name: string) => readonly UptimeCell[]) | undefined
}

/** @param range Undefined: nothing is asked. */
function useUptimes(range: HomeRange | undefined): Uptimes {
  const { period } = useHomePeriods('24h')
  const { data, isLoading } = useQuery({ ...performanceQuery(period), enabled: range !== undefined })
  const zone = useTimeZone()
  const now = useNow()
  if (data === undefined) return { isLoading, cellsOf: undefined }
  const hours = new Map(data.groups.map((group) => [group.key, group.hours]))
  return { isLoading, cellsOf: (name) => uptimeCells(hours.get(name) ?? [], { now, zone }) }
}
