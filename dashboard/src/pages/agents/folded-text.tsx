import { useState } from 'react'
import { plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { folded } from './tool-call.ts'

export interface FoldedTextProps {
  /** May be seen: it went through `visibleText`. */
  readonly text: string
  readonly keep?: 'start' | 'end'
  readonly className?: string
}

/** Text as it is, line by line; of long ones a part, and the rest on request. */
export function FoldedText({ text, keep = 'start', className }: FoldedTextProps) {
  const [isWhole, setWhole] = useState(false)
  const part = folded(text, keep)
  const isFolded = part !== undefined && !isWhole
  return (
    <>
      {isFolded && keep === 'end' && <p className="pb-1 text-soft">…</p>}
      <p dir="auto" className={classNames('whitespace-pre-wrap wrap-anywhere', className)}>
        {isFolded ? part : text}
      </p>
      {isFolded && keep === 'start' && <p className="text-soft">…</p>}
      {part !== undefined && (
        <Button
          size="sm"
          variant="ghost"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
          className="mt-1 -ml-2.5 font-sans"
        >
          {isWhole ? 'Show less' : `Show all (${plural(text.split('\n').length, 'line')})`}
        </Button>
      )}
    </>
  )
}
