/** How moments are shown in this browser: in local time or in UTC; and what time it is, for ages. */
import { useSyncExternalStore } from 'react'
import { createChoiceStore } from '../lib/browser-store.ts'

export type TimeZone = 'local' | 'utc'

const store = createChoiceStore<TimeZone>('time-zone', ['local', 'utc'])
const TICK_MS = 15_000

const clockListeners = new Set<() => void>()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

export function useTimeZone(): TimeZone {
  return useSyncExternalStore(store.subscribe, store.read)
}

/** For what is no component, at the moment. */
export const timeZone = (): TimeZone => store.read()

export const setTimeZone = (zone: TimeZone): void => store.write(zone)

/** Unix milliseconds, renewed every few seconds and the same for all that show ages at once. */
export function useNow(): number {
  return useSyncExternalStore(subscribeClock, () => now)
}

function subscribeClock(notify: () => void): () => void {
  if (clockListeners.size === 0) {
    now = Date.now()
    timer = setInterval(tick, TICK_MS)
  }
  clockListeners.add(notify)
  return () => {
    clockListeners.delete(notify)
    if (clockListeners.size === 0) clearInterval(timer)
  }
}

function tick(): void {
  now = Date.now()
  for (const notify of clockListeners) notify()
}
