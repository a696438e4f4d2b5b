/** The saved views of each account and page in this browser, the same in all its tabs. */
import { useSyncExternalStore } from 'react'
import { parseSavedViews, type ReadView, renderSavedViews, type SavedView } from '../lib/saved-views.ts'

export interface ViewsPlace {
  readonly accountId: string
  readonly page: 'requests' | 'usage'
  readonly read: ReadView
}

interface Known {
  readonly text: string | null
  readonly views: readonly SavedView[]
}

const known = new Map<string, Known>()
/** Where the browser keeps nothing, they last as long as the page. */
const unkept = new Map<string, string | null>()
const listeners = new Set<() => void>()

export function useSavedViews(place: ViewsPlace): readonly SavedView[] {
  return useSyncExternalStore(subscribe, () => viewsAt(place))
}

/** @param change Of those that are there now: another tab may have changed them. */
export function changeSavedViews(
  place: ViewsPlace,
  change: (views: readonly SavedView[]) => readonly SavedView[],
): void {
  const key = keyOf(place)
  const text = renderSavedViews(change(viewsAt(place))) ?? null
  try {
    if (text === null) localStorage.removeItem(key)
    else localStorage.setItem(key, text)
    unkept.delete(key)
  } catch {
    unkept.set(key, text)
  }
  for (const notify of listeners) notify()
}

/** The same list as long as the text is the same. */
function viewsAt(place: ViewsPlace): readonly SavedView[] {
  const key = keyOf(place)
  const text = textAt(key)
  const there = known.get(key)
  if (there?.text === text) return there.views
  const views = parseSavedViews(text, place.read)
  known.set(key, { text, views })
  return views
}

function textAt(key: string): string | null {
  const text = unkept.get(key)
  if (text !== undefined) return text
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

function subscribe(notify: () => void): () => void {
  listeners.add(notify)
  addEventListener('storage', notify)
  return () => {
    listeners.delete(notify)
    removeEventListener('storage', notify)
  }
}

function keyOf({ accountId, page }: ViewsPlace): string {
  return `turnpike.views.${accountId}.${page}`
}
