/** Keeps the focus on the page: browsers drop it with the element that has it, and a keyboard then begins at the top. */
import { useEffect } from 'react'

const PLACES = 'main, [data-dialog-body]'

/** When the focused element is removed, as a row is or a button without a purpose, what is left around it gets the focus. */
export function useLostFocus(): void {
  useEffect(() => {
    let around: readonly Element[] = []
    let frame: number | undefined
    const remember = ({ target }: FocusEvent): void => {
      around = target instanceof Element ? ancestorsOf(target) : []
    }
    const recover = (): void => {
      frame = undefined
      if (isLost(around)) focusOn(placeOf(around))
    }
    // A frame later, for whoever gives the focus to an element of its own: a dialog to what opened it.
    const observer = new MutationObserver(() => {
      if (isLost(around)) frame ??= requestAnimationFrame(recover)
    })
    addEventListener('focusin', remember)
    observer.observe(document.body, { childList: true, subtree: true })
    return () => {
      removeEventListener('focusin', remember)
      observer.disconnect()
      if (frame !== undefined) cancelAnimationFrame(frame)
    }
  }, [])
}

/** From the element itself outwards. */
function ancestorsOf(element: Element): readonly Element[] {
  const found = []
  for (let each: Element | null = element; each !== null; each = each.parentElement) found.push(each)
  return found
}

function isLost([focused]: readonly Element[]): boolean {
  return document.activeElement === document.body && focused?.isConnected === false
}

/** What is left nearest to it; else the dialog on top, or the view. */
function placeOf(around: readonly Element[]): HTMLElement | null {
  const nearest = around.find((each) => each.isConnected && each.closest(PLACES) !== null)
  const [top] = [...document.querySelectorAll<HTMLElement>('[data-dialog-body]')].slice(-1)
  return nearest instanceof HTMLElement ? nearest : (top ?? document.querySelector('main'))
}

function focusOn(place: HTMLElement | null): void {
  if (place === null) return
  if (!place.hasAttribute('tabindex')) {
    place.tabIndex = -1
    place.addEventListener('blur', () => place.removeAttribute('tabindex'), { once: true })
  }
  place.focus({ preventScroll: true })
}
