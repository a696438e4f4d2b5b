/** Up to four models side by side, with what a day and a month of them would cost. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { Calculator as CalculatorIcon, EqualNot, SquareTerminal, X } from 'lucide-react'
import type { MouseEvent, ReactNode } from 'react'
import { useCan } from '../../api/me.ts'
import { formatCount, formatPrice, plural } from '../../lib/format.ts'
import { formatDate } from '../../lib/time.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Button, IconButton, LinkButton } from '../../ui/button.tsx'
import { Sheet } from '../../ui/dialog.tsx'
import { Dash } from '../../ui/values.tsx'
import { Calculator, CalculatorRows, type Consumed } from './calculator.tsx'
import { Capabilities } from './capabilities.tsx'
import { FactRow, isVaried } from './fact-row.tsx'
import { capabilitiesOf, firstTokenText, uptimeText } from './listing.ts'
import { FULL_ID, FULL_TEXT, type ModelRow } from './models-table.tsx'
import { type Speeds, speedsQuery, weekSpeedsQuery } from './queries.ts'
import { MAX_COMPARED } from './search.ts'
import { isWebAddress, modalityWord, originText, unlistedText } from './words.ts'

export interface ComparisonProps {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
  readonly models: readonly ModelRow[]
  /** Names in the address that no model has. */
  readonly unknown: readonly string[]
  readonly onRemove: (id: string) => void
  readonly consumed: Consumed
  readonly onConsumed: (changes: Partial<Consumed>) => void
}

export function Comparison({ open, onOpenChange, models, unknown, onRemove, consumed, onConsumed }: ComparisonProps) {
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
      <div className="flex flex-col gap-5">
        {unknown.length > 0 && <p className="wrap-anywhere text-soft">{unlistedText(unknown)}</p>}
        {models.length === 0 ? (
          <p className="text-soft">No models selected. Choose some in the list.</p>
        ) : (
          <>
            <Calculator consumed={consumed} onChange={onConsumed} />
            <SideBySide models={models} consumed={consumed} onRemove={onRemove} />
          </>
        )}
      </div>
    </Sheet>
  )
}

export interface CompareTrayProps {
  readonly ids: readonly string[]
  /** Names in the address that no model has. */
  readonly unknown: readonly string[]
  readonly onRemove: (id: string) => void
  readonly onClear: () => void
  readonly onOpen: () => void
}

/** What is chosen for the comparison, always in sight at the bottom. */
export function CompareTray({ ids, unknown, onRemove, onClear, onOpen }: CompareTrayProps) {
  if (ids.length === 0 && unknown.length === 0) return null
  return (
    <section
      aria-label="Models to compare"
      className="sticky bottom-2 z-20 -mt-4 flex flex-wrap items-center gap-2 rounded-xl border border-line bg-surface p-2 pl-4 shadow-popup"
    >
      <span className="text-sm text-soft tabular-nums max-sm:sr-only">
        {plural(ids.length, 'model')} of {MAX_COMPARED}
      </span>
      <ul className="flex min-w-0 flex-1 flex-wrap gap-1.5 max-sm:grid max-sm:basis-full max-sm:grid-cols-2">
        {ids.map((id) => (
          <li key={id} className="flex max-w-full min-w-0 items-center rounded-lg border border-line bg-sunken pl-2.5">
            <span title={id} className="truncate font-mono text-sm text-ink max-sm:flex-1">
              {id}
            </span>
            <IconButton label={`Remove ${id}`} icon={X} size="sm" onClick={() => onRemove(id)} />
          </li>
        ))}
      </ul>
      <Button variant="ghost" onClick={onClear} className="max-sm:ml-auto">
        Clear
      </Button>
      {ids.length > 0 && (
        <Button variant="primary" icon={CalculatorIcon} onClick={onOpen}>
          {ids.length === 1 ? 'Estimate cost' : 'Compare'}
        </Button>
      )}
      {ids.length >= MAX_COMPARED && (
        <p id={FULL_ID} className="w-full text-sm text-soft">
          {FULL_TEXT}
        </p>
      )}
      {unknown.length > 0 && <p className="w-full text-sm wrap-anywhere text-soft">{unlistedText(unknown)}</p>}
    </section>
  )
}

export interface Fact {
  readonly label: string
  /** By which models are told apart; undefined: not known. */
  readonly text: (model: ModelRow) => string | undefined
  /** What is seen, where that is more than the text. */
  readonly cell?: (model: ModelRow) => ReactNode
}

export const FACTS: readonly Fact[] = [
  { label: 'Input', text: (model) => priceText(model, 'input_per_million') },
  { label: 'Output', text: (model) => priceText(model, 'output_per_million') },
  { label: 'Cached input', text: (model) => priceText(model, 'cached_input_per_million') },
  { label: 'Cache write', text: (model) => priceText(model, 'cache_write_per_million') },
  // (on which day a price was read tells no models apart)
  { label: 'Price', text: () => undefined, cell: (model) => <PriceOrigin model={model} /> },
  { label: 'Context', text: ({ context_window: tokens }) => tokensText(tokens) },
  { label: 'Max output', text: ({ max_output_tokens: tokens }) => (tokens === null ? undefined : tokensText(tokens)) },
  {
    label: 'Capabilities',
    text: (model) => capabilitiesOf(model).join(),
    cell: (model) => <Capabilities model={model} className="flex-col" />,
  },
  { label: 'Reads', text: ({ architecture }) => modalitiesText(architecture.input_modalities) },
  { label: 'Writes', text: ({ architecture }) => modalitiesText(architecture.output_modalities) },
  { label: 'Made by', text: ({ owned_by: owner }) => owner },
  { label: 'Providers', text: ({ providers }) => providers.map(({ name }) => name).join(', ') || undefined },
]

/** Undefined: not known yet. */
interface MeasuredSpans {
  readonly day: Speeds | undefined
  readonly week: Speeds | undefined
}

function measuredFacts({ day, week }: MeasuredSpans): readonly Fact[] {
  return [
    { label: 'TTFT p50, 24\u00a0h', text: ({ id }) => firstTokenText(day, id) },
    { label: 'Uptime, 24 h', text: ({ id }) => uptimeText(day, id) },
    { label: 'Uptime, 7 d', text: ({ id }) => uptimeText(week, id) },
  ]
}

type PriceField = Extract<keyof NonNullable<ModelRow['pricing']>, `${string}_per_million`>

/** What has no price of its own costs as much as other input. */
function priceText({ pricing }: ModelRow, field: PriceField): string | undefined {
  if (pricing === null) return undefined
  const usd = pricing[field]
  return usd === undefined ? 'as input' : formatPrice(usd)
}

/** To the last one: 1,000,000 and 1,048,576 would look alike in short. */
function tokensText(tokens: number): string {
  return `${formatCount(tokens)} tokens`
}

function modalitiesText(names: readonly string[]): string | undefined {
  return names.map(modalityWord).join(', ') || undefined
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

/** With one model beside it, as wide as the narrowest telephone leaves room for. */
const LABELS_REM = 8.5

interface SideBySideProps {
  readonly models: readonly ModelRow[]
  readonly consumed: Consumed
  readonly onRemove: (id: string) => void
}

function SideBySide({ models, consumed, onRemove }: SideBySideProps) {
  const mayMeasure = useCan('usage:read')
  const day = useQuery({ ...speedsQuery, enabled: mayMeasure })
  const week = useQuery({ ...weekSpeedsQuery, enabled: mayMeasure })
  return (
    <div className="flex flex-col gap-2">
      <Scrolling>
        <table
          style={{ minWidth: `${LABELS_REM + 9 * models.length}rem` }}
          className="w-full table-fixed border-collapse text-left"
        >
          <caption className="sr-only">Models side by side</caption>
          <thead>
            <tr className="bg-sunken">
              <td style={{ width: `${LABELS_REM}rem` }} className="sticky left-0 bg-sunken px-3" />
              {models.map((model) => (
                <ModelHead key={model.id} model={model} onRemove={onRemove} />
              ))}
            </tr>
          </thead>
          <tbody>
            <CalculatorRows models={models} consumed={consumed} />
            <FactRows facts={FACTS} models={models} />
            {mayMeasure && <FactRows facts={measuredFacts({ day: day.data, week: week.data })} models={models} />}
          </tbody>
        </table>
      </Scrolling>
      {models.length > 1 && (
        <p className="text-sm text-soft">
          <EqualNot aria-hidden className="mr-1 inline size-3.5 text-accent" />
          <span className="sr-only">“Differs”</span> marks rows in which the models differ.
        </p>
      )}
      {mayMeasure && <Measuring queries={[day, week]} />}
    </div>
  )
}

function Scrolling({ children }: { readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <section> would be one landmark more in a dialog
    <div
      role="group"
      aria-label="Comparison"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it, what is beyond the edge is out of the keyboard's reach
      tabIndex={0}
      className="overflow-x-auto rounded-xl border border-line"
    >
      {children}
    </div>
  )
}

interface ModelHeadProps extends Pick<SideBySideProps, 'onRemove'> {
  readonly model: ModelRow
}

function ModelHead({ model: { id, name }, onRemove }: ModelHeadProps) {
  const remove = ({ currentTarget }: MouseEvent) => {
    currentTarget.closest<HTMLElement>('[data-dialog-body]')?.focus() // the button goes with its model
    onRemove(id)
  }
  return (
    <th scope="col" abbr={name} className="px-3 py-2 align-top font-medium text-ink">
      <div className="flex items-start justify-between gap-1">
        <AppLink to="/models/$" params={{ _splat: id }} className="min-w-0 wrap-anywhere hover:underline">
          {name}
        </AppLink>
        <IconButton label={`Remove ${id}`} icon={X} size="sm" onClick={remove} className="-mt-1 -mr-2" />
      </div>
      <span className="block font-mono text-xs font-normal break-all text-soft">{id}</span>
    </th>
  )
}

function FactRows({ facts, models }: { readonly facts: readonly Fact[]; readonly models: readonly ModelRow[] }) {
  return facts.map(({ label, text, cell = (model) => text(model) ?? <Dash /> }) => (
    <FactRow
      key={label}
      label={label}
      differs={isVaried(models.map(text))}
      values={models.map((model) => [model.id, cell(model)])}
    />
  ))
}

/** Why measured rows are empty, or of what they are. */
function Measuring({ queries }: { readonly queries: readonly UseQueryResult<Speeds>[] }) {
  const failed = queries.filter(({ data, isError }) => data === undefined && isError)
  if (failed.length > 0)
    return (
      <p role="alert" className="text-sm text-soft">
        Could not load speed and uptime.{' '}
        <Button size="sm" onClick={() => failed.forEach((query) => void query.refetch())}>
          Try again
        </Button>
      </p>
    )
  return <p className="text-sm text-soft">Speed and uptime are measured on your own requests.</p>
}
