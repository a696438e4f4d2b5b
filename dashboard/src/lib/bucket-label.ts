import type { Zone } from './time.ts'

const LOCALE = 'en-US'

export interface BucketScale {
  readonly interval: 'minute' | 'hour' | 'day'
  /** Whether all of them are in one day, which then need not be said. */
  readonly isOneDay: boolean
  readonly zone: Zone
}

/** When a bucket of time begins: `Nov 22`, `11:00`, `Nov 22, 11:00`. Days are those of UTC. */
export function bucketLabel(at: number, { interval, isOneDay, zone }: BucketScale): string {
  const day = { month: 'short', day: 'numeric' } as const
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const options: Intl.DateTimeFormatOptions = interval === 'day' ? day : { ...(isOneDay ? {} : day), ...time }
  const isUtc = interval === 'day' || zone === 'utc'
  return new Intl.DateTimeFormat(LOCALE, isUtc ? { ...options, timeZone: 'UTC' } : options).format(at)
}
