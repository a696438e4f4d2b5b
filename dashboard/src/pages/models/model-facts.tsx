/** What is known of one model: its prices and whose word they are, its limits, where it can be had, what it honors. */
import type { ReactNode } from 'react'
import type { ListedModel } from '../../api/models.ts'
import { formatCount, formatPrice } from '../../lib/format.ts'
import { formatDate } from '../../lib/time.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { CopyableId } from '../../ui/copy.tsx'
import { Card, CardTitle, Stat } from '../../ui/page.tsx'
import { HealthStatus, StatusChip } from '../../ui/status.tsx'
import { Dash, Details, type DetailsItem } from '../../ui/values.tsx'
import { Capabilities } from './capabilities.tsx'
import { tariffRows } from './tariff.ts'
import { isWebAddress, modalityWord, originText } from './words.ts'

interface ModelProps {
  readonly model: ListedModel
}

export function PricesCard({ model }: ModelProps) {
  const { pricing, price_overridden: isOverridden } = model
  const rows = pricing === null ? [] : tariffRows(pricing)
  return (
    <Card>
      <div className="flex flex-wrap items-center gap-2">
        <CardTitle>Prices per million tokens</CardTitle>
        {isOverridden && <StatusChip tone="info">Overridden</StatusChip>}
      </div>
      {pricing !== null && (
        <div className="mt-3 grid grid-cols-2 gap-4 sm:grid-cols-4">
          <Stat label="Input" value={formatPrice(pricing.input_per_million)} />
          <Stat label="Output" value={formatPrice(pricing.output_per_million)} />
          <Stat label="Cached input" value={orAsInput(pricing.cached_input_per_million)} />
          <Stat label="Cache write" value={orAsInput(pricing.cache_write_per_million)} />
        </div>
      )}
      {rows.length > 0 && (
        <div className="mt-3">
          <Details items={rows} />
        </div>
      )}
      <p className="mt-3 text-sm break-words text-soft">
        <Origin model={model} />
      </p>
    </Card>
  )
}

function orAsInput(usd: number | undefined): ReactNode {
  return usd === undefined ? <span className="text-base font-normal text-soft">as input</span> : formatPrice(usd)
}

function Origin({ model }: ModelProps) {
  const { price_source: source } = model
  if (source === null || !isWebAddress(source.url)) return originText(model)
  return (
    <>
      Read on {formatDate(source.read)} at{' '}
      <a
        href={source.url}
        target="_blank"
        rel="noreferrer noopener nofollow"
        className="break-all text-accent underline"
      >
        {source.url}
      </a>
    </>
  )
}

export function FactsCard({ model, aliases }: ModelProps & { readonly aliases: readonly string[] }) {
  const { context_window: context, max_output_tokens: most, alias_of: target, created, owned_by: owner } = model
  const items: (DetailsItem | false)[] = [
    { label: 'Made by', value: owner },
    target !== undefined && { label: 'Alias of', value: <ModelLink id={target} /> },
    { label: 'Context', value: `${formatCount(context)} tokens` },
    { label: 'Max output', value: most === null ? <Dash /> : `${formatCount(most)} tokens` },
    { label: 'Reads', value: model.architecture.input_modalities.map(modalityWord).join(', ') },
    { label: 'Capabilities', value: <Capabilities model={model} /> },
    { label: 'Released', value: created === 0 ? <Dash /> : formatDate(new Date(created * 1000).toISOString(), 'utc') },
    {
      label: model.deprecated ? 'Retired' : 'Retires',
      value: model.deprecation_date === null ? 'Not announced' : formatDate(model.deprecation_date),
    },
    model.replacement !== null && { label: 'Replacement', value: <ModelLink id={model.replacement} /> },
    aliases.length > 0 && { label: 'Aliases', value: <Aliases ids={aliases} /> },
  ]
  return (
    <Card>
      <CardTitle className="mb-1">Facts</CardTitle>
      <Details items={items.filter((item) => item !== false)} />
    </Card>
  )
}

function ModelLink({ id }: { readonly id: string }) {
  return (
    <AppLink to="/models/$" params={{ _splat: id }} className="font-mono text-sm break-all text-accent underline">
      {id}
    </AppLink>
  )
}

function Aliases({ ids }: { readonly ids: readonly string[] }) {
  return (
    <ul>
      {ids.map((id) => (
        <li key={id}>
          <CopyableId id={id} />
        </li>
      ))}
    </ul>
  )
}

/** In routing order. */
export function ProvidersCard({ model: { providers } }: ModelProps) {
  return (
    <Card>
      <CardTitle>Providers</CardTitle>
      {providers.length > 1 && <p className="mt-0.5 text-sm text-soft">In routing order.</p>}
      {providers.length === 0 ? (
        <p className="mt-2 text-soft">No configured provider serves this model.</p>
      ) : (
        <ol className="mt-2 divide-y divide-line">
          {providers.map(({ name, healthy }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: one provider can have it twice
            <li key={`${name} ${index}`} className="flex min-h-9 items-center justify-between gap-3 py-1">
              <span className="min-w-0 break-words text-ink">{name}</span>
              <HealthStatus status={healthy ? 'healthy' : 'open'} />
            </li>
          ))}
        </ol>
      )}
    </Card>
  )
}

export function ParametersCard({ model: { supported_parameters: parameters } }: ModelProps) {
  return (
    <Card>
      <CardTitle className="mb-2">Supported parameters</CardTitle>
      {parameters.length === 0 ? (
        <p className="text-soft">Only the model and its messages.</p>
      ) : (
        <ul className="flex flex-wrap gap-1.5">
          {parameters.map((name) => (
            <li key={name} className="rounded-md bg-sunken px-1.5 py-0.5 font-mono text-xs text-ink">
              {name}
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
