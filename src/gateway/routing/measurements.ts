/**
 * How fast deployments answer: percentiles over about five minutes, in which an answer counts half as much each minute.
 * Recording takes no search and no allocation; reading goes over a fixed number of buckets.
 */

/** Older measurements say nothing any more. */
export const WINDOW_MS = 5 * 60_000
const HALF_LIFE_MS = 60_000
/** From 1 to about 4 million, 8 % apart. */
const BUCKETS = 200
const LOG_STEP = Math.log(1.08)
/** Weights grow with time; they are scaled down before they overflow. */
const SCALED_AT_EXPONENT = 500

/** Of positive figures: milliseconds, or tokens a second. */
export interface Percentiles {
  readonly weights: Float64Array
  /** Monotonic milliseconds at which a measurement weighs 1. */
  epoch: number
  /** Monotonic milliseconds of the last one. */
  lastAt: number
}

export function createPercentiles(): Percentiles {
  return { weights: new Float64Array(BUCKETS), epoch: 0, lastAt: Number.NEGATIVE_INFINITY }
}

/** @param now Monotonic milliseconds. */
export function record(percentiles: Percentiles, value: number, now: number): void {
  const { weights } = percentiles
  let exponent = (now - percentiles.epoch) / HALF_LIFE_MS
  if (exponent > SCALED_AT_EXPONENT) {
    const scale = 2 ** -exponent
    for (let at = 0; at < BUCKETS; at++) weights[at] = (weights[at] ?? 0) * scale
    percentiles.epoch = now
    exponent = 0
  }
  const bucket = Math.min(BUCKETS - 1, Math.max(0, Math.round(Math.log(Math.max(1, value)) / LOG_STEP)))
  weights[bucket] = (weights[bucket] ?? 0) + 2 ** exponent
  percentiles.lastAt = now
}

/** Within 4 % of the percentile; undefined where nothing was measured within the window. @param share Between 0 and 1. */
export function percentile({ weights, lastAt }: Percentiles, share: number, now: number): number | undefined {
  if (now - lastAt > WINDOW_MS) return undefined
  let total = 0
  for (const weight of weights) total += weight
  let left = total * share
  for (let at = 0; at < BUCKETS; at++) {
    left -= weights[at] ?? 0
    if (left <= 0) return Math.exp(at * LOG_STEP)
  }
  return undefined
}

/** What is measured of one deployment. */
export interface Measurements {
  /** Milliseconds to the first event of a stream. */
  readonly firstEvent: Percentiles
  /** Milliseconds to the end of an answer that is not streamed. */
  readonly wholeAnswer: Percentiles
  /** Tokens a second. */
  readonly speed: Percentiles
}

export function createMeasurements(): Measurements {
  return { firstEvent: createPercentiles(), wholeAnswer: createPercentiles(), speed: createPercentiles() }
}

interface Reading {
  readonly stream: boolean
  /** Monotonic milliseconds. */
  readonly now: number
}

/** The median in milliseconds; of answers of the other kind where there were none of this one. */
export function latencyMs({ firstEvent, wholeAnswer }: Measurements, { stream, now }: Reading): number | undefined {
  const [own, other] = stream ? [firstEvent, wholeAnswer] : [wholeAnswer, firstEvent]
  return percentile(own, 0.5, now) ?? percentile(other, 0.5, now)
}

/** The median in tokens a second. */
export function tokensPerSecond({ speed }: Measurements, now: number): number | undefined {
  return percentile(speed, 0.5, now)
}

/** Shorter answers say little about speed. */
const LEAST_TOKENS = 16

interface Generated {
  readonly tokens: number
  /** From the first event of a stream, or the call of a whole answer, to the end. */
  readonly ms: number
  /** Monotonic milliseconds. */
  readonly now: number
}

export function recordSpeed({ speed }: Measurements, { tokens, ms, now }: Generated): void {
  if (tokens >= LEAST_TOKENS && ms > 0) record(speed, (tokens / ms) * 1000, now)
}
