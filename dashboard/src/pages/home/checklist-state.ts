/** The state of the checklist in this browser, for each account: completed steps stay completed and are not loaded again. */
import { useSyncExternalStore } from 'react'
import { createStore } from '../../lib/browser-store.ts'

export interface ChecklistState {
  readonly done: readonly string[]
  readonly isDismissed: boolean
}

const NOTHING: ChecklistState = { done: [], isDismissed: false }

const store = createStore<ChecklistState>({
  name: 'getting-started',
  parse(text) {
    const value: unknown = JSON.parse(text ?? 'null')
    if (typeof value !== 'object' || value === null) return NOTHING
    const { done, isDismissed } = { ...NOTHING, ...value }
    return { done: Array.isArray(done) ? done.map(String) : [], isDismissed: isDismissed === true }
  },
  render: (value) => JSON.stringify(value),
})

export function useChecklistState(accountId: string): ChecklistState {
  return useSyncExternalStore(store.subscribe, () => store.read(accountId))
}

export function saveDone(accountId: string, steps: readonly string[]): void {
  const { done, isDismissed } = store.read(accountId)
  if (steps.every((step) => done.includes(step))) return
  store.write({ done: [...new Set([...done, ...steps])], isDismissed }, accountId)
}

export function setDismissed(accountId: string, isDismissed: boolean): void {
  store.write({ ...store.read(accountId), isDismissed }, accountId)
}
