/** Reading a chart point by point, with the keyboard or a screen reader. */
import { type ChartData, type ChartPoint, valueAt } from './series.ts'

/** Of the points, those that a page-up passes. */
const PAGE_SHARE = 10

/**
 * Where a key leads to.
 * @returns The point's index; null for none; undefined when the key means nothing here.
 */
export function movedTo(key: string, current: number | null, count: number): number | null | undefined {
  if (count === 0) return undefined
  const page = Math.max(2, Math.ceil(count / PAGE_SHARE))
  const last = count - 1
  const within = (index: number): number => Math.min(last, Math.max(0, index))
  switch (key) {
    case 'ArrowRight':
    case 'ArrowUp':
      return current === null ? 0 : within(current + 1)
    case 'ArrowLeft':
    case 'ArrowDown':
      return current === null ? last : within(current - 1)
    case 'PageUp':
      return within((current ?? 0) + page)
    case 'PageDown':
      return within((current ?? last) - page)
    case 'Home':
      return 0
    case 'End':
      return last
    case 'Escape':
      return current === null ? undefined : null
    default:
      return undefined
  }
}

/** The series that have a value at a point, the largest first. */
export function valuesAt(point: ChartPoint, series: ChartData['series']): readonly PointValue[] {
  return series
    .map(({ key, label }, index) => ({ key, label, index, value: valueAt(point, key) }))
    .filter((entry): entry is PointValue => entry.value !== undefined)
    .sort((a, b) => b.value - a.value)
}

export interface PointValue {
  readonly key: string
  readonly label: string
  /** Of the series, which its color goes by. */
  readonly index: number
  readonly value: number
}

/** The point as a sentence: `Nov 3: $1.20. gpt-5: $1.00, qwen: $0.20`. */
export function pointText(
  point: ChartPoint,
  series: ChartData['series'],
  { format, isStacked }: { readonly format: (value: number) => string; readonly isStacked: boolean },
): string {
  const values = valuesAt(point, series).filter(({ value }) => !isStacked || value !== 0)
  const [only] = values
  if (only === undefined) return `${point.label}: ${isStacked ? format(0) : 'no data'}`
  if (series.length === 1) return `${point.label}: ${format(only.value)}`
  const each = values.map(({ label, value }) => `${label}: ${format(value)}`).join(', ')
  if (!isStacked) return `${point.label}. ${each}`
  return `${point.label}: ${format(values.reduce((sum, { value }) => sum + value, 0))}. ${each}`
}
