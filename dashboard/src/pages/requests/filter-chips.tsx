import { X } from 'lucide-react'
import { Button } from '../../ui/button.tsx'
import { useRequestsChange } from './address.ts'
import type { Completion } from './queries.ts'
import { FILTERS, type RequestFilters } from './search.ts'
import { FILTER_NAMES, filterText } from './words.ts'

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
