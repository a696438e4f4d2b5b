/** One provider that was called: its state, what it is busy with, and each model by itself. */
import { KeyRound } from 'lucide-react'
import { useId } from 'react'
import { formatCount, plural } from '../../../lib/format.ts'
import { HealthStatus } from '../../../ui/status.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { DeploymentsTable } from './deployments-table.tsx'
import { ProviderTest } from './provider-test.tsx'
import { isCooling, untilText } from './provider-words.ts'
import type { Credential, Provider } from './queries.ts'

export function ProviderCard({ provider }: { readonly provider: Provider }) {
  const id = useId()
  const cooling = provider.credentials.filter(isCooling)
  return (
    <article aria-labelledby={id} className="overflow-hidden rounded-xl border border-line bg-surface">
      <header className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 py-3">
        <div className="min-w-0">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h3 id={id} className="text-base font-semibold break-words text-ink">
              {provider.name}
            </h3>
            <HealthStatus status={provider.status} />
          </div>
          <p className="mt-0.5 font-mono text-xs break-all text-soft">{provider.base_url}</p>
        </div>
        <Load provider={provider} />
      </header>
      <div className="px-4 pb-3">
        <ProviderTest name={provider.name} />
      </div>
      {cooling.length > 0 && <Cooling credentials={cooling} count={provider.credentials.length} />}
      {provider.deployments.length > 0 && <DeploymentsTable provider={provider} />}
    </article>
  )
}

function Load({ provider }: { readonly provider: Provider }) {
  const { in_flight: busy, max_in_flight: most, queued, credentials } = provider
  const facts = [
    ['In flight', most === null ? formatCount(busy) : `${formatCount(busy)} of ${formatCount(most)}`],
    ['Waiting', formatCount(queued)],
    ['Credentials', formatCount(credentials.length)],
  ] as const
  return (
    <dl className="flex flex-wrap gap-x-6 gap-y-1 text-sm">
      {facts.map(([name, value]) => (
        <div key={name} className="flex gap-1.5">
          <dt className="text-soft">{name}</dt>
          <dd className="font-medium text-ink">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface CoolingProps {
  readonly credentials: readonly Credential[]
  readonly count: number
}

/** Credentials by their number: what they are is shown to nobody. */
function Cooling({ credentials, count }: CoolingProps) {
  const now = useNow()
  return (
    <div className="flex items-start gap-2.5 border-t border-line bg-warn-soft px-4 py-2 text-ink">
      <KeyRound aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
      <div className="min-w-0">
        <p className="font-medium">
          {credentials.length} of {plural(count, 'credential')} cooling down
        </p>
        <ul className="text-sm break-words">
          {credentials.flatMap(({ number, cooling }) =>
            cooling.map(({ model, until }) => (
              <li key={`${number} ${model}`}>
                No. {number}: {model === '*' ? 'every model' : model}, used again {untilText(until, now)}
              </li>
            )),
          )}
        </ul>
      </div>
    </div>
  )
}
