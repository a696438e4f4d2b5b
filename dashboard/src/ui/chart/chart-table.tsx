import { type ChartPoint, type ChartSeries, totalOf, valueAt } from './series.ts'

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
