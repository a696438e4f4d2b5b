/** From the API's sums to the points of charts. */

import { modelColors } from '../../lib/model-colors.ts'
import { sumUsd } from '../../lib/money.ts'
import type { Period } from '../../lib/period.ts'
import { formatDate, formatTime, startOfDay, type Zone } from '../../lib/time.ts'

export interface Point {
  readonly at: string
  readonly label: string
  readonly values: Readonly<Record<string, number>>
}

export type Interval = 'hour' | 'day'

/** Of a group and an hour or a day, as `GET /v1/usage` has them in `series`. */
export interface Row {
  readonly at: string
  readonly key: string
  readonly requests: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost_usd: number
}

const HOUR_MS = 3_600_000

interface Buckets {
  readonly interval: Interval
  readonly zone: Zone
  /** Unix milliseconds: what has not begun is left out. */
  readonly now: number
}

/** The first moments of the hours, or of the days of the zone, of a period; those without a request included. */
export function bucketsOf(
  { start, end }: Pick<Period, 'start' | 'end'>,
  { interval, zone, now }: Buckets,
): readonly number[] {
  const last = Math.min(Date.parse(end) - 1, now)
  const next = (at: number) => (interval === 'day' ? startOfDay(at, zone, { days: 1 }) : at + HOUR_MS)
  const buckets: number[] = []
  for (let at = Date.parse(start); at <= last; at = next(at)) buckets.push(at)
  return buckets
}

/** `14:00`, `Nov 3`, and both where the hours of several days stand side by side. */
export function bucketLabel(at: number, interval: Interval, { zone, withDay = false }: LabelOptions): string {
  const iso = new Date(at).toISOString()
  if (interval === 'day') return shortDay(iso, zone)
  return withDay ? `${shortDay(iso, zone)}, ${formatTime(iso, zone)}` : formatTime(iso, zone)
}

interface LabelOptions {
  readonly zone: Zone
  readonly withDay?: boolean
}

/** Without the year, of which there is no doubt in a period that ends now. */
function shortDay(iso: string, zone: Zone): string {
  return formatDate(iso, zone).replace(/, \d{4}$/, '')
}

export interface Amounts {
  readonly requests: readonly Point[]
  readonly tokens: readonly Point[]
  readonly cost: readonly Point[]
}

/**
 * Every bucket of the period; requests and cost by the rows' keys, tokens as `input` and `output` of all of them. A row,
 * which is an hour's, belongs to the bucket that it begins in.
 */
export function amountsOf(rows: readonly Row[], period: Pick<Period, 'start' | 'end'>, options: Buckets): Amounts {
  const { interval, zone } = options
  const bucketAt = (at: number) => (interval === 'day' ? startOfDay(at, zone, { days: 0 }) : at)
  const byBucket = Map.groupBy(rows, ({ at }) => bucketAt(Date.parse(at)))
  const buckets = bucketsOf(period, options).map((at) => ({
    at: new Date(at).toISOString(),
    label: bucketLabel(at, interval, { zone }),
    rows: byBucket.get(at) ?? [],
  }))
  const points = (values: (rows: readonly Row[]) => Record<string, number>): readonly Point[] =>
    buckets.map(({ at, label, rows }) => ({ at, label, values: values(rows) }))
  return {
    requests: points((rows) => sumsByKey(rows, 'requests')),
    tokens: points((rows) => ({
      input: rows.reduce((sum, { prompt_tokens: tokens }) => sum + tokens, 0),
      output: rows.reduce((sum, { completion_tokens: tokens }) => sum + tokens, 0),
    })),
    cost: points((rows) => sumsByKey(rows, 'cost_usd')),
  }
}

function sumsByKey(rows: readonly Row[], field: 'requests' | 'cost_usd'): Record<string, number> {
  const groups = Map.groupBy(rows, ({ key }) => key)
  return Object.fromEntries([...groups].map(([key, all]) => [key, sumUsd(all.map((row) => row[field]))]))
}

/** The models of the rows, those that come first in `order` first; the sum of all that have no place of their own last. */
export function seriesOf(rows: readonly Row[], order: readonly string[]) {
  const keys = new Set(rows.map(({ key }) => key))
  const named = [...new Set([...order, ...keys])].filter((key) => key !== '' && keys.has(key))
  const colors = modelColors(named)
  const series = named.map((key, index) => ({ key, label: key, paint: colors[index] }))
  return keys.has('') ? [...series, { key: '', label: 'Other models', paint: 'neutral' as const }] : series
}

/** Of an hour, as `GET /v1/usage/performance` has them. */
export interface Hour {
  readonly at: string
  readonly first_byte_ms_p50: number | null
  readonly first_byte_ms_p95: number | null
  readonly requests: number
}

/** Days of some zones begin within an hour. */
function wholeHours({ start, end }: Pick<Period, 'start' | 'end'>): Pick<Period, 'start' | 'end'> {
  return { start: new Date(Math.floor(Date.parse(start) / HOUR_MS) * HOUR_MS).toISOString(), end }
}

/** Hours without a stream are there, without values, so that time is to scale. */
export function latencyPoints(
  hours: readonly Hour[],
  period: Pick<Period, 'start' | 'end'>,
  { zone, now }: Omit<Buckets, 'interval'>,
) {
  const byHour = new Map(hours.map((hour) => [Date.parse(hour.at), hour]))
  const buckets = bucketsOf(wholeHours(period), { interval: 'hour', zone, now })
  const withDay = buckets.length > 24
  return buckets.map((at) => {
    const hour = byHour.get(at)
    return {
      at: new Date(at).toISOString(),
      label: bucketLabel(at, 'hour', { zone, withDay }),
      values: { p50: hour?.first_byte_ms_p50, p95: hour?.first_byte_ms_p95 },
    }
  })
}

/**
 * The usual time to the first token: of the medians of the hours the one in the middle, an hour with twice the requests
 * counting twice.
 * @returns Milliseconds; undefined where nothing was streamed.
 */
export function usualFirstByte(hours: readonly Hour[]): number | undefined {
  const known = hours
    .flatMap(({ first_byte_ms_p50: ms, requests }) => (ms === null ? [] : [{ ms, requests }]))
    .toSorted((one, other) => one.ms - other.ms)
  const half = known.reduce((sum, { requests }) => sum + requests, 0) / 2
  let passed = 0
  for (const { ms, requests } of known) {
    passed += requests
    if (passed >= half) return ms
  }
  return undefined
}

/** How much more than before, as a ratio; undefined where there was nothing before. */
export function changeOf(now: number | undefined, before: number | undefined): number | undefined {
  if (now === undefined || before === undefined || before === 0) return undefined
  return (now - before) / before
}
