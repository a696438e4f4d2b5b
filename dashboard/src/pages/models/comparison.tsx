/** Up to four models side by side, with what a day and a month of them would cost. */
import { SquareTerminal } from 'lucide-react'
import type { ReactNode } from 'react'
import { useCan } from '../../api/me.ts'
import { formatCompact, formatMs, formatPercent, formatPrice } from '../../lib/format.ts'
import { formatDate } from '../../lib/time.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { LinkButton } from '../../ui/button.tsx'
import { Sheet } from '../../ui/dialog.tsx'
import { Dash } from '../../ui/values.tsx'
import { Calculator, CalculatorRows, type Consumed } from './calculator.tsx'
import { Capabilities } from './capabilities.tsx'
import { FactRow } from './fact-row.tsx'
import type { ModelRow } from './models-table.tsx'
import type { Speed } from './queries.ts'
import { isWebAddress, modalityWord, originText } from './words.ts'

export interface ComparisonProps {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
  readonly models: readonly ModelRow[]
  readonly speeds: ReadonlyMap<string, Speed> | undefined
  readonly consumed: Consumed
  readonly onConsumed: (changes: Partial<Consumed>) => void
}

export function Comparison({ open, onOpenChange, models, speeds, consumed, onConsumed }: ComparisonProps) {
  const mayChat = useCan('chat')
  const ids = models.map(({ id }) => id).slice(0, 3)
  return (
    <Sheet
      open={open}
      onOpenChange={onOpenChange}
      size="lg"
      title={models.length === 1 ? 'Cost of a model' : 'Compare models'}
      description="Prices are in US dollars per million tokens."
      footer={
        mayChat && ids.length > 0 ? (
          <LinkButton to="/playground" search={{ models: ids.join(',') }} icon={SquareTerminal}>
            Try in Playground
          </LinkButton>
        ) : undefined
      }
    >
      {models.length === 0 ? (
        <p className="text-soft">None of the models to compare is listed. Choose others in the table.</p>
      ) : (
        <div className="flex flex-col gap-5">
          <Calculator consumed={consumed} onChange={onConsumed} />
          <SideBySide models={models} speeds={speeds} consumed={consumed} />
        </div>
      )}
    </Sheet>
  )
}

function SideBySide({ models, speeds, consumed }: Pick<ComparisonProps, 'models' | 'speeds' | 'consumed'>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <section> would be one landmark more in a dialog
    <div
      role="group"
      aria-label="Comparison"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it, what is beyond the edge is out of the keyboard's reach
      tabIndex={0}
      className="overflow-x-auto rounded-xl border border-line"
    >
      <table
        style={{ minWidth: `${7 + 9 * models.length}rem` }}
        className="w-full table-fixed border-collapse text-left"
      >
        <caption className="sr-only">Models side by side</caption>
        <thead>
          <tr className="bg-sunken">
            <td className="sticky left-0 w-28 bg-sunken px-3" />
            {models.map(({ id, name }) => (
              <th key={id} scope="col" className="px-3 py-2 align-top font-medium text-ink">
                <AppLink to="/models/$" params={{ _splat: id }} className="hover:underline">
                  {name}
                </AppLink>
                <span className="block font-mono text-xs font-normal break-all text-soft">{id}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <CalculatorRows models={models} consumed={consumed} />
          {factsWith(speeds).map(({ label, value }) => (
            <FactRow key={label} label={label} values={models.map((model) => [model.id, value(model)])} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface Fact {
  readonly label: string
  readonly value: (model: ModelRow) => ReactNode
}

function factsWith(speeds: ReadonlyMap<string, Speed> | undefined): readonly Fact[] {
  return [
    { label: 'Input', value: ({ pricing }) => orDash(pricing?.input_per_million, formatPrice) },
    { label: 'Output', value: ({ pricing }) => orDash(pricing?.output_per_million, formatPrice) },
    { label: 'Cached input', value: ({ pricing }) => orDash(pricing?.cached_input_per_million, formatPrice) },
    { label: 'Cache write', value: ({ pricing }) => orDash(pricing?.cache_write_per_million, formatPrice) },
    { label: 'Price', value: (model) => <PriceOrigin model={model} /> },
    { label: 'Context', value: ({ context_window: tokens }) => `${formatCompact(tokens)} tokens` },
    {
      label: 'Max output',
      value: ({ max_output_tokens: tokens }) => orDash(tokens, (most) => `${formatCompact(most)} tokens`),
    },
    { label: 'Capabilities', value: (model) => <Capabilities model={model} className="flex-col" /> },
    { label: 'Reads', value: ({ architecture }) => architecture.input_modalities.map(modalityWord).join(', ') },
    { label: 'Made by', value: ({ owned_by: owner }) => owner },
    { label: 'Providers', value: ({ providers }) => providers.map(({ name }) => name).join(', ') || <Dash /> },
    { label: 'TTFT p50, 24 h', value: ({ id }) => orDash(speeds?.get(id)?.first_byte_ms?.p50, formatMs) },
    { label: 'Success, 24 h', value: ({ id }) => orDash(speeds?.get(id)?.success_rate, formatPercent) },
  ]
}

/** The day, with a link to where it was read. */
function PriceOrigin({ model }: { readonly model: ModelRow }) {
  const { price_source: source } = model
  if (source === null || !isWebAddress(source.url))
    return <span className="text-sm text-soft">{originText(model)}</span>
  return (
    <a href={source.url} target="_blank" rel="noreferrer noopener nofollow" className="text-sm text-accent underline">
      Read on {formatDate(source.read)}
    </a>
  )
}

function orDash(value: number | null | undefined, format: (value: number) => string): ReactNode {
  return value === null || value === undefined ? <Dash /> : format(value)
}
