import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from 'react'
import { type Bands, indexAt } from './geometry.ts'
import { movedTo } from './reading.ts'

export interface Reading {
  /** The point that is being read; null for none. */
  readonly index: number | null
  readonly end: () => void
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
  readonly bands: Bands
  /** Where the bands begin within the element, in CSS pixels. */
  readonly left: number
  readonly onSelect: ((index: number) => void) | undefined
}

/** One point at a time, by pointer, touch or keyboard. Escape ends it, wherever the focus is. */
export function useReading({ bands, left, onSelect }: ReadingOptions): Reading {
  const [chosen, setChosen] = useState<number | null>(null)
  const index = chosen !== null && chosen < bands.count ? chosen : null
  // A finger that comes down reads; the same point touched again is selected.
  const isSelecting = useRef(true)
  const pointedAt = (event: PointerEvent): number | null =>
    indexAt(bands, event.clientX - event.currentTarget.getBoundingClientRect().left - left) ?? null
  const select = (): void => {
    if (index !== null) onSelect?.(index)
  }
  useEscape(index !== null, () => setChosen(null))
  return {
    index,
    end: () => setChosen(null),
    handlers: {
      onKeyDown: (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return
        if (event.key === 'Enter') return select()
        const next = movedTo(event.key, index, bands.count)
        if (next === undefined) return
        event.preventDefault()
        setChosen(next)
      },
      onPointerMove: (event) => setChosen(pointedAt(event)),
      onPointerDown: (event) => {
        const place = pointedAt(event)
        isSelecting.current = event.pointerType !== 'touch' || place === index
        setChosen(place)
      },
      onClick: () => {
        if (isSelecting.current) select()
      },
      onBlur: () => setChosen(null),
    },
    onPointerLeave: (event) => {
      if (event.pointerType !== 'touch') setChosen(null)
    },
  }
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
