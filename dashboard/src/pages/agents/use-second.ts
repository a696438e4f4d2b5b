import { useEffect, useState } from 'react'

/** Unix milliseconds, updated each second while it is used. */
export function useSecond(isWanted: boolean): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (!isWanted) return undefined
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [isWanted])
  return now
}

interface Span {
  readonly started_at: string | null
  readonly ended_at: string | null
}

/** How long it runs or ran, in milliseconds, whole seconds while it runs; undefined: it was not started. */
export function durationOf({ started_at: start, ended_at: end }: Span, now: number): number | undefined {
  if (start === null) return undefined
  if (end !== null) return Math.max(0, Date.parse(end) - Date.parse(start))
  return Math.max(0, Math.floor((now - Date.parse(start)) / 1_000) * 1_000)
}
