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
import { FILTERS, filtersOf, PROBLEMS, type RequestFilters, readRequestsSearch } from './search.ts'
import { FILTER_NAMES, filterText, OUTCOMES } from './words.ts'

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
      width="w-80 sm:w-[36rem]"
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
    ['outcome', PROBLEM_OPTIONS],
  ] as const
  const apply = (event: FormEvent) => {
    event.preventDefault()
    onDone()
    change({ ...NO_FILTERS, ...filtersOf(readRequestsSearch({ ...draft })) })
  }
  return (
    <form onSubmit={apply} className="grid gap-3 sm:grid-cols-2">
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
      <div className="grid grid-cols-2 gap-3 sm:col-span-2">
        {RANGES.map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            value={draft[name]}
            onChange={set(name)}
            inputMode="decimal"
            autoComplete="off"
            mono
          />
        ))}
      </div>
      <Button type="submit" variant="primary" className="sm:col-span-2">
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
  ['request_id', 'Request ID', 'req_…'],
] as const

const RANGES = [
  ['min_duration_ms', 'Duration from (ms)'],
  ['max_duration_ms', 'Duration to (ms)'],
  ['min_cost_usd', 'Cost from ($)'],
  ['max_cost_usd', 'Cost to ($)'],
] as const

const PROBLEM_OPTIONS = PROBLEMS.map((value) => ({ value, label: OUTCOMES[value].word }))

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
