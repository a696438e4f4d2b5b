import { useQuery } from '@tanstack/react-query'
import { useCan } from '../../api/me.ts'
import { modelsQuery } from '../../api/models.ts'
import { formatPercent } from '../../lib/format.ts'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import { Empty, Loaded, type LoadedQuery, Skeleton } from '../../ui/states.tsx'
import { HealthStatus } from '../../ui/status.tsx'
import { Panel, PanelHead } from './panel.tsx'
import { healthFromModels, healthFromStates, type ProviderHealth } from './provider-health.ts'
import { providerStatesQuery } from './queries.ts'

/** Whoever runs the installation sees how calls fare; everybody else, which models are paused. */
export function ProvidersCard() {
  const isOperator = useCan('operator')
  const mayList = useCan('models:read')
  if (isOperator) return <StatesOfProviders />
  return mayList ? <ProvidersOfModels /> : null
}

function StatesOfProviders() {
  const states = useQuery({ ...providerStatesQuery, select: (all) => healthFromStates(all, formatPercent) })
  const more = { to: '/settings/providers', label: 'Details' }
  return <Health query={states} more={more} target={() => ({ to: '/settings/providers' })} />
}

function ProvidersOfModels() {
  const models = useQuery({ ...modelsQuery, select: healthFromModels })
  const more = { to: '/models', label: 'Models' }
  return <Health query={models} more={more} target={(name) => ({ to: '/models', search: { provider: name } })} />
}

interface HealthProps {
  readonly query: LoadedQuery<readonly ProviderHealth[]>
  readonly more: LinkTarget & { readonly label: string }
  readonly target: (name: string) => LinkTarget
}

function Health({ query, more, target }: HealthProps) {
  return (
    <Panel>
      <PanelHead id="providers" title="Providers" more={more} />
      <Loaded query={query} what="providers" skeleton={<Skeleton className="mx-4 mb-4 h-24" />}>
        {(providers) =>
          providers.length === 0 ? (
            <Empty title="No provider yet" className="m-4 mt-0 py-6" command="turnpike config validate">
              A provider is added in the configuration file.
            </Empty>
          ) : (
            <ul aria-labelledby="providers" className="divide-y divide-line border-t border-line">
              {providers.map((provider) => (
                <ProviderRow key={provider.name} provider={provider} target={target(provider.name)} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  )
}

function ProviderRow({ provider, target }: { readonly provider: ProviderHealth; readonly target: LinkTarget }) {
  const { name, status, detail } = provider
  return (
    <li className="linked-row flex min-h-9 items-center gap-3 px-4 py-1.5 last:rounded-b-xl hover:bg-hover">
      <div className="min-w-0 flex-1">
        <AppLink {...target} className="row-link block truncate font-medium text-ink">
          {name}
        </AppLink>
        <span className="block text-xs text-soft tabular-nums">{detail}</span>
      </div>
      <HealthStatus status={status} />
    </li>
  )
}
