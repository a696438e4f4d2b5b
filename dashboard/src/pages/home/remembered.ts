/** What this browser keeps of the checklist, for each account: steps that were done stay done, and are not asked for again. */
import { useSyncExternalStore } from 'react'

export interface Remembered {
  readonly done: readonly string[]
  readonly isDismissed: boolean
}

const NOTHING: Remembered = { done: [], isDismissed: false }
const known = new Map<string, Remembered>()
const listeners = new Set<() => void>()

export function useRemembered(accountId: string): Remembered {
  return useSyncExternalStore(subscribe, () => remembered(accountId))
}

export function rememberDone(accountId: string, steps: readonly string[]): void {
  const { done, isDismissed } = remembered(accountId)
  if (steps.every((step) => done.includes(step))) return
  keep(accountId, { done: [...new Set([...done, ...steps])], isDismissed })
}

export function setDismissed(accountId: string, isDismissed: boolean): void {
  keep(accountId, { ...remembered(accountId), isDismissed })
}

function subscribe(notify: () => void): () => void {
  listeners.add(notify)
  return () => listeners.delete(notify)
}

function remembered(accountId: string): Remembered {
  const there = known.get(accountId) ?? stored(accountId)
  known.set(accountId, there)
  return there
}

function keep(accountId: string, value: Remembered): void {
  known.set(accountId, value)
  try {
    localStorage.setItem(place(accountId), JSON.stringify(value))
  } catch {
    // where the browser keeps nothing, it is kept as long as the page
  }
  for (const notify of listeners) notify()
}

function stored(accountId: string): Remembered {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(place(accountId)) ?? 'null')
    if (typeof value !== 'object' || value === null) return NOTHING
    const { done, isDismissed } = { ...NOTHING, ...value }
    return { done: Array.isArray(done) ? done.map(String) : [], isDismissed: isDismissed === true }
  } catch {
    return NOTHING
  }
}

function place(accountId: string): string {
  return `turnpike.getting-started.${accountId}`
}
