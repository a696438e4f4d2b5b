import { Trash2 } from 'lucide-react'
import { toast } from '../../ui/announcer.tsx'
import { Button } from '../../ui/button.tsx'
import { Time } from '../../ui/values.tsx'
import type { HistoryEntry } from './history.ts'
import type { RunHistory } from './use-history.ts'

export interface HistorySheetProps {
  readonly history: RunHistory
  readonly onUse: (entry: HistoryEntry) => void
}

export function HistorySheet({ history, onUse }: HistorySheetProps) {
  const { entries } = history
  if (entries.length === 0) return <p className="text-soft">No runs yet. What you run is listed here.</p>
  return (
    <div className="flex flex-col gap-4">
      <ul className="flex flex-col divide-y divide-line rounded-xl border border-line">
        {entries.map((entry) => (
          <li key={entry.at} className="flex items-start gap-3 p-3">
            <div className="min-w-0 flex-1">
              <p className="line-clamp-2 break-words text-ink">{entry.messages.at(-1)?.text || 'An image'}</p>
              <p className="mt-0.5 text-sm break-words text-soft">
                <Time iso={entry.at} relative /> · {entry.models.join(', ')}
              </p>
            </div>
            <Button
              size="sm"
              onClick={() => onUse(entry)}
              aria-label={`Use again: ${entry.messages.at(-1)?.text ?? ''}`}
            >
              Use again
            </Button>
          </li>
        ))}
      </ul>
      <Button
        icon={Trash2}
        className="self-start"
        onClick={() => toast('The history is cleared.', { undo: history.clear() })}
      >
        Clear history
      </Button>
    </div>
  )
}
