/** Where the focus goes when a dialog opens, and where to when it closes. */
import { useCallback, useInsertionEffect, useRef } from 'react'

const BODY = '[data-dialog-body]'
const FIELDS =
  'input:not([type="hidden"], :disabled), textarea:not(:disabled), select:not(:disabled), [role="combobox"]'

/** The first field of the newest dialog, or a field that has the focus already; without one, what Base UI chooses. */
export function initialFocus(): HTMLElement | boolean {
  const body = [...document.querySelectorAll<HTMLElement>(BODY)].at(-1)
  if (body?.contains(document.activeElement) && document.activeElement !== body) return false
  return body?.querySelector<HTMLElement>(FIELDS) ?? true
}

/** What had the focus when the dialog opened, before a field in it took the focus by itself. */
export function useReturnFocus(open: boolean): () => HTMLElement | boolean {
  const opener = useRef<Element>(null)
  useInsertionEffect(() => {
    if (open) opener.current = document.activeElement
  }, [open])
  return useCallback(() => {
    const { current } = opener
    // what was removed meanwhile, as an entry of a menu is, cannot take it
    return current instanceof HTMLElement && current.isConnected && current !== document.body ? current : true
  }, [])
}
