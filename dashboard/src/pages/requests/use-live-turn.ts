import { useEffect, useRef, useState } from 'react'
import { plural } from '../../lib/format.ts'
import { announce } from '../../ui/announcer.tsx'

const TURN_MS = 10_000

/** What has changed meanwhile, at most once in ten seconds. */
export function useLiveTurn<Value extends string | number>(value: Value): Value {
  const [turn, setTurn] = useState({ value, at: performance.now() })
  useEffect(() => {
    if (value === turn.value) return
    const waitMs = Math.max(0, turn.at + TURN_MS - performance.now())
    const timer = setTimeout(() => setTurn({ value, at: performance.now() }), waitMs)
    return () => clearTimeout(timer)
  }, [value, turn])
  return turn.value
}

/** Says how many have come since it was said before. */
export function useAnnouncedCount(count: number): void {
  const heard = useLiveTurn(count)
  const said = useRef(heard)
  useEffect(() => {
    if (heard > said.current) announce(plural(heard - said.current, 'new request'))
    said.current = heard
  }, [heard])
}
