/** The choice of filters. What can be chosen is asked for when it is opened. */
import { type FormEvent, useState } from 'react'
import type { Period } from '../../lib/period.ts'
import { Button } from '../../ui/button.tsx'
import { Combobox } from '../../ui/form/combobox.tsx'
import { TextField } from '../../ui/form/field.tsx'
import { FilterChips, FilterPopover } from '../../ui/table/filters.tsx'
import { useRequestsChange } from './address.ts'
import { shownOption, useFilterOptions } from './filter-options.ts'
import type { Completion } from './queries.ts'
import { FILTERS, filtersOf, type RequestFilters, readRequestsSearch } from './search.ts'
import { FILTER_NAMES, filterText } from './words.ts'

interface FilterMenuProps {
  readonly filters: RequestFilters
  readonly period: Period
  readonly rows: readonly Completion[]
}

export function FilterMenu(props: FilterMenuProps) {
  return (
    <FilterPopover
      title="Filter requests"
      description="Counts cover this period; status counts also apply the other filters."
      width="w-80"
    >
      {(close) => <Filters {...props} onDone={close} />}
    </FilterPopover>
  )
}

type Draft = Readonly<Record<keyof RequestFilters, string>>

function Filters({ filters, period, rows, onDone }: FilterMenuProps & { readonly onDone: () => void }) {
  const change = useRequestsChange()
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, ...filters })
  const set = (name: keyof Draft) => (value: string) => setDraft({ ...draft, [name]: value })
  const { statuses, models, keys, providers } = useFilterOptions({ filters, period, rows })
  const choices = [
    ['status', statuses],
    ['model', models],
    ['key_id', keys],
    ['provider', providers],
  ] as const
  const apply = (event: FormEvent) => {
    event.preventDefault()
    onDone()
    change({ ...NO_FILTERS, ...filtersOf(readRequestsSearch({ ...draft })) })
  }
  return (
    <form onSubmit={apply} className="flex flex-col gap-3">
      {choices.map(([name, options]) => (
        <Combobox
          key={name}
          label={FILTER_NAMES[name]}
          placeholder="Any"
          value={draft[name]}
          onChange={set(name)}
          options={options.map(shownOption)}
        />
      ))}
      {TYPED.map(([name, label, placeholder]) => (
        <TextField
          key={name}
          label={label}
          value={draft[name]}
          onChange={set(name)}
          placeholder={placeholder}
          autoComplete="off"
          spellCheck={false}
          mono
        />
      ))}
      <Button type="submit" variant="primary">
        Apply
      </Button>
    </form>
  )
}

const TYPED = [
  ['agent_id', 'Agent ID', 'agt_…'],
  ['tag', 'Tag', 'customer=northwind'],
  ['session_id', 'Session', ''],
  ['client_request_id', 'Client’s request ID', ''],
] as const

const EMPTY = Object.fromEntries(FILTERS.map((name) => [name, ''])) as Draft

export const NO_FILTERS = Object.fromEntries(FILTERS.map((name) => [name, undefined]))

interface RequestFilterChipsProps {
  readonly filters: RequestFilters
  /** The rows of the list have the names of keys, devices and people. */
  readonly rows: readonly Completion[]
}

export function RequestFilterChips({ filters, rows }: RequestFilterChipsProps) {
  const change = useRequestsChange()
  const chips = FILTERS.filter((name) => filters[name] !== undefined).map((name) => ({
    name,
    label: FILTER_NAMES[name],
    value: filterText(name, filters, rows),
  }))
  return (
    <FilterChips chips={chips} onRemove={(name) => change({ [name]: undefined })} onClear={() => change(NO_FILTERS)} />
  )
}
