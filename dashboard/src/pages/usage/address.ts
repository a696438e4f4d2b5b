/** The address of the view: read, changed, and where its numbers lead. */
import { getRouteApi } from '@tanstack/react-router'
import { type Period, type PeriodSearch, resolvePeriod } from '../../lib/period.ts'
import type { Zone } from '../../lib/time.ts'
import type { LinkTarget } from '../../ui/app-link.tsx'
import { timeZone } from '../../ui/time-zone.ts'
import { readUsageSearch, type UsageSearch } from './search.ts'

const route = getRouteApi('/usage')

/** Undefined takes a value out of the address. */
export type UsageChanges = { readonly [Name in keyof UsageSearch]?: UsageSearch[Name] | undefined }

export function useUsageSearch(): UsageSearch {
  return route.useSearch()
}

/** Leaves the page where it is scrolled to. */
export function useUsageChange(): (changes: UsageChanges) => void {
  const navigate = route.useNavigate()
  return (changes) =>
    void navigate({ search: (previous) => readUsageSearch({ ...previous, ...changes }), resetScroll: false })
}

/** The same view, further into it. */
export function usageTarget(changes: UsageChanges): LinkTarget {
  const target = { to: '/usage', search: (previous: object) => ({ ...previous, ...changes }), resetScroll: false }
  return target
}

/**
 * The period as another view's address says it: by its name where it has one that means the same there, so that it stays
 * the same question. Days are those of UTC here, and those of the viewer in Requests.
 */
export function periodSearch(
  { range = '7d', from, to }: PeriodSearch,
  { start, end }: Pick<Period, 'start' | 'end'>,
): PeriodSearch {
  if (range === 'custom') return { range, from: from ?? start, to: to ?? end }
  const startIn = (zone: Zone) => resolvePeriod({ range }, Date.parse(start) + 1, '7d', zone).start
  return startIn(timeZone()) === startIn('utc') ? { range } : { range: 'custom', from: start, to: end }
}

interface Span {
  /** Unix milliseconds. */
  readonly start: number
  readonly end: number
}

/** An hour or a day as an address says it, as far as it is in the period. */
export function clippedSpan(span: Span, period: Pick<Period, 'start' | 'end'>): PeriodSearch {
  const start = Math.max(span.start, Date.parse(period.start))
  const end = Math.min(span.end, Date.parse(period.end))
  return { range: 'custom', from: new Date(start).toISOString(), to: new Date(end).toISOString() }
}

/** Unknown fields are other views' business. */
export function requestsTarget(search: Readonly<Record<string, string | undefined>>): LinkTarget {
  return { to: '/requests', search }
}
