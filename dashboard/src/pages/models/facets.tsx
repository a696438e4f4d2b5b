import { Popover } from '@base-ui/react/popover'
import { ChevronDown, X } from 'lucide-react'
import { useId } from 'react'
import { formatCompact, formatCount, formatPrice } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
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

interface FacetChoice {
  readonly value: string
  readonly label: string
  readonly count: number
}

interface FacetMenuProps {
  readonly label: string
  readonly choices: readonly FacetChoice[]
  readonly value: readonly string[]
  readonly onChange: (value: readonly string[]) => void
  /** One of them, or none. */
  readonly isSingle?: boolean
}

/** A button with the selected values, and a menu with the number of models for each. */
function FacetMenu(props: FacetMenuProps) {
  const { label, choices, value } = props
  const chosen = value.map((each) => choices.find((choice) => choice.value === each)?.label ?? each)
  return (
    <Popover.Root>
      <Popover.Trigger
        render={
          <Button className={classNames('max-w-full', value.length > 0 && 'border-accent bg-accent-soft')}>
            <span className="truncate">
              {label}
              {chosen.length > 0 && <span className="text-accent">: {chosen.join(', ')}</span>}
            </span>
            <ChevronDown aria-hidden className="size-4 shrink-0 text-faint" />
          </Button>
        }
      />
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="start" className="z-60">
          <Popover.Popup className="max-h-(--available-height) w-64 max-w-(--available-width) overflow-y-auto rounded-xl border border-line bg-surface p-1.5 shadow-popup">
            <Popover.Title className="px-2 py-1 text-sm font-medium text-soft">{label}</Popover.Title>
            <Choices {...props} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

function Choices({ label, choices, value, onChange, isSingle = false }: FacetMenuProps) {
  const name = useId()
  const toggle = (toggled: string) => {
    const rest = value.filter((each) => each !== toggled)
    onChange(rest.length === value.length ? [...rest, toggled] : rest)
  }
  return (
    <fieldset>
      <legend className="sr-only">{label}</legend>
      {isSingle && (
        <ChoiceRow label="Any">
          <input type="radio" name={name} checked={value.length === 0} onChange={() => onChange([])} className={BOX} />
        </ChoiceRow>
      )}
      {choices.map((choice) => (
        <ChoiceRow key={choice.value} label={choice.label} count={choice.count}>
          <input
            type={isSingle ? 'radio' : 'checkbox'}
            name={isSingle ? name : undefined}
            checked={value.includes(choice.value)}
            onChange={() => (isSingle ? onChange([choice.value]) : toggle(choice.value))}
            className={BOX}
          />
        </ChoiceRow>
      ))}
    </fieldset>
  )
}

const BOX = 'size-4 shrink-0 cursor-pointer accent-accent'

interface ChoiceRowProps {
  readonly label: string
  readonly count?: number
  readonly children: React.ReactNode
}

function ChoiceRow({ label, count, children }: ChoiceRowProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is what is passed in
    <label className="flex min-h-8 cursor-pointer items-center gap-2.5 rounded-lg px-2 py-1 hover:bg-hover">
      {children}
      <span className="min-w-0 flex-1 break-words text-ink">{label}</span>
      {count !== undefined && (
        <span className="text-sm text-soft tabular-nums">
          {formatCount(count)}
          <span className="sr-only"> {count === 1 ? 'model' : 'models'}</span>
        </span>
      )}
    </label>
  )
}
