/** Histograms of the hot path, with exemplars. The library's own look up their series by a text of its labels for every value. */
import type { TraceContext } from '../lib/trace-context.ts'

interface HistogramInput {
  readonly name: string
  /** Of OpenTelemetry; default: `name`. */
  readonly otelName?: string
  /** Of OpenTelemetry. */
  readonly unit?: string
  readonly help: string
  /** Upper bounds, ascending. */
  readonly bounds: readonly number[]
}

/** An exemplar is replaced after so long: requests bring more than anybody reads. */
const EXEMPLAR_EVERY_SECONDS = 1

export type Labels = Readonly<Record<string, string>>

export interface Exemplar {
  readonly traceId: string
  readonly spanId: string
  readonly value: number
  /** Unix seconds. */
  readonly at: number
}

interface Series {
  readonly labels: Labels
  /** Values by the first bound that they do not exceed; the last counts the rest. */
  readonly counts: number[]
  /** A recent sampled request of each bucket. */
  readonly exemplars: (Exemplar | undefined)[]
  total: number
  sum: number
}

/** Adds a value. @param trace Of the request that it is of. */
export type AddValue = (value: number, trace?: TraceContext) => void

export interface HistogramReading {
  readonly name: string
  readonly unit: string
  readonly help: string
  readonly bounds: readonly number[]
  readonly series: readonly {
    readonly labels: Labels
    readonly counts: readonly number[]
    /** Of each bucket that has one. */
    readonly exemplars: readonly (Exemplar | undefined)[]
    readonly total: number
    readonly sum: number
  }[]
}

export interface RenderedHistogram {
  /** @param isOpen As OpenMetrics, with exemplars. */
  render(isOpen?: boolean): string
  read(): HistogramReading
}

export interface Histogram extends RenderedHistogram {
  /** Creates a series, exported once it has a value; without labels always. */
  series(labels: Labels): AddValue
}

export function createHistogram({ name, otelName = name, unit = 's', help, bounds }: HistogramInput): Histogram {
  const all: Series[] = []
  const shown = (): Series[] => all.filter(({ labels, total }) => total > 0 || Object.keys(labels).length === 0)
  return {
    series(labels) {
      const counts = new Array<number>(bounds.length + 1).fill(0)
      const series: Series = { labels, counts, exemplars: counts.map(() => undefined), total: 0, sum: 0 }
      all.push(series)
      return (value, trace) => addValue(series, { bounds, value, trace })
    },
    render(isOpen = false) {
      const lines = shown().flatMap((series) => renderSeries(series, { name, bounds, isOpen }))
      return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines].join('\n')
    },
    read: () => ({ name: otelName, unit, help, bounds, series: shown() }),
  }
}

interface Added {
  readonly bounds: readonly number[]
  readonly value: number
  readonly trace: TraceContext | undefined
}

function addValue(series: Series, { bounds, value, trace }: Added): void {
  let at = 0
  while (at < bounds.length && value > (bounds[at] ?? 0)) at++
  series.counts[at] = (series.counts[at] ?? 0) + 1
  series.total += 1
  series.sum += value
  if (trace?.sampled !== true) return
  const { traceId, spanId } = trace
  const seconds = Date.now() / 1000
  if (seconds - (series.exemplars[at]?.at ?? 0) >= EXEMPLAR_EVERY_SECONDS) {
    series.exemplars[at] = { traceId, spanId, value, at: seconds }
  }
}

interface Rendering {
  readonly name: string
  readonly bounds: readonly number[]
  readonly isOpen: boolean
}

function renderSeries(
  { labels, counts, exemplars, total, sum }: Series,
  { name, bounds, isOpen }: Rendering,
): string[] {
  const text = Object.entries(labels)
    .map(([label, value]) => `${label}="${escaped(value)}"`)
    .join(',')
  const more = text === '' ? '' : `,${text}`
  const own = text === '' ? '' : `{${text}}`
  const exemplar = (at: number): string => (isOpen ? renderExemplar(exemplars[at]) : '')
  let upTo = 0
  const buckets = bounds.map((bound, at) => {
    upTo += counts[at] ?? 0
    return `${name}_bucket{le="${bound}"${more}} ${upTo}${exemplar(at)}`
  })
  return [
    ...buckets,
    `${name}_bucket{le="+Inf"${more}} ${total}${exemplar(bounds.length)}`,
    `${name}_sum${own} ${sum}`,
    `${name}_count${own} ${total}`,
  ]
}

function renderExemplar(exemplar: Exemplar | undefined): string {
  if (exemplar === undefined) return ''
  const { traceId, spanId, value, at } = exemplar
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${value} ${at.toFixed(3)}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
