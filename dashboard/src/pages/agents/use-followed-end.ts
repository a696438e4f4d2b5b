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
  // Where the end was last: what came since then has not moved the reader, only they have.
  const end = useRef(0)
  const [isAtEnd, setAtEnd] = useState(true)
  const toEnd = useCallback(() => {
    follows.current = true
    window.scrollTo({ top: document.documentElement.scrollHeight })
    end.current = window.scrollY
  }, [])
  useEffect(() => {
    if (element === null) return undefined
    const look = (): void => {
      if (isNearEnd()) {
        follows.current = true
        end.current = window.scrollY
      } else if (window.scrollY < end.current - NEAR_PX) follows.current = false
      setAtEnd(follows.current)
    }
    const grow = (): void => {
      if (follows.current) toEnd()
      else setAtEnd(isNearEnd())
    }
    const observer = new ResizeObserver(grow)
    observer.observe(element)
    window.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      window.removeEventListener('scroll', look)
    }
  }, [element, toEnd])
  return { list, isAtEnd, toEnd }
}

function isNearEnd(): boolean {
  return document.documentElement.scrollHeight - window.innerHeight - window.scrollY < NEAR_PX
}
