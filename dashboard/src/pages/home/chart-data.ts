/** From the API's sums to the points of charts. */
import type { Period } from '../../lib/period.ts'
import { formatDate, formatTime, type Zone } from '../../lib/time.ts'

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
const WIDTH_MS: Readonly<Record<Interval, number>> = { hour: HOUR_MS, day: 24 * HOUR_MS }

/** The first moments of the hours or days (of UTC) of a period, those without a request included. */
export function bucketsOf({ start, end }: Pick<Period, 'start' | 'end'>, interval: Interval): readonly number[] {
  const width = WIDTH_MS[interval]
  const first = Math.floor(Date.parse(start) / width) * width
  const count = Math.max(0, Math.ceil((Date.parse(end) - first) / width))
  return Array.from({ length: count }, (_, index) => first + index * width)
}

/** `14:00`, `Nov 3`, and both where the hours of several days stand side by side. */
export function bucketLabel(at: number, interval: Interval, { zone, withDay = false }: LabelOptions): string {
  const iso = new Date(at).toISOString()
  if (interval === 'day') return shortDay(iso, 'utc')
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

/** Every bucket of the period; requests and cost by the rows' keys, tokens as `input` and `output` of all of them. */
export function amountsOf(
  rows: readonly Row[],
  period: Pick<Period, 'start' | 'end'>,
  options: AmountOptions,
): Amounts {
  const { interval, zone } = options
  const byBucket = Map.groupBy(rows, ({ at }) => Date.parse(at))
  const buckets = bucketsOf(period, interval).map((at) => ({
    at: new Date(at).toISOString(),
    label: bucketLabel(at, interval, { zone }),
    rows: byBucket.get(at) ?? [],
  }))
  const points = (values: (rows: readonly Row[]) => Record<string, number>): readonly Point[] =>
    buckets.map(({ at, label, rows }) => ({ at, label, values: values(rows) }))
  return {
    requests: points((rows) => Object.fromEntries(rows.map(({ key, requests }) => [key, requests]))),
    tokens: points((rows) => ({
      input: rows.reduce((sum, { prompt_tokens: tokens }) => sum + tokens, 0),
      output: rows.reduce((sum, { completion_tokens: tokens }) => sum + tokens, 0),
    })),
    cost: points((rows) => Object.fromEntries(rows.map(({ key, cost_usd: cost }) => [key, cost]))),
  }
}

interface AmountOptions {
  readonly interval: Interval
  readonly zone: Zone
}

/** The models of the rows, those that come first in `order` first; the sum of all that have no place of their own last. */
export function seriesOf(rows: readonly Row[], order: readonly string[]) {
  const keys = new Set(rows.map(({ key }) => key))
  const named = [...new Set([...order, ...keys])].filter((key) => key !== '' && keys.has(key))
  const series = named.map((key) => ({ key, label: key }))
  return keys.has('') ? [...series, { key: '', label: 'Other models' }] : series
}

/** Of an hour, as `GET /v1/usage/performance` has them. */
export interface Hour {
  readonly at: string
  readonly first_byte_ms_p50: number | null
  readonly first_byte_ms_p95: number | null
  readonly requests: number
}

/** Hours without a stream are there, without values, so that time is to scale. */
export function latencyPoints(hours: readonly Hour[], period: Pick<Period, 'start' | 'end'>, zone: Zone) {
  const byHour = new Map(hours.map((hour) => [Date.parse(hour.at), hour]))
  const buckets = bucketsOf(period, 'hour')
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

const DAY_MS = 24 * HOUR_MS

/**
 * How long the credit lasts if it is spent as in the period.
 * @param now Unix milliseconds: what of the period is still to come has not been spent in.
 * @returns Days; undefined where nothing was spent.
 */
export function daysLeft(
  remainingUsd: number,
  spentUsd: number,
  { start, end, now }: Pick<Period, 'start' | 'end'> & { readonly now: number },
): number | undefined {
  const passedMs = Math.min(now, Date.parse(end)) - Date.parse(start)
  if (spentUsd <= 0 || passedMs <= 0) return undefined
  return Math.max(0, remainingUsd / spentUsd) * (passedMs / DAY_MS)
}
