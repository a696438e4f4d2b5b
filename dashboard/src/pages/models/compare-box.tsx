import { Tooltip } from '../../ui/tooltip.tsx'
import { MOST_COMPARED } from './search.ts'

/** Of the element that says why no more can be chosen; it is there when so many are. */
export const FULL_ID = 'compare-full'
export const FULL_TEXT = `Up to ${MOST_COMPARED} models can be compared. Remove one to choose another.`

export interface CompareBoxProps {
  readonly id: string
  readonly compared: readonly string[]
  readonly onToggle: (id: string) => void
}

/** Chooses a model for the comparison. When it cannot, it still takes the focus, so that it can say why. */
export function CompareBox({ id, compared, onToggle }: CompareBoxProps) {
  const isChosen = compared.includes(id)
  const isFull = !isChosen && compared.length >= MOST_COMPARED
  const box = (
    <input
      type="checkbox"
      aria-label={`Compare ${id}`}
      aria-disabled={isFull || undefined}
      aria-describedby={isFull ? FULL_ID : undefined}
      checked={isChosen}
      onChange={isFull ? ignore : () => onToggle(id)}
      className="m-1 size-4 shrink-0 cursor-pointer align-middle accent-accent aria-disabled:cursor-not-allowed aria-disabled:opacity-50"
    />
  )
  return isFull ? <Tooltip label={FULL_TEXT}>{box}</Tooltip> : box
}

function ignore(): void {}
