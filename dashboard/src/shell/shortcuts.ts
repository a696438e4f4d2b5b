/** What the keyboard does beside what every page does: the one list, for the listener and for the dialog that tells of it. */
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useMe } from '../api/me.ts'
import { createChoiceStore } from '../lib/browser-store.ts'
import { MAIN, SETTINGS } from './navigation.ts'

export interface Jump {
  readonly letter: string
  readonly label: string
  readonly to: string
  readonly right: string | undefined
}

export const JUMPS: readonly Jump[] = [...MAIN, ...SETTINGS].flatMap(({ letter, label, to, right }) =>
  letter === undefined ? [] : [{ letter, label, to, right }],
)

const store = createChoiceStore('shortcuts', ['on', 'off'])

/** Single letters can interfere with speech input; Appearance switches them off. */
export function areLettersOn(): boolean {
  return store.read() === 'on'
}

export function setLetters(isOn: boolean): void {
  store.write(isOn ? 'on' : 'off')
}

interface Openers {
  readonly openPalette: () => void
  readonly openHelp: () => void
}

/** After `g` the next letter is waited for so long. */
const SEQUENCE_TIMEOUT_MS = 1200

/** Handles Ctrl or Cmd with K anywhere, and single letters outside of text fields. */
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
      const isSecond = event.timeStamp - begunAt < SEQUENCE_TIMEOUT_MS
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
