/** The choice of filters. What can be chosen is asked for when it is opened. */
import { Popover } from '@base-ui/react/popover'
import { ListFilter, X } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import type { Period } from '../../lib/period.ts'
import { Button } from '../../ui/button.tsx'
import { Combobox } from '../../ui/form/combobox.tsx'
import { TextField } from '../../ui/form/field.tsx'
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
  const [open, setOpen] = useState(false)
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger render={<Button icon={ListFilter}>Filter</Button>} />
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="start" className="z-50">
          <Popover.Popup className="max-h-(--available-height) w-80 max-w-(--available-width) overflow-y-auto rounded-xl border border-line bg-surface p-4 shadow-popup">
            <Popover.Title className="font-medium text-ink">Filter requests</Popover.Title>
            <Popover.Description className="mb-3 text-sm text-soft">
              Counts cover this period; status counts also apply the other filters.
            </Popover.Description>
            <Filters {...props} onDone={() => setOpen(false)} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
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

interface FilterChipsProps {
  readonly filters: RequestFilters
  /** Who asked is called in them what it is called in the list. */
  readonly rows: readonly Completion[]
}

/** What narrows the list, one chip each; a press takes it away. */
export function FilterChips({ filters, rows }: FilterChipsProps) {
  const change = useRequestsChange()
  const given = FILTERS.filter((name) => filters[name] !== undefined)
  if (given.length === 0) return null
  return (
    <ul aria-label="Filters" className="flex min-w-0 flex-wrap items-center gap-2">
      {given.map((name) => {
        const text = filterText(name, filters, rows)
        return (
          <li key={name} className="max-w-full">
            <button
              type="button"
              onClick={() => change({ [name]: undefined })}
              className="inline-flex h-8 max-w-full items-center gap-1.5 rounded-full border border-line bg-accent-soft pr-2 pl-3 text-sm text-ink hover:border-strong"
            >
              <span className="sr-only">Remove filter</span>
              <span className="text-soft">{FILTER_NAMES[name]}</span>
              <span className="truncate font-medium">{text}</span>
              <X aria-hidden className="size-3.5 shrink-0 text-soft" />
            </button>
          </li>
        )
      })}
      {given.length > 1 && (
        <li>
          <Button variant="ghost" size="sm" onClick={() => change(NO_FILTERS)}>
            Clear all
          </Button>
        </li>
      )}
    </ul>
  )
}
