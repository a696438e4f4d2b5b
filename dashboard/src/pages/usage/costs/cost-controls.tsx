/** What costs are told by, in which measure, and of what alone. */
import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { useAccountNames } from '../../../api/names.ts'
import { groupLabel } from '../../../lib/group-names.ts'
import { METRIC_NAMES, METRICS } from '../../../lib/measures.ts'
import type { Period } from '../../../lib/period.ts'
import { Button } from '../../../ui/button.tsx'
import { Combobox, type ComboboxOption } from '../../../ui/form/combobox.tsx'
import { TextField } from '../../../ui/form/field.tsx'
import { Segmented } from '../../../ui/form/segmented.tsx'
import { SelectField } from '../../../ui/form/select-field.tsx'
import { FilterChips, FilterPopover } from '../../../ui/table/filters.tsx'
import { useUsageChange, useUsageSearch } from '../address.ts'
import { optionsQuery } from '../queries.ts'
import { COST_FILTERS, type CostFilter, type CostFilters } from '../search.ts'
import { Labelled } from '../usage-controls.tsx'
import {
  type Dimension,
  dimensionName,
  FILTER_NAMES,
  isTag,
  KINDS,
  MAX_DIMENSIONS,
  type NameOf,
  PLAIN_DIMENSIONS,
} from './dimensions.ts'

interface CostControlsProps {
  readonly dimensions: readonly Dimension[]
  readonly filters: CostFilters
  readonly period: Period
  readonly nameOf: NameOf
}

export function CostControls(props: CostControlsProps) {
  const change = useUsageChange()
  const { metric = 'spend' } = useUsageSearch()
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Labelled text="Group by">
          <DimensionChoices dimensions={props.dimensions} />
        </Labelled>
        <Segmented
          label="Measure of the chart"
          value={metric}
          onChange={(next) => change({ metric: next === 'spend' ? undefined : next })}
          options={METRICS.map((value) => ({ value, label: METRIC_NAMES[value] }))}
        />
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <CostFilterMenu filters={props.filters} period={props.period} />
        <CostFilterChips filters={props.filters} nameOf={props.nameOf} />
      </div>
    </div>
  )
}

const TAG = 'tag'
const NONE = 'none'
const ORDINALS = ['First', 'Second', 'Third'] as const

/** One select for each, and one more while there are fewer than three. */
function DimensionChoices({ dimensions }: Pick<CostControlsProps, 'dimensions'>) {
  const change = useUsageChange()
  const set = (at: number, next: Dimension | undefined) => {
    const list = [...dimensions]
    list.splice(at, 1, ...(next === undefined ? [] : [next]))
    change({ dims: list.length === 0 ? undefined : list.join(',') })
  }
  const places = ORDINALS.slice(0, Math.min(MAX_DIMENSIONS, dimensions.length + 1))
  return (
    <span className="flex flex-wrap items-center gap-2">
      {places.map((ordinal, at) => (
        <DimensionChoice
          key={`${ordinal} ${dimensions[at] ?? ''}`}
          label={`${ordinal} group`}
          value={dimensions[at]}
          taken={dimensions}
          canRemove={dimensions.length > 1}
          onChange={(next) => set(at, next)}
        />
      ))}
    </span>
  )
}

interface DimensionChoiceProps {
  readonly label: string
  readonly value: Dimension | undefined
  readonly taken: readonly Dimension[]
  readonly canRemove: boolean
  readonly onChange: (value: Dimension | undefined) => void
}

function DimensionChoice({ label, value, taken, canRemove, onChange }: DimensionChoiceProps) {
  const [isNaming, setNaming] = useState(false)
  if (isNaming) return <TagKey label={label} onDone={onChange} onCancel={() => setNaming(false)} />
  const free = PLAIN_DIMENSIONS.filter((name) => name === value || !taken.includes(name))
  const options = [
    ...(value === undefined || canRemove ? [{ value: NONE, label: value === undefined ? 'Add a group' : 'None' }] : []),
    ...(value !== undefined && isTag(value) ? [{ value, label: dimensionName(value) }] : []),
    { value: TAG, label: 'Tag…' },
    ...free.map((name) => ({ value: name, label: dimensionName(name) })),
  ]
  return (
    <SelectField
      label={label}
      hideLabel
      className="w-44"
      value={value ?? NONE}
      onChange={(next) => {
        if (next === TAG) setNaming(true)
        else if (next !== value) onChange(next === NONE ? undefined : (next as Dimension))
      }}
      options={options}
    />
  )
}

interface TagKeyProps {
  readonly label: string
  readonly onDone: (dimension: Dimension) => void
  readonly onCancel: () => void
}

function TagKey({ label, onDone, onCancel }: TagKeyProps) {
  const [key, setKey] = useState('')
  const dimension = `tag:${key.trim()}`
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isTag(dimension)) onDone(dimension)
  }
  const isWrong = key.trim() !== '' && !isTag(dimension)
  return (
    <form onSubmit={submit} className="flex items-start gap-1">
      <TextField
        label={`${label}: key of a tag`}
        hideLabel
        placeholder="customer"
        className="w-44"
        value={key}
        onChange={setKey}
        error={isWrong ? 'Lower-case letters, digits and _ . : -' : undefined}
        autoComplete="off"
        spellCheck={false}
        autoFocus
        mono
      />
      <Button type="submit" unavailable={isTag(dimension) ? undefined : 'Enter the key of a tag.'}>
        Group
      </Button>
      <Button variant="ghost" icon={X} aria-label="Cancel" onClick={onCancel} className="px-2" />
    </form>
  )
}

type FilterMenuProps = Pick<CostControlsProps, 'filters' | 'period'>

function CostFilterMenu(props: FilterMenuProps) {
  return (
    <FilterPopover title="Filter costs" width="w-[36rem]">
      {(close) => <FilterForm {...props} onDone={close} />}
    </FilterPopover>
  )
}

type Draft = Readonly<Record<CostFilter, string>>
const EMPTY = Object.fromEntries(COST_FILTERS.map((name) => [name, ''])) as Draft

function FilterForm({ filters, period, onDone }: FilterMenuProps & { readonly onDone: () => void }) {
  const change = useUsageChange()
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, ...filters })
  const options = useFilterOptions(period)
  const apply = (event: FormEvent) => {
    event.preventDefault()
    const entries = COST_FILTERS.map((name) => [name, draft[name].trim() === '' ? undefined : draft[name].trim()])
    onDone()
    change(Object.fromEntries(entries))
  }
  return (
    <form onSubmit={apply} className="flex flex-col gap-4">
      <div className="grid gap-3 sm:grid-cols-2">
        {COST_FILTERS.map((name) => (
          <FilterField
            key={name}
            name={name}
            options={options[name]}
            value={draft[name]}
            onChange={(value) => setDraft({ ...draft, [name]: value })}
          />
        ))}
      </div>
      <Button type="submit" variant="primary">
        Apply
      </Button>
    </form>
  )
}

interface FilterFieldProps {
  readonly name: CostFilter
  /** Undefined: it is typed. */
  readonly options: readonly ComboboxOption[] | undefined
  readonly value: string
  readonly onChange: (value: string) => void
}

const PLACEHOLDERS: { readonly [Name in CostFilter]?: string } = { tag: 'customer=northwind' }

function FilterField({ name, options, value, onChange }: FilterFieldProps) {
  const label = FILTER_NAMES[name]
  const common = { label, value, onChange, placeholder: PLACEHOLDERS[name] ?? 'Any' }
  if (options !== undefined) return <Combobox {...common} options={options} />
  return <TextField {...common} autoComplete="off" spellCheck={false} mono />
}

function useFilterOptions(period: Period): { readonly [Name in CostFilter]?: readonly ComboboxOption[] } {
  const { teams, members } = useAccountNames()
  const report = useQuery(optionsQuery(period)).data?.report
  const named = ({ id, name }: { readonly id: string; readonly name: string }) => ({ value: id, label: name })
  return {
    team_id: teams.map(named),
    member_id: members.map(named),
    key_id: report?.groups?.map((each) => ({ value: each.key, label: groupLabel('key', each) })) ?? [],
    model: report?.breakdown_by_model.map(({ model }) => ({ value: model, label: model })) ?? [],
    kind: KINDS.map((value) => ({ value, label: value })),
  }
}

function CostFilterChips({ filters, nameOf }: Pick<CostControlsProps, 'filters' | 'nameOf'>) {
  const change = useUsageChange()
  const chips = COST_FILTERS.flatMap((name) => {
    const value = filters[name]
    return value === undefined ? [] : [{ name, label: FILTER_NAMES[name], value: chipText(name, value, nameOf) }]
  })
  return (
    <FilterChips
      chips={chips}
      onRemove={(name) => change({ [name]: undefined })}
      onClear={() => change(NO_COST_FILTERS)}
    />
  )
}

const NO_COST_FILTERS = Object.fromEntries(COST_FILTERS.map((name) => [name, undefined]))

const NAMED: readonly CostFilter[] = ['team_id', 'member_id', 'key_id']

function chipText(name: CostFilter, value: string, nameOf: NameOf): string {
  return NAMED.includes(name) ? nameOf(value) : value
}
