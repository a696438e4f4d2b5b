import { X } from 'lucide-react'
import { Button } from '../../ui/button.tsx'
import { useRequestsChange } from './address.ts'
import type { Completion } from './queries.ts'
import type { RequestFilters } from './search.ts'
import { askerName, FILTER_NAMES, STATUS_NAMES } from './words.ts'

const NAMES = ['status', 'model', 'key_id', 'provider', 'agent_id'] as const
export const NO_FILTERS = {
  status: undefined,
  model: undefined,
  key_id: undefined,
  provider: undefined,
  agent_id: undefined,
}

interface FilterChipsProps {
  readonly filters: RequestFilters
  /** Who asked is called in them what it is called in the list. */
  readonly rows: readonly Completion[]
}

/** What narrows the list, one chip each; a press takes it away. */
export function FilterChips({ filters, rows }: FilterChipsProps) {
  const change = useRequestsChange()
  const given = NAMES.filter((name) => filters[name] !== undefined)
  if (given.length === 0) return null
  return (
    <ul aria-label="Filters" className="flex min-w-0 flex-wrap items-center gap-2">
      {given.map((name) => {
        const text = valueText(name, filters, rows)
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

function valueText(name: keyof RequestFilters, filters: RequestFilters, rows: readonly Completion[]): string {
  const value = filters[name] ?? ''
  if (name === 'status') return filters.status === undefined ? '' : STATUS_NAMES[filters.status]
  if (name !== 'key_id') return value
  return askerName(rows.find((row) => row.key_id === value) ?? { key_id: value, key_name: null })
}
