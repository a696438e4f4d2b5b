/** The last 24 hours of something that is called: how each of them went, and all of them in one sentence. */
import { formatCount, plural } from '../lib/format.ts'
import { formatTime, type Zone } from '../lib/time.ts'

const HOUR_MS = 3_600_000
const HOURS = 24

/** Of an hour, as `GET /v1/usage/performance` has them in its groups. */
export interface UptimeHour {
  /** ISO 8601: the first moment of an hour of UTC. */
  readonly at: string
  readonly requests: number
  readonly failed: number
}

/** Share of failures above which an hour, and what is called, are degraded: the gateway's threshold for providers. */
export const DEGRADED_SHARE = 0.05
const MOST_SHARE = 0.5

/** `some`: degraded; `most`: more than half of them failed, or it is down since. */
export type UptimeState = 'well' | 'some' | 'most' | 'none'

export interface UptimeCell extends UptimeHour {
  /** `14:00` */
  readonly label: string
  readonly state: UptimeState
}

export interface UptimeOptions {
  /** Unix milliseconds: the last cell is the hour that this lies in. */
  readonly now: number
  readonly zone: Zone
  /** ISO 8601: the last failure of what is down. */
  readonly downSince?: string | undefined
}

/** @param hours Those without a request may be absent. @returns One for each hour, the oldest first. */
export function uptimeCells(hours: readonly UptimeHour[], options: UptimeOptions): readonly UptimeCell[] {
  const { now, zone, downSince } = options
  const downAt = downSince === undefined ? undefined : Math.floor(Date.parse(downSince) / HOUR_MS) * HOUR_MS
  const byHour = new Map(hours.map((hour) => [Date.parse(hour.at), hour]))
  const first = (Math.floor(now / HOUR_MS) - HOURS + 1) * HOUR_MS
  return Array.from({ length: HOURS }, (_, index) => {
    const time = first + index * HOUR_MS
    const at = new Date(time).toISOString()
    const { requests = 0, failed = 0 } = byHour.get(time) ?? {}
    const state = time === downAt ? 'most' : stateOf(requests, failed)
    return { at, label: formatTime(at, zone), requests, failed, state }
  })
}

function stateOf(requests: number, failed: number): UptimeState {
  if (requests === 0) return 'none'
  if (failed <= requests * DEGRADED_SHARE) return 'well'
  return failed > requests * MOST_SHARE ? 'most' : 'some'
}

/** `14:00: 12 of 40 failed` */
export function cellText({ label, state, requests, failed }: UptimeCell): string {
  switch (state) {
    case 'none':
      return `${label}: no requests`
    case 'well':
    case 'some':
    case 'most': {
      const none = `${plural(requests, 'request')}, none failed`
      return `${label}: ${failed === 0 ? none : failedText({ requests, failed })}`
    }
  }
}

/** `Last 24 hours: 3 of 24 hours with failures, the worst at 14:00, 12 of 40 failed` */
export function uptimeSentence(cells: readonly UptimeCell[]): string {
  const used = cells.filter(({ requests }) => requests > 0).length
  const none = used === 0 ? 'no requests' : `no failures, requests in ${plural(used, 'hour')}`
  return `Last ${plural(cells.length, 'hour')}: ${failuresText(cells) ?? none}`
}

/** `3 of 24 hours with failures, the worst at 14:00, 12 of 40 failed`: by its share. Undefined: there were none. */
export function failuresText(cells: readonly UptimeCell[]): string | undefined {
  const [first, ...others] = cells.filter(({ failed }) => failed > 0)
  if (first === undefined) return undefined
  const worst = others.reduce((one, other) => (isWorse(other, one) ? other : one), first)
  const count = `${others.length + 1} of ${plural(cells.length, 'hour')} with failures`
  return `${count}, ${others.length === 0 ? 'at' : 'the worst at'} ${worst.label}, ${failedText(worst)}`
}

type Counts = Pick<UptimeHour, 'requests' | 'failed'>

function isWorse(one: Counts, other: Counts): boolean {
  const [here, there] = [one.failed / one.requests, other.failed / other.requests]
  return here > there || (here === there && one.failed > other.failed)
}

function failedText({ requests, failed }: Counts): string {
  return `${formatCount(failed)} of ${formatCount(requests)} failed`
}
