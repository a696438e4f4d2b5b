import { useCallback, useSyncExternalStore } from 'react'

/** Below this the dashboard is one column, and tables are cards: Tailwind's `md`. */
export const BELOW_MD = '(width < 48rem)'

/** Whether the window is as the query says, now and when it changes. */
export function useMediaQuery(query: string): boolean {
  const subscribe = useCallback(
    (notify: () => void) => {
      const list = matchMedia(query)
      list.addEventListener('change', notify)
      return () => list.removeEventListener('change', notify)
    },
    [query],
  )
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches)
}
