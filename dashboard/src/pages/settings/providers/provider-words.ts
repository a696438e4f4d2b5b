/** The state of providers and of their models in words. */
import { formatCount, formatPercent, plural } from '../../../lib/format.ts'
import { relativeTime } from '../../../lib/time.ts'
import type { Credential, Deployment, Provider } from './queries.ts'

const SEVERITY: Readonly<Record<Provider['status'], number>> = { down: 0, degraded: 1, healthy: 2, disabled: 3 }

/** What needs somebody first; those of a state as they came. */
export function bySeverity(providers: readonly Provider[]): readonly Provider[] {
  return providers.toSorted((one, other) => SEVERITY[one.status] - SEVERITY[other.status])
}

/** Whether there is anything to tell of it: a call, a wait, or a credential that cools. */
export function hasNews({ deployments, credentials, in_flight, queued, last_24h: recent }: Provider): boolean {
  return recent.calls > 0 || deployments.length > 0 || in_flight > 0 || queued > 0 || credentials.some(isCooling)
}

export function isCooling({ cooling }: Credential): boolean {
  return cooling.length > 0
}

/** `1 down, 2 degraded, 3 healthy`: what there is none of is left out. */
export function countsText(providers: readonly Provider[]): string {
  const words = ['down', 'degraded', 'healthy', 'disabled'] as const
  return words
    .map((word) => ({ word, count: providers.filter(({ status }) => status === word).length }))
    .filter(({ count }) => count > 0)
    .map(({ word, count }) => `${count} ${word}`)
    .join(', ')
}

/** Why a model is left alone or tried, and until when; undefined where it is called as usual. */
export function breakerText({ breaker, open_until: until, failures }: Deployment, now: number): string | undefined {
  if (breaker === 'closed') return undefined
  const why = `${plural(failures, 'failure')} in a row`
  if (breaker === 'half_open') return `Breaker half-open: one test request after ${why}`
  return `Breaker open after ${why}${until === null ? '' : `, probed ${untilText(until, now)}`}`
}

/** `in 24 s`, `in 3 min`, `now`. */
export function untilText(iso: string, now: number): string {
  const leftMs = Date.parse(iso) - now
  if (leftMs <= 0) return 'with the next request'
  return leftMs < 60_000 ? `in ${Math.ceil(leftMs / 1000)} s` : relativeTime(iso, now)
}

/** `2 of 40 (5%)`, `0 of 40` */
export function failedText({ calls, failed_calls: failed }: Deployment): string {
  return shareText(failed, calls)
}

/** The same of all calls of a provider in the last 24 hours. */
export function recentText({ last_24h: { calls, failures } }: Provider): string {
  return shareText(failures, calls)
}

function shareText(failed: number, calls: number): string {
  const share = failed === 0 ? '' : ` (${formatPercent(failed / calls)})`
  return `${formatCount(failed)} of ${formatCount(calls)}${share}`
}
