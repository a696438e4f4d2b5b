/** Listens for shortcuts: Ctrl or Cmd with K anywhere, single letters where nothing is typed. */
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useMe } from '../api/me.ts'
import { areLettersOn, JUMPS } from './shortcuts.ts'

interface Openers {
  readonly openPalette: () => void
  readonly openHelp: () => void
}

/** After `g` the next letter is waited for so long. */
const PATIENCE_MS = 1200

export function useShortcuts(openers: Openers): void {
  const navigate = useNavigate()
  const { rights } = useMe()
  const latest = useRef(openers)
  latest.current = openers
  useEffect(() => {
    let begunAt = 0
    const listen = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        latest.current.openPalette()
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || !areLettersOn() || isTaken(event)) return
      if (event.key === '?') latest.current.openHelp()
      const isSecond = event.timeStamp - begunAt < PATIENCE_MS
      begunAt = event.key === 'g' && !isSecond ? event.timeStamp : 0
      if (!isSecond) return
      const jump = JUMPS.find(({ letter }) => letter === event.key)
      if (jump !== undefined && (jump.right === undefined || rights.has(jump.right))) void navigate({ to: jump.to })
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [navigate, rights])
}

/** Somebody types, or a dialog is open. */
function isTaken({ target }: KeyboardEvent): boolean {
  if (document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"], [role="listbox"]') !== null)
    return true
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable="true"]') !== null
}
