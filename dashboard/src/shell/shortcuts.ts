/** What the keyboard does beside what every page does: the one list, for the listener and for the dialog that tells of it. */
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

const SETTING = 'turnpike.shortcuts'

/** Single letters can be in the way of speech input, and are switched off in Appearance. */
export function areLettersOn(): boolean {
  return localStorage.getItem(SETTING) !== 'off'
}

export function setLetters(isOn: boolean): void {
  localStorage.setItem(SETTING, isOn ? 'on' : 'off')
}
