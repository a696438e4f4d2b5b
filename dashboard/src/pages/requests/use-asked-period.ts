import { useState } from 'react'
import { type Period, type PeriodSearch, type Range, resolvePeriod } from '../../lib/period.ts'
import { useNow } from '../../ui/time-zone.ts'
import { minuteOf } from '../../ui/use-period.ts'

export interface AskedPeriod {
  readonly period: Period
  /** As it was when it was asked for, also while it is live. */
  readonly asked: Period
  /** Up to now. */
  readonly renew: () => void
}

/**
 * The period as it was when it was asked for, so that a list does not change under the reader's eyes. It moves with time
 * only while it is live.
 */
export function useAskedPeriod(
  search: PeriodSearch,
  { fallback, isLive }: { readonly fallback: Exclude<Range, 'custom'>; readonly isLive: boolean },
): AskedPeriod {
  const now = useNow()
  const question = [search.range, search.from, search.to, isLive].join()
  const [asked, setAsked] = useState({ question, at: Date.now() })
  if (asked.question !== question) setAsked({ question, at: Date.now() })
  const at = isLive ? Math.max(now, asked.at) : asked.at
  const resolved = (moment: number) => resolvePeriod(search, minuteOf(moment), fallback)
  return {
    period: resolved(at),
    asked: resolved(asked.at),
    renew: () => setAsked({ question, at: Date.now() }),
  }
}
