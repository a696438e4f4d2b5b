/** How each table is seen in this browser. Read before the first paint of the table, so that nothing moves afterwards. */
import { useSyncExternalStore } from 'react'
import { BY_ITSELF, parseTableView, renderTableView, type TableView } from '../lib/table-view.ts'

const known = new Map<string, TableView>()
const listeners = new Set<() => void>()

/** @param id Of the table; undefined: one that nobody can see otherwise. */
export function useTableView(id: string | undefined): TableView {
  return useSyncExternalStore(subscribe, () => (id === undefined ? BY_ITSELF : viewOf(id)))
}

export function keepTableView(id: string, view: TableView): void {
  known.set(id, view)
  const text = renderTableView(view)
  try {
    if (text === undefined) localStorage.removeItem(place(id))
    else localStorage.setItem(place(id), text)
  } catch {
    // where the browser keeps nothing, the choice lasts as long as the page
  }
  for (const notify of listeners) notify()
}

function viewOf(id: string): TableView {
  const view = known.get(id) ?? stored(id)
  known.set(id, view)
  return view
}

function stored(id: string): TableView {
  try {
    return parseTableView(localStorage.getItem(place(id)))
  } catch {
    return BY_ITSELF
  }
}

function subscribe(notify: () => void): () => void {
  listeners.add(notify)
  return () => listeners.delete(notify)
}

function place(id: string): string {
  return `turnpike.table.${id}`
}
