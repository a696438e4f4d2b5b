import { Calculator, X } from 'lucide-react'
import { plural } from '../../lib/format.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { FULL_ID, FULL_TEXT } from './compare-box.tsx'
import { MOST_COMPARED } from './search.ts'
import { unlistedText } from './words.ts'

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
        {plural(ids.length, 'model')} of {MOST_COMPARED}
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
        <Button variant="primary" icon={Calculator} onClick={onOpen}>
          {ids.length === 1 ? 'Estimate cost' : 'Compare'}
        </Button>
      )}
      {ids.length >= MOST_COMPARED && (
        <p id={FULL_ID} className="w-full text-sm text-soft">
          {FULL_TEXT}
        </p>
      )}
      {unknown.length > 0 && <p className="w-full text-sm wrap-anywhere text-soft">{unlistedText(unknown)}</p>}
    </section>
  )
}
