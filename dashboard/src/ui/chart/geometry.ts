/** Places in the plot, in CSS pixels from its upper left corner, and the paths of what is drawn there. */
import { type ChartData, type ChartPoint, type Domain, stackOf, valueAt } from './series.ts'

/** An even share of the width for each point. */
export interface Bands {
  readonly count: number
  readonly width: number
}

type Height = (value: number) => number

export function bandCenter({ count, width }: Bands, index: number): number {
  return ((index + 0.5) * width) / Math.max(1, count)
}

/** The point under a place; the nearest one for places beside the plot. Undefined when there is none. */
export function indexAt({ count, width }: Bands, x: number): number | undefined {
  if (count === 0 || width <= 0) return undefined
  return Math.min(count - 1, Math.max(0, Math.floor((x / width) * count)))
}

/** Shares narrower than this, in CSS pixels, have no room for gaps: gaps would flicker. */
const GAPS_FROM = 4

/** Between bars is a quarter of their share, 12 px at most; a bar is never thinner than half a pixel nor wider than 48. */
export function barWidth({ count, width }: Bands): number {
  const share = width / Math.max(1, count)
  return Math.min(48, Math.max(0.5, share < GAPS_FROM ? share : share - Math.min(12, share / 4)))
}

/** One path for all bars of a series: a chart of a month by hours has few elements. */
export function barsPath({ series, points }: ChartData, seriesIndex: number, bands: Bands, height: Height): string {
  const wide = barWidth(bands)
  return points
    .map((point, index) => {
      const part = stackOf(point, series)[seriesIndex]
      if (part === undefined || part.from === part.to) return ''
      const left = bandCenter(bands, index) - wide / 2
      return `M${px(left)} ${px(height(part.from))}V${px(height(part.to))}h${px(wide)}V${px(height(part.from))}z`
    })
    .join('')
}

/** Straight from value to value, broken where there is none. A value alone between two gaps is a dot (with round caps). */
export function linePath(points: readonly ChartPoint[], key: string, bands: Bands, height: Height): string {
  let isDrawing = false
  return points
    .map((point, index) => {
      const value = valueAt(point, key)
      const wasDrawing = isDrawing
      isDrawing = value !== undefined
      if (value === undefined) return ''
      const place = `${px(bandCenter(bands, index))} ${px(height(value))}`
      return wasDrawing ? `L${place}` : `M${place}h0`
    })
    .join('')
}

/** Rounded to a hundredth of a pixel. */
function px(value: number): string {
  return String(Math.round(value * 100) / 100)
}

/** Of a digit in the widest of the usual fonts: labels are short, so that a guess is enough. */
const CHARACTER_WIDTH = 7.5
const LABEL_GAP = 16

export function labelWidth(label: string): number {
  return label.length * CHARACTER_WIDTH
}

export interface PlacedLabel {
  readonly index: number
  /** Of its middle. */
  readonly x: number
  readonly label: string
}

/**
 * The labels that have room beside each other: every second, third… one. At the ends they are moved into the plot; the
 * last one is left out where it then has no room.
 */
export function placedLabels(labels: readonly string[], bands: Bands): readonly PlacedLabel[] {
  const widest = Math.max(0, ...labels.map(labelWidth))
  const room = Math.max(1, Math.floor(bands.width / (widest + LABEL_GAP)))
  // The first label may begin at the edge of the plot; the next one has its gap even then.
  const besideFirst = Math.ceil((1.5 * widest + LABEL_GAP) / (bands.width / labels.length) - 0.5)
  const step = Math.max(1, Math.ceil(labels.length / room), besideFirst)
  const placed: PlacedLabel[] = []
  let free = 0
  for (let index = 0; index < labels.length; index += step) {
    const label = labels[index] ?? ''
    const half = labelWidth(label) / 2
    const x = Math.max(half, Math.min(bands.width - half, bandCenter(bands, index)))
    if (x - half < free) continue
    placed.push({ index, x, label })
    free = x + half + LABEL_GAP / 2
  }
  return placed
}

const STEPS = [1, 2, 2.5, 5, 10] as const

/**
 * Round numbers, evenly apart, from at or below the least value to at or above the greatest; zero is one of them.
 * @param count About how many intervals there is room for.
 * @param isWhole Of things that cannot be halved: no step is smaller than 1.
 */
export function niceTicks({ min, max }: Domain, count: number, isWhole = false): readonly number[] {
  const low = Math.min(0, min)
  const high = Math.max(0, max)
  if (low === high) return isWhole || high === 0 ? [0, 1] : [low, high]
  const step = niceStep((high - low) / Math.max(1, count), isWhole)
  const first = Math.floor(tidy(low / step))
  const last = Math.ceil(tidy(high / step))
  return Array.from({ length: last - first + 1 }, (_, index) => tidy((first + index) * step))
}

function niceStep(rough: number, isWhole: boolean): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = STEPS.find((candidate) => candidate >= tidy(rough / power)) ?? 10
  const step = tidy(factor * power)
  return isWhole ? Math.max(1, Math.ceil(step)) : step
}

/** Without what binary fractions leave behind: 0.1 × 3 is 0.3. */
function tidy(value: number): number {
  return Number(value.toPrecision(12))
}

/** The distance of a value from the top of a plot that is `height` high. */
export function heightScale({ min, max }: Domain, height: number): (value: number) => number {
  const span = max - min || 1
  return (value) => height - ((value - min) / span) * height
}

export function domainOf(ticks: readonly number[]): Domain {
  return { min: ticks[0] ?? 0, max: ticks.at(-1) ?? 1 }
}
