import { X } from 'lucide-react'
import { formatCompact, formatPrice } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { FacetMenu } from './facet-menu.tsx'
import { boundsOf, choicesOf, FACETS, type Listed, type Row } from './listing.ts'
import { listed, type ModelsSearch } from './search.ts'
import { capabilityWord, modalityWord } from './words.ts'

const CONTEXTS = [32_000, 128_000, 200_000, 400_000, 1_000_000] as const
const PRICES = [0.25, 1, 3, 10] as const

const LISTS = [
  { facet: 'owner', label: 'Made by', word: (value: string) => value },
  { facet: 'provider', label: 'Provider', word: (value: string) => value },
  { facet: 'modality', label: 'Reads', word: modalityWord },
  { facet: 'capability', label: 'Can', word: capabilityWord },
] as const

export interface FacetsProps {
  readonly rows: readonly Row<Listed>[]
  readonly search: ModelsSearch
  readonly onChange: (changes: Partial<Record<keyof ModelsSearch, string | undefined>>) => void
}

export function Facets({ rows, search, onChange }: FacetsProps) {
  const isFiltered = search.q !== undefined || FACETS.some((facet) => search[facet] !== undefined)
  return (
    <>
      {LISTS.map(({ facet, label, word }) => (
        <FacetMenu
          key={facet}
          label={label}
          choices={choicesOf(rows, facet, search).map((choice) => ({ ...choice, label: word(choice.value) }))}
          value={listed(search[facet])}
          onChange={(value) => onChange({ [facet]: value.join(',') || undefined })}
        />
      ))}
      <Bound facet="min_context" label="Context" bounds={CONTEXTS} word={contextWord} {...{ rows, search, onChange }} />
      <Bound facet="max_price" label="Input price" bounds={PRICES} word={priceWord} {...{ rows, search, onChange }} />
      {isFiltered && (
        <Button variant="ghost" icon={X} onClick={() => onChange(NOTHING)}>
          Clear filters
        </Button>
      )}
    </>
  )
}

const NOTHING = Object.fromEntries(['q', ...FACETS].map((name) => [name, undefined]))

interface BoundProps extends FacetsProps {
  readonly facet: 'min_context' | 'max_price'
  readonly label: string
  readonly bounds: readonly number[]
  readonly word: (bound: number) => string
}

function Bound({ facet, label, bounds, word, rows, search, onChange }: BoundProps) {
  const chosen = search[facet]
  const all =
    chosen === undefined || bounds.includes(Number(chosen))
      ? bounds
      : [...bounds, Number(chosen)].toSorted((a, b) => a - b)
  const choices = boundsOf(rows, facet, { search, bounds: all })
  return (
    <FacetMenu
      isSingle
      label={label}
      choices={choices.map((choice) => ({ ...choice, label: word(Number(choice.value)) }))}
      value={chosen === undefined ? [] : [String(Number(chosen))]}
      onChange={([value]) => onChange({ [facet]: value })}
    />
  )
}

function contextWord(tokens: number): string {
  return `${formatCompact(tokens)} tokens or more`
}

function priceWord(usd: number): string {
  return `${formatPrice(usd)} per 1M or less`
}
