import { useState } from 'react'
import { type HistoryEntry, historyKey, keepHistory, readHistory } from './history.ts'
import { type Draft, saidBy } from './use-draft.ts'

export interface RunHistory {
  /** The newest first. */
  readonly entries: readonly HistoryEntry[]
  readonly add: (run: { readonly models: readonly string[]; readonly draft: Draft }) => void
  /** @returns What brings it back. */
  readonly clear: () => () => void
}

/** The last runs of a person in this browser. */
export function useHistory(userId: string): RunHistory {
  const key = historyKey(userId)
  const [entries, setEntries] = useState(() => readHistory(localStorage, key))
  const keep = (next: readonly HistoryEntry[]) => setEntries(keepHistory(localStorage, key, next))
  return {
    entries,
    add({ models, draft }) {
      const messages = saidBy(draft).map(({ role, text }) => ({ role, text }))
      const { system, settings } = draft
      keep([{ at: new Date().toISOString(), models, system, messages, settings }, ...readHistory(localStorage, key)])
    },
    clear() {
      keep([])
      return () => keep(entries)
    },
  }
}
