/** Of long lists only the rows in and around the window are rendered; empty space replaces the others. */
import { defaultRangeExtractor, useWindowVirtualizer } from '@tanstack/react-virtual'
import { type FocusEventHandler, type RefObject, useLayoutEffect, useState } from 'react'

/** Up to this length a list is rendered whole, so that the browser's own search finds everything in it. */
const WHOLE_UP_TO = 200
/** Rows beyond each edge of the window, so that fast scrolling shows no empty space. */
const OVERSCAN = 20

/** A row, or the space of rows that are left out: its height in CSS pixels. */
export type Slot<Row> =
  | { readonly key: string; readonly row: Row; readonly index: number }
  | { readonly key: string; readonly height: number }

export interface VisibleRows<Row> {
  readonly slots: readonly Slot<Row>[]
  /** Whether rows are left out. */
  readonly isPartial: boolean
  /** Of each rendered row, which has its index as `data-index`. */
  readonly measure: ((element: HTMLElement | null) => void) | undefined
  /** Of the list: the row that has the focus stays, with its neighbors, so that Tab reaches them. */
  readonly onFocus: FocusEventHandler
}

export interface VisibleRowsOptions<Row> {
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  /** Of a row until it is measured, in CSS pixels. */
  readonly rowHeight: number
  /** Between two rows, in CSS pixels. */
  readonly gap?: number
}

/** @param list Scrolls with the window: lists in dialogs are short. */
export function useVisibleRows<Row>(
  list: RefObject<HTMLElement | null>,
  options: VisibleRowsOptions<Row>,
): VisibleRows<Row> {
  const { rows, rowKey, rowHeight, gap = 0 } = options
  const count = rows.length
  const isPartial = count > WHOLE_UP_TO
  const [focused, setFocused] = useState<number>()
  const virtualizer = useWindowVirtualizer<HTMLElement>({
    count,
    gap,
    enabled: isPartial,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    scrollMargin: useTop(list, isPartial),
    rangeExtractor: (range) => withFocused(defaultRangeExtractor(range), focused, count),
    useFlushSync: false,
  })
  const whole = () => rows.map((row, index) => ({ key: rowKey(row), row, index }))
  return {
    slots: isPartial ? slotsOf(virtualizer, options) : whole(),
    isPartial,
    measure: isPartial ? virtualizer.measureElement : undefined,
    onFocus: ({ target }) => {
      const index = target.closest<HTMLElement>('[data-index]')?.dataset['index']
      if (index !== undefined) setFocused(Number(index))
    },
  }
}

function withFocused(indexes: readonly number[], focused: number | undefined, count: number): number[] {
  if (focused === undefined) return [...indexes]
  const kept = [focused - 1, focused, focused + 1].filter((index) => index >= 0 && index < count)
  return [...new Set([...indexes, ...kept])].sort((a, b) => a - b)
}

type Virtualizer = ReturnType<typeof useWindowVirtualizer<HTMLElement>>

function slotsOf<Row>(virtualizer: Virtualizer, { rows, rowKey, gap = 0 }: VisibleRowsOptions<Row>) {
  const { scrollMargin } = virtualizer.options
  const slots: Slot<Row>[] = []
  let end = scrollMargin
  for (const { index, start, end: next } of virtualizer.getVirtualItems()) {
    const row = rows[index]
    if (row === undefined) continue
    if (start - end > gap) slots.push({ key: `before ${index}`, height: start - end - gap })
    slots.push({ key: rowKey(row), row, index })
    end = next
  }
  const rest = scrollMargin + virtualizer.getTotalSize() - end
  if (rest > gap) slots.push({ key: 'rest', height: rest - gap })
  return slots
}

/** Where an element begins in the page, in CSS pixels; read after each rendering, since what is above it may change. */
function useTop(element: RefObject<HTMLElement | null>, isNeeded: boolean): number {
  const [top, setTop] = useState(0)
  useLayoutEffect(() => {
    if (isNeeded && element.current !== null) {
      setTop(Math.round(element.current.getBoundingClientRect().top + window.scrollY))
    }
  })
  return top
}
