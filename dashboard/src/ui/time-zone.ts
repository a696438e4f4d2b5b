/** How moments are shown in this browser: in local time or in UTC; and what time it is, for ages. */
import { useSyncExternalStore } from 'react'

export type TimeZone = 'local' | 'utc'

const STORAGE_KEY = 'turnpike.time-zone'
const TICK_MS = 15_000

const zoneListeners = new Set<() => void>()
const clockListeners = new Set<() => void>()
let zone: TimeZone = readZone()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

export function useTimeZone(): TimeZone {
  return useSyncExternalStore(subscribeZone, () => zone)
}

export function setTimeZone(chosen: TimeZone): void {
  zone = chosen
  try {
    localStorage.setItem(STORAGE_KEY, chosen)
  } catch {
    // where the browser keeps nothing, the choice lasts as long as the page
  }
  for (const notify of zoneListeners) notify()
}

/** Unix milliseconds, renewed every few seconds and the same for all that show ages at once. */
export function useNow(): number {
  return useSyncExternalStore(subscribeClock, () => now)
}

function readZone(): TimeZone {
  try {
    return localStorage.getItem(STORAGE_KEY) === 'utc' ? 'utc' : 'local'
  } catch {
    return 'local'
  }
}

function subscribeZone(notify: () => void): () => void {
  zoneListeners.add(notify)
  return () => zoneListeners.delete(notify)
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
