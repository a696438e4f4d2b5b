/** What models are compared by. */
import type { ReactNode } from 'react'
import { formatCount, formatPrice } from '../../lib/format.ts'
import { formatDate } from '../../lib/time.ts'
import { Capabilities } from './capabilities.tsx'
import { capabilitiesOf } from './listing.ts'
import { firstTokenText, uptimeText } from './measured.ts'
import type { ModelRow } from './models-table.tsx'
import type { Speeds } from './queries.ts'
import { isWebAddress, modalityWord, originText } from './words.ts'

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
export interface MeasuredSpans {
  readonly day: Speeds | undefined
  readonly week: Speeds | undefined
}

export function measuredFacts({ day, week }: MeasuredSpans): readonly Fact[] {
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
