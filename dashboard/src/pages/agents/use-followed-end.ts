import { type RefCallback, useCallback, useEffect, useRef, useState } from 'react'

/** So near to the end of the page one is at it. */
const NEAR_PX = 96

export interface FollowedEnd {
  /** For the list that grows. */
  readonly list: RefCallback<HTMLOListElement>
  readonly isAtEnd: boolean
  readonly toEnd: () => void
}

/**
 * Keeps the end of the page in sight while it grows, for a reader who is there; one who reads further up is not moved.
 * @param isOpen Whether it may still grow: what had ended before is read from its beginning.
 */
export function useFollowedEnd(isOpen: boolean): FollowedEnd {
  const [element, list] = useState<HTMLOListElement | null>(null)
  const follows = useRef(isOpen)
  const [isAtEnd, setAtEnd] = useState(true)
  const toEnd = useCallback(() => {
    follows.current = true
    window.scrollTo({ top: document.documentElement.scrollHeight })
  }, [])
  useEffect(() => {
    if (element === null) return undefined
    const look = (): void => {
      follows.current = isNearEnd()
      setAtEnd(follows.current)
    }
    const grow = (): void => {
      if (follows.current) window.scrollTo({ top: document.documentElement.scrollHeight })
      else setAtEnd(isNearEnd())
    }
    const observer = new ResizeObserver(grow)
    observer.observe(element)
    window.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      window.removeEventListener('scroll', look)
    }
  }, [element])
  return { list, isAtEnd, toEnd }
}

function isNearEnd(): boolean {
  return document.documentElement.scrollHeight - window.innerHeight - window.scrollY < NEAR_PX
}
