import { ChartColumn, Table2 } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import { Button } from '../button.tsx'
import { classNames } from '../class-names.ts'
import { CardTitle, Change } from '../page.tsx'
import { type ChartPoint, type ChartSeries, totalOf, valueAt } from './series.ts'

export interface ChartFrameProps {
  readonly title: string
  /** The one number that the chart breaks down. */
  readonly total?: ReactNode | undefined
  /** Change from the previous period: a ratio (0.12 is 12 % more), or what to say instead. */
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

export interface ChartTableProps {
  readonly label: string
  readonly series: readonly ChartSeries[]
  readonly points: readonly ChartPoint[]
  readonly format: (value: number) => string
  /** Over the first column. */
  readonly pointHeader?: string | undefined
  /** Whether sums mean something: not for latencies. */
  readonly hasTotals?: boolean | undefined
}

const HEAD = 'px-3 py-2 font-medium whitespace-nowrap text-soft'
const CELL = 'px-3 py-1.5 whitespace-nowrap tabular-nums'

/** The twin of a chart: every value of every series, without an "Other". */
export function ChartTable({ label, series, points, format, pointHeader = 'Time', hasTotals = true }: ChartTableProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <section> would be a landmark for every chart on the page
    <div
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it, what is beyond the edge is out of the keyboard's reach
      tabIndex={0}
      className="relative max-h-80 overflow-auto rounded-lg border border-line"
    >
      <table className="w-full border-collapse text-sm">
        <caption className="sr-only">{label}</caption>
        <thead className="sticky top-0 bg-sunken">
          <tr>
            <th scope="col" className={`${HEAD} text-left`}>
              {pointHeader}
            </th>
            {series.map(({ key, label: name }) => (
              <th key={key} scope="col" className={`${HEAD} text-right`}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.map((point) => (
            <tr key={point.at} className="border-t border-line">
              <th scope="row" className={`${CELL} text-left font-normal text-soft`}>
                {point.label}
              </th>
              {series.map(({ key }) => (
                <td key={key} className={`${CELL} text-right`}>
                  <Value value={valueAt(point, key)} format={format} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        {hasTotals && <Totals {...{ series, points, format }} />}
      </table>
    </div>
  )
}

function Totals({ series, points, format }: Pick<ChartTableProps, 'series' | 'points' | 'format'>) {
  return (
    <tfoot className="sticky bottom-0 bg-sunken">
      <tr>
        <th scope="row" className={`${CELL} text-left font-medium`}>
          Total
        </th>
        {series.map(({ key }) => (
          <td key={key} className={`${CELL} text-right font-medium`}>
            {format(totalOf(points, key))}
          </td>
        ))}
      </tr>
    </tfoot>
  )
}

function Value({ value, format }: { readonly value: number | undefined; readonly format: (value: number) => string }) {
  return value === undefined ? <span className="text-faint">—</span> : format(value)
}
