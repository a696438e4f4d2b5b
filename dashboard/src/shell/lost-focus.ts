/** Keeps the focus on the page: browsers drop it with the element that has it, and a keyboard then begins at the top. */
import { useEffect } from 'react'

const CONTAINERS = 'main, [data-dialog-body]'

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
      if (isLost(around)) focusOn(focusTargetOf(around))
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
function focusTargetOf(around: readonly Element[]): HTMLElement | null {
  const nearest = around.find((each) => each.isConnected && each.closest(CONTAINERS) !== null)
  const [top] = [...document.querySelectorAll<HTMLElement>('[data-dialog-body]')].slice(-1)
  return nearest instanceof HTMLElement ? nearest : (top ?? document.querySelector('main'))
}

function focusOn(target: HTMLElement | null): void {
  if (target === null) return
  if (!target.hasAttribute('tabindex')) {
    target.tabIndex = -1
    target.addEventListener('blur', () => target.removeAttribute('tabindex'), { once: true })
  }
  target.focus({ preventScroll: true })
}
