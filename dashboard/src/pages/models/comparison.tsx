/** Up to four models side by side, with what a day and a month of them would cost. */
import { SquareTerminal } from 'lucide-react'
import { useCan } from '../../api/me.ts'
import { LinkButton } from '../../ui/button.tsx'
import { Sheet } from '../../ui/dialog.tsx'
import { Calculator, type Consumed } from './calculator.tsx'
import type { ModelRow } from './models-table.tsx'
import { SideBySide } from './side-by-side.tsx'
import { unlistedText } from './words.ts'

export interface ComparisonProps {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
  readonly models: readonly ModelRow[]
  /** Names in the address that no model has. */
  readonly unknown: readonly string[]
  readonly onRemove: (id: string) => void
  readonly consumed: Consumed
  readonly onConsumed: (changes: Partial<Consumed>) => void
}

export function Comparison({ open, onOpenChange, models, unknown, onRemove, consumed, onConsumed }: ComparisonProps) {
  const mayChat = useCan('chat')
  const ids = models.map(({ id }) => id).slice(0, 3)
  return (
    <Sheet
      open={open}
      onOpenChange={onOpenChange}
      size="lg"
      title={models.length === 1 ? 'Cost of a model' : 'Compare models'}
      description="Prices are in US dollars per million tokens."
      footer={
        mayChat && ids.length > 0 ? (
          <LinkButton to="/playground" search={{ models: ids.join(',') }} icon={SquareTerminal}>
            Try in Playground
          </LinkButton>
        ) : undefined
      }
    >
      <div className="flex flex-col gap-5">
        {unknown.length > 0 && <p className="wrap-anywhere text-soft">{unlistedText(unknown)}</p>}
        {models.length === 0 ? (
          <p className="text-soft">There is no model to compare. Choose some in the list.</p>
        ) : (
          <>
            <Calculator consumed={consumed} onChange={onConsumed} />
            <SideBySide models={models} consumed={consumed} onRemove={onRemove} />
          </>
        )}
      </div>
    </Sheet>
  )
}
