import { type ReactElement, type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'

export interface TooltipProps {
  /** Undefined: there is no hint. */
  readonly label: ReactNode
  /** The element that it belongs to. It can take the keyboard's focus, and has a name without the tooltip. */
  readonly children: ReactElement
  readonly side?: Side
}

type Side = 'top' | 'bottom' | 'left' | 'right'

const SHOW_AFTER_MS = 400
/** Time to get from the element to the tooltip. */
const HIDE_AFTER_MS = 120
const GAP_PX = 6

/** A hint on hover and focus. It stays while the pointer is on it, and Escape closes it (WCAG 1.4.13). */
export function Tooltip({ label, children, side = 'top' }: TooltipProps) {
  const [isShown, show] = useState(false)
  const frame = useRef<HTMLSpanElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const soon = (next: boolean, ms: number): void => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => show(next), ms)
  }
  const hide = (): void => soon(false, 0)
  useEffect(() => () => clearTimeout(timer.current), [])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only listens to what happens to the element in it
    <span
      ref={frame}
      className="contents"
      onPointerEnter={({ pointerType }) => pointerType === 'mouse' && soon(true, SHOW_AFTER_MS)}
      onPointerLeave={() => soon(false, HIDE_AFTER_MS)}
      onPointerDown={hide}
      onFocus={({ target }) => target.matches(':focus-visible') && soon(true, 0)}
      onBlur={hide}
      onKeyDown={({ key }) => key === 'Escape' && hide()}
    >
      {children}
      {isShown && label !== undefined && (
        <Bubble frame={frame} side={side}>
          {label}
        </Bubble>
      )}
    </span>
  )
}

interface BubbleProps {
  readonly frame: RefObject<HTMLElement | null>
  readonly side: Side
  readonly children: ReactNode
}

/** Above everything else, dialogs too. It goes when what it belongs to moves. */
function Bubble({ frame, side, children }: BubbleProps) {
  const bubble = useRef<HTMLSpanElement>(null)
  const [isGone, leave] = useState(false)
  useLayoutEffect(() => {
    const element = bubble.current
    const anchor = frame.current?.firstElementChild
    if (element === null || anchor == null) return
    element.showPopover()
    const [left, top] = placeAt(anchor.getBoundingClientRect(), element.getBoundingClientRect(), side)
    element.style.left = `${left}px`
    element.style.top = `${top}px`
    const goAway = (): void => leave(true)
    addEventListener('scroll', goAway, { capture: true, once: true })
    return () => removeEventListener('scroll', goAway, { capture: true })
  }, [frame, side])
  if (isGone) return null
  return (
    <span
      ref={bubble}
      popover="manual"
      role="tooltip"
      className="fixed inset-auto m-0 w-max max-w-xs rounded-md border border-line bg-surface px-2 py-1 text-xs font-normal text-ink shadow-popup"
    >
      {children}
    </span>
  )
}

/** Beside the anchor, and within the window. */
function placeAt(anchor: DOMRect, { width, height }: DOMRect, side: Side): readonly [left: number, top: number] {
  const middle = anchor.left + (anchor.width - width) / 2
  const center = anchor.top + (anchor.height - height) / 2
  const above = anchor.top - height - GAP_PX
  const wished = {
    top: [middle, above < 0 ? anchor.bottom + GAP_PX : above],
    bottom: [middle, anchor.bottom + GAP_PX],
    left: [anchor.left - width - GAP_PX, center],
    right: [anchor.right + GAP_PX, center],
  }[side]
  const [left = 0, top = 0] = wished
  const within = (value: number, most: number): number => Math.max(GAP_PX, Math.min(value, most - GAP_PX))
  return [within(left, innerWidth - width), within(top, innerHeight - height)]
}
