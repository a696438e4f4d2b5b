/** Widths of a table and its columns. */
import { type RefObject, useEffect, useLayoutEffect, useState } from 'react'
import type { ViewColumn } from './table-view.ts'

interface ColumnWidthsOptions {
  readonly isFixed: boolean
  readonly columns: readonly ViewColumn[]
  readonly density: string
  /** What is rendered: new rows may need more. */
  readonly slots: readonly { readonly key: string }[]
}

/**
 * Keeps the columns where they are while rows come and go: by column, the width that the first rows needed, in CSS
 * pixels. Measures again when a later row needs more.
 */
export function useColumnWidths(table: RefObject<HTMLElement | null>, options: ColumnWidthsOptions) {
  const { isFixed, columns, density, slots } = options
  const shown = [...columns.map(({ id }) => id), density, window.innerWidth].join(' ')
  const [fixed, fix] = useState<{ readonly shown: string; readonly widths: ReadonlyMap<string, number> }>()
  const widths = isFixed && fixed?.shown === shown ? fixed.widths : undefined
  useLayoutEffect(() => {
    const hasRows = slots.length > 1 // (before the window is measured there is space alone)
    if (isFixed && hasRows && widths === undefined && table.current !== null) {
      fix({ shown, widths: widthsOf(table.current) })
    }
  })
  const rendered = `${slots[1]?.key} ${slots.length}`
  // biome-ignore lint/correctness/useExhaustiveDependencies: checked once for other rows, not after each measurement
  useLayoutEffect(() => {
    if (isFixed && table.current !== null && overflows(table.current)) fix(undefined)
  }, [isFixed, rendered])
  return widths
}

function widthsOf(table: HTMLElement): ReadonlyMap<string, number> {
  const cells = [...table.querySelectorAll('th')]
  return new Map(cells.map((cell) => [cell.dataset['column'] ?? '', cell.getBoundingClientRect().width]))
}

/** By more than rounding. */
function overflows(table: HTMLElement): boolean {
  return [...table.querySelectorAll('td')].some(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
}

/** Whether what is in the element is wider than the element. */
export function useOverflow(ref: RefObject<HTMLElement | null>): boolean {
  const [overflows, setOverflows] = useState(false)
  useEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const measure = () => setOverflows(element.scrollWidth > element.clientWidth + 1)
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    for (const child of element.children) observer.observe(child)
    return () => observer.disconnect()
  }, [ref])
  return overflows
}
