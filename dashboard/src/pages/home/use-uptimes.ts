import { useQuery } from '@tanstack/react-query'
import { useNow, useTimeZone } from '../../ui/time-zone.ts'
import { firstKnownHour, type UptimeCell, uptimeCells } from '../../ui/uptime-strip-cells.ts'
import { performanceQuery } from './queries.ts'
import type { HomeRange } from './search.ts'
import { measuredPeriods, useHomePeriods } from './use-home-period.ts'

export interface Uptimes {
  readonly isLoading: boolean
  /** By the provider's name; undefined where nothing is known. */
  readonly cellsOf: ((name: string) => readonly UptimeCell[]) | undefined
}

/**
 * The last 24 hours of each provider, out of what the chart of first tokens asks: every range ends now.
 * @param range Undefined: nothing is asked.
 */
export function useUptimes(range: HomeRange | undefined): Uptimes {
  const { period } = measuredPeriods(useHomePeriods(range ?? '24h'))
  const { data, isLoading } = useQuery({ ...performanceQuery(period), enabled: range !== undefined })
  const zone = useTimeZone()
  const now = useNow()
  if (data === undefined) return { isLoading, cellsOf: undefined }
  const hours = new Map(data.groups.map((group) => [group.key, group.hours]))
  const options = { now, zone, knownFrom: firstKnownHour(data) }
  return { isLoading, cellsOf: (name) => uptimeCells(hours.get(name) ?? [], options) }
}
