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
import { Time } from '../../ui/values.tsx'
import { Panel, PanelHead, panelGrid } from './panel.tsx'
import { healthFromModels, healthFromStates, type LastFailure, type ProviderHealth } from './provider-health.ts'
import { performanceQuery, providerStatesQuery, useHomePeriods } from './queries.ts'

interface ProvidersCardProps {
  /** Whether each provider has a strip of its last 24 hours. */
  readonly hasStrips?: boolean
}

/** Whoever runs the installation sees how calls fare; everybody else, which models are paused and the account's requests. */
export function ProvidersCard({ hasStrips = false }: ProvidersCardProps) {
  const isOperator = useCan('operator')
  const mayList = useCan('models:read')
  if (isOperator) return <StatesOfProviders hasStrips={hasStrips} />
  return mayList ? <ProvidersOfModels hasStrips={hasStrips} /> : null
}

function StatesOfProviders({ hasStrips }: ProvidersCardProps) {
  const states = useQuery({ ...providerStatesQuery, select: (all) => healthFromStates(all, formatPercent) })
  const more = { to: '/settings/providers', label: 'Details' }
  return (
    <Health
      strips={hasStrips ? 'Calls of all accounts in the last 24 hours, by hour:' : undefined}
      query={states}
      more={more}
      target={() => ({ to: '/settings/providers' })}
    />
  )
}

function ProvidersOfModels({ hasStrips = false }: ProvidersCardProps) {
  const { period } = useHomePeriods('24h')
  const own = useQuery({ ...performanceQuery(period), enabled: hasStrips })
  const uses = own.data?.groups
  const models = useQuery({ ...modelsQuery, select: (all) => healthFromModels(all, { uses, percent: formatPercent }) })
  const more = { to: '/models', label: 'Models' }
  return (
    <Health
      strips={hasStrips ? 'Your requests of the last 24 hours, by hour:' : undefined}
      isLoading={own.isLoading}
      query={models}
      more={more}
      target={(name) => ({ to: '/models', search: { provider: name } })}
    />
  )
}

interface HealthProps {
  /** What the strips are of; undefined: there are none. */
  readonly strips: string | undefined
  readonly isLoading?: boolean
  readonly query: LoadedQuery<readonly ProviderHealth[]>
  readonly more: LinkTarget & { readonly label: string }
  readonly target: (name: string) => LinkTarget
}

function Health({ query, more, ...rest }: HealthProps) {
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
            <ProviderList {...rest} providers={providers} />
          )
        }
      </Loaded>
    </Panel>
  )
}

interface ProviderListProps extends Pick<HealthProps, 'strips' | 'isLoading' | 'target'> {
  readonly providers: readonly ProviderHealth[]
}

function ProviderList({ strips, isLoading = false, providers, target }: ProviderListProps) {
  const cellsOf = useCells()
  const cells = strips === undefined ? [] : providers.map(cellsOf)
  const known = cells.filter((each) => each !== undefined)
  return (
    <>
      <ul
        aria-labelledby="providers"
        className={classNames(panelGrid(providers.length), known.length === 0 && 'rounded-b-xl')}
      >
        {providers.map((provider, index) => (
          <ProviderRow key={provider.name} provider={provider} target={target(provider.name)}>
            {isLoading && <Skeleton className="h-4 w-48 max-w-full" />}
            {cells[index] && <Uptime cells={cells[index]} />}
          </ProviderRow>
        ))}
      </ul>
      {known.length > 0 && <Explained text={strips} cells={known.flat()} />}
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

interface ExplainedProps {
  readonly text: string | undefined
  readonly cells: readonly UptimeCell[]
}

function Explained({ text, cells }: ExplainedProps) {
  return (
    <div className="border-t border-line px-4 py-3">
      <p className="mb-1.5 text-xs text-soft">{text}</p>
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
  const { name, status, detail, note, lastFailure } = provider
  return (
    <li className="linked-row flex min-h-9 flex-col gap-1.5 px-4 py-1.5 hover:bg-hover">
      <div className="flex items-center gap-3">
        <div className="min-w-0 flex-1">
          <AppLink {...target} className="row-link block truncate font-medium text-ink">
            {name}
          </AppLink>
          <span className="block text-xs text-soft tabular-nums">{detail}</span>
          {lastFailure && <Failure {...lastFailure} />}
          {note !== undefined && <span className="block text-xs text-soft tabular-nums">{note}</span>}
        </div>
        <HealthStatus status={status} />
      </div>
      {children}
    </li>
  )
}

function Failure({ reason, at, isCurrent }: LastFailure) {
  return (
    <span className="block text-xs text-soft tabular-nums">
      {isCurrent ? <span className="font-medium text-bad">{reason}</span> : `Last failure: ${reason}`},{' '}
      <span className="relative z-1">
        <Time iso={at} relative />
      </span>
    </span>
  )
}

/** Of what the badge says; undefined where nothing is known of it. */
function useCells(): (provider: ProviderHealth) => readonly UptimeCell[] | undefined {
  const zone = useTimeZone()
  const now = useNow()
  return ({ status, hours, lastFailure }) => {
    const downSince = status === 'down' ? lastFailure?.at : undefined
    return hours && uptimeCells(hours, { now, zone, downSince })
  }
}
