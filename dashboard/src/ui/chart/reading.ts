/** Reading a chart point by point, with the keyboard or a screen reader. */
import {
  createContext,
  type Dispatch,
  type KeyboardEvent,
  type PointerEvent,
  type SetStateAction,
  use,
  useEffect,
  useRef,
  useState,
} from 'react'
import { type Bands, indexAt } from './geometry.ts'
import { type ChartData, type ChartPoint, type ChartSeries, valueAt } from './series.ts'

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
    .flatMap((each) => {
      const value = valueAt(point, each.key)
      return value === undefined ? [] : [{ series: each, value }]
    })
    .sort((a, b) => b.value - a.value)
}

export interface PointValue {
  readonly series: ChartSeries
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
  const each = values.map(({ series: { label }, value }) => `${label}: ${format(value)}`).join(', ')
  if (!isStacked) return `${point.label}. ${each}`
  return `${point.label}: ${format(values.reduce((sum, { value }) => sum + value, 0))}. ${each}`
}

type Moment = readonly [at: string | undefined, read: Dispatch<SetStateAction<string | undefined>>]

/** Charts in one of these read the same moment: the point that is read in one is marked in all. */
export const SharedMoment = createContext<Moment | undefined>(undefined)

/** The point of a moment; where the points are further apart, the one whose interval has it. */
export function indexOfMoment(points: readonly ChartPoint[], at: string | undefined): number | null {
  const same = points.findIndex((point) => point.at === at)
  if (at === undefined || same >= 0) return same < 0 ? null : same
  const index = points.findLastIndex((point) => Date.parse(point.at) <= Date.parse(at))
  return index < 0 ? null : index
}

/** Points by their indexes, both included. */
export interface PointRange {
  readonly first: number
  readonly last: number
}

interface Reading {
  /** The point that is being read; null for none. */
  readonly index: number | null
  /** What is being chosen, by dragging or with Shift. */
  readonly range: PointRange | undefined
  /** For the element that is focused and pointed at. */
  readonly handlers: {
    readonly onKeyDown: (event: KeyboardEvent) => void
    readonly onPointerMove: (event: PointerEvent) => void
    readonly onPointerDown: (event: PointerEvent) => void
    readonly onClick: () => void
    readonly onBlur: () => void
  }
  /** For what holds that element and its tooltip: both can be pointed at. */
  readonly onPointerLeave: (event: PointerEvent) => void
}

interface ReadingOptions {
  readonly points: readonly ChartPoint[]
  readonly bands: Bands
  /** Where the bands begin within the element, in CSS pixels. */
  readonly left: number
  readonly onSelect: ((index: number) => void) | undefined
  /** Undefined: no range can be chosen. */
  readonly onZoom: ((range: PointRange) => void) | undefined
}

/** One point at a time, by pointer, touch or keyboard. Escape ends it, wherever the focus is. */
export function useReading({ points, bands, left, onSelect, onZoom }: ReadingOptions): Reading {
  const own = useState<string>()
  const [at, read] = use(SharedMoment) ?? own
  const index = indexOfMoment(points, at)
  const { range, anchorAt } = useRange(index, onZoom !== undefined)
  // A finger that comes down reads; the same point touched again is selected.
  const isSelecting = useRef(true)
  const pointedAt = (event: PointerEvent): number | null =>
    indexAt(bands, event.clientX - event.currentTarget.getBoundingClientRect().left - left) ?? null
  const choose = (next: number | null): void => read(next === null ? undefined : points[next]?.at)
  const end = (): void => {
    choose(null)
    anchorAt(null)
  }
  const select = (): void => {
    if (range !== undefined) onZoom?.(range)
    else if (index !== null) onSelect?.(index)
    anchorAt(null)
  }
  useEscape(index !== null, end)
  return {
    index,
    range,
    handlers: {
      onKeyDown: (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return
        if (event.key === 'Enter') return select()
        const next = movedTo(event.key, index, bands.count)
        if (next === undefined) return
        event.preventDefault()
        anchorAt(event.shiftKey ? (before) => before ?? index : null)
        choose(next)
      },
      onPointerMove: (event) => choose(pointedAt(event)),
      onPointerDown: (event) => {
        const place = pointedAt(event)
        isSelecting.current = event.pointerType !== 'touch' || place === index
        if (event.pointerType !== 'touch') {
          event.currentTarget.setPointerCapture(event.pointerId) // the pointer may leave the chart meanwhile
          anchorAt(place)
        }
        choose(place)
      },
      onClick: () => isSelecting.current && select(),
      onBlur: end,
    },
    onPointerLeave: ({ pointerType }) => pointerType !== 'touch' && end(),
  }
}

/** From where a range was begun to the point that is being read. */
function useRange(index: number | null, isPossible: boolean) {
  const [anchor, anchorAt] = useState<number | null>(null)
  const isRange = isPossible && anchor !== null && index !== null && anchor !== index
  const range = isRange ? { first: Math.min(anchor, index), last: Math.max(anchor, index) } : undefined
  return { range, anchorAt }
}

/** Before anyone else, so that a dialog around a chart stays open when a tooltip is closed. */
function useEscape(isActive: boolean, onEscape: () => void): void {
  const latest = useRef(onEscape)
  useEffect(() => {
    latest.current = onEscape
  })
  useEffect(() => {
    if (!isActive) return
    const listen = (event: globalThis.KeyboardEvent): void => {
      if (event.key !== 'Escape') return
      event.stopPropagation()
      latest.current()
    }
    document.addEventListener('keydown', listen, true)
    return () => document.removeEventListener('keydown', listen, true)
  }, [isActive])
}
