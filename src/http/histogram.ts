/**
 * Distributions as Prometheus has them. Three times are noted with every request, and the library's own histograms
 * look their series up anew for each, by a text made of its labels.
 */

export interface Histogram {
  /**
   * A series of values, shown once it has one; the one without labels is shown always.
   * @param labels As they are written, without braces: `stream="true"`; '' for none.
   * @returns adds a value to it.
   */
  series(labels: string): (value: number) => void
  /** Prometheus text. */
  render(): string
}

export interface HistogramInput {
  readonly name: string
  readonly help: string
  /** Upper bounds, rising. */
  readonly bounds: readonly number[]
}

interface Series {
  readonly labels: string
  /** Values by the first bound that they do not exceed; the last counts what exceeds all. */
  readonly counts: number[]
  total: number
  sum: number
}

export function createHistogram({ name, help, bounds }: HistogramInput): Histogram {
  const all: Series[] = []
  return {
    series(labels) {
      const series = { labels, counts: new Array<number>(bounds.length + 1).fill(0), total: 0, sum: 0 }
      all.push(series)
      return (value) => addValue(series, bounds, value)
    },
    render() {
      const shown = all.filter(({ labels, total }) => labels === '' || total > 0)
      const lines = shown.flatMap((series) => renderSeries(name, bounds, series))
      return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines].join('\n')
    },
  }
}

function addValue(series: Series, bounds: readonly number[], value: number): void {
  let at = 0
  while (at < bounds.length && value > (bounds[at] ?? 0)) at++
  series.counts[at] = (series.counts[at] ?? 0) + 1
  series.total += 1
  series.sum += value
}

function renderSeries(name: string, bounds: readonly number[], { labels, counts, total, sum }: Series): string[] {
  const more = labels === '' ? '' : `,${labels}`
  const own = labels === '' ? '' : `{${labels}}`
  let upTo = 0
  const buckets = bounds.map((bound, at) => {
    upTo += counts[at] ?? 0
    return `${name}_bucket{le="${bound}"${more}} ${upTo}`
  })
  return [
    ...buckets,
    `${name}_bucket{le="+Inf"${more}} ${total}`,
    `${name}_sum${own} ${sum}`,
    `${name}_count${own} ${total}`,
  ]
}
