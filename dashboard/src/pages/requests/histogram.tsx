import { memo } from 'react'
import { plural } from '../../lib/format.ts'
import { formatAmount, formatTick } from '../../lib/measures.ts'
import { announce } from '../../ui/announcer.tsx'
import { ChartFrame, type ChartPoint, ChartTable, StackedBars } from '../../ui/chart/index.ts'
import { useNow, useTimeZone } from '../../ui/time-zone.ts'
import { useRequestsChange } from './address.ts'
import { bucketPeriod, bucketText, countOf, HISTOGRAM_SERIES, histogramPoints } from './histogram-data.ts'
import type { Overview } from './queries.ts'

const LABEL = 'Requests over time'
const format = (count: number) => formatAmount('requests', count)

/** A bar that is clicked, or chosen with Enter, becomes the period; so do several that are dragged over. */
export const Histogram = memo(({ overview }: { readonly overview: Overview }) => {
  const zone = useTimeZone()
  const change = useRequestsChange()
  const points = histogramPoints(overview, { zone, now: useNow() })
  const count = countOf(overview)
  const zoom = (first: ChartPoint, last = first) => {
    announce(`Requests from ${first.label}`)
    change({ ...bucketPeriod(overview, first.at, last.at), live: undefined })
  }
  const unit = overview.interval === 'day' ? 'Day (UTC)' : 'Time'
  return (
    <section>
      <h2 className="sr-only">Overview</h2>
      <ChartFrame
        title={LABEL}
        total={plural(count, 'request')}
        change={bucketText(overview)}
        table={
          <ChartTable label={LABEL} series={HISTOGRAM_SERIES} points={points} format={format} pointHeader={unit} />
        }
      >
        <StackedBars
          label={LABEL}
          summary={`${plural(count, 'request')}, ${bucketText(overview)}.`}
          series={HISTOGRAM_SERIES}
          points={points}
          format={format}
          formatTick={(value) => formatTick('requests', value)}
          height={180}
          onSelect={overview.interval === 'minute' ? undefined : (point) => zoom(point)}
          onZoom={zoom}
        />
      </ChartFrame>
    </section>
  )
})
