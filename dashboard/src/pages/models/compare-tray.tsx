import { Calculator, X } from 'lucide-react'
import { plural } from '../../lib/format.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { MOST_COMPARED } from './search.ts'

export interface CompareTrayProps {
  readonly ids: readonly string[]
  readonly onRemove: (id: string) => void
  readonly onClear: () => void
  readonly onOpen: () => void
}

/** What is chosen for the comparison, always in sight at the bottom. */
export function CompareTray({ ids, onRemove, onClear, onOpen }: CompareTrayProps) {
  if (ids.length === 0) return null
  return (
    <section
      aria-label="Models to compare"
      className="sticky bottom-2 z-20 -mt-4 flex flex-wrap items-center gap-2 rounded-xl border border-line bg-surface p-2 pl-4 shadow-popup"
    >
      <span className="text-sm text-soft tabular-nums max-sm:sr-only">
        {plural(ids.length, 'model')} of {MOST_COMPARED}
      </span>
      <ul className="flex min-w-0 flex-1 flex-wrap gap-1.5">
        {ids.map((id) => (
          <li key={id} className="flex max-w-full min-w-0 items-center rounded-lg border border-line bg-sunken pl-2.5">
            <span className="truncate font-mono text-sm text-ink">{id}</span>
            <IconButton label={`Remove ${id}`} icon={X} size="sm" onClick={() => onRemove(id)} />
          </li>
        ))}
      </ul>
      <Button variant="ghost" onClick={onClear}>
        Clear
      </Button>
      <Button variant="primary" icon={Calculator} onClick={onOpen}>
        {ids.length === 1 ? 'Estimate cost' : 'Compare'}
      </Button>
    </section>
  )
}
