import { ChartColumn, Table2 } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import { Button } from '../button.tsx'
import { classNames } from '../class-names.ts'
import { CardTitle, Change } from '../page.tsx'

export interface ChartFrameProps {
  readonly title: string
  /** The one number that the chart breaks down. */
  readonly total?: ReactNode | undefined
  /** Against the period before: a ratio (0.12 is 12 % more), or what to say instead. */
  readonly change?: ReactNode | undefined
  /** Beside the button for the table: a link to what is behind the numbers. */
  readonly actions?: ReactNode | undefined
  readonly children: ReactNode
  /** The same numbers as a table; a `ChartTable` will do. */
  readonly table: ReactNode
  readonly className?: string | undefined
}

/** A card with a chart and, in its place when asked for, the same as a table. */
export function ChartFrame({ title, total, change, actions, children, table, className }: ChartFrameProps) {
  const id = useId()
  const [isTable, setIsTable] = useState(false)
  return (
    <figure
      aria-labelledby={id}
      className={classNames('m-0 min-w-0 rounded-xl border border-line bg-surface p-4', className)}
    >
      <div className="mb-3 flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          <CardTitle id={id}>{title}</CardTitle>
          <div className="mt-0.5 flex flex-wrap items-baseline gap-x-2">
            {total !== undefined && (
              <span className="text-xl font-semibold tracking-tight text-ink tabular-nums">{total}</span>
            )}
            {change !== undefined && change !== null && <Change change={change} />}
          </div>
        </div>
        <div className="flex items-center gap-1">
          {actions}
          <Button
            variant="ghost"
            size="sm"
            icon={isTable ? ChartColumn : Table2}
            aria-label={isTable ? `Show chart: ${title}` : `Show table: ${title}`}
            onClick={() => setIsTable(!isTable)}
          >
            {isTable ? 'Show chart' : 'Show table'}
          </Button>
        </div>
      </div>
      {isTable ? table : children}
    </figure>
  )
}
