/**
 * The speed of deployments: percentiles over about five minutes, with weights that halve each minute. Recording needs
 * neither search nor allocation; reading visits a fixed number of buckets. Processes that share Redis exchange their
 * measurements every few seconds.
 */

/** Older measurements do not count. */
export const WINDOW_MS = 5 * 60_000
const HALF_LIFE_MS = 60_000
/** Buckets from 1 to about 4 million, each 8 % wider than the one before. */
const BUCKETS = 200
const LOG_STEP = Math.log(1.08)
/** Weights grow with time and are scaled down before they overflow. */
const SCALED_AT_EXPONENT = 500

/** Percentiles of positive figures: milliseconds, or tokens a second. */
export interface Percentiles {
  readonly weights: Float64Array
  /** Monotonic milliseconds at which a measurement has weight 1. */
  epoch: number
  /** Monotonic milliseconds of the last measurement. */
  lastAt: number
  /** The measurements of other processes, replaced as a whole. Undefined if there are none. */
  others: Others | undefined
}

interface Others {
  /** The weights at the time `at`. */
  readonly weights: Float64Array
  /** Monotonic milliseconds of this process. */
  readonly at: number
  readonly lastAt: number
}

export function createPercentiles(): Percentiles {
  return { weights: new Float64Array(BUCKETS), epoch: 0, lastAt: Number.NEGATIVE_INFINITY, others: undefined }
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

/**
 * Returns the percentile within 4 %. Undefined if nothing was measured within the window.
 * @param share A number from 0 to 1.
 */
export function percentile(percentiles: Percentiles, share: number, now: number): number | undefined {
  const { weights, epoch, lastAt, others } = percentiles
  if (now - Math.max(lastAt, others?.lastAt ?? lastAt) > WINDOW_MS) return undefined
  const own = 2 ** ((epoch - now) / HALF_LIFE_MS)
  const other = others === undefined ? 0 : 2 ** ((others.at - now) / HALF_LIFE_MS)
  const weightAt = (at: number) => (weights[at] ?? 0) * own + (others?.weights[at] ?? 0) * other
  let total = 0
  for (let at = 0; at < BUCKETS; at++) total += weightAt(at)
  let left = total * share
  for (let at = 0; at < BUCKETS; at++) {
    left -= weightAt(at)
    if (left <= 0) return Math.exp(at * LOG_STEP)
  }
  return undefined
}

/**
 * The measurements of one process for others: milliseconds since the last one, then buckets with their current
 * weights.
 */
export type Snapshot = readonly [sinceLastMs: number, ...buckets: (readonly [bucket: number, weight: number])[]]

const LEAST_WEIGHT = 0.001

/** Undefined if nothing was measured within the window. */
export function snapshotOf({ weights, epoch, lastAt }: Percentiles, now: number): Snapshot | undefined {
  if (now - lastAt > WINDOW_MS) return undefined
  const scale = 2 ** ((epoch - now) / HALF_LIFE_MS)
  const buckets: (readonly [number, number])[] = []
  for (let at = 0; at < BUCKETS; at++) {
    const weight = (weights[at] ?? 0) * scale
    if (weight >= LEAST_WEIGHT) buckets.push([at, Number(weight.toPrecision(3))])
  }
  return [Math.round(now - lastAt), ...buckets]
}

/** Replaces the measurements of other processes. @param snapshots Each with its age in milliseconds. */
export function setOthers(
  percentiles: Percentiles,
  snapshots: readonly { readonly ageMs: number; readonly snapshot: Snapshot }[],
  now: number,
): void {
  const weights = new Float64Array(BUCKETS)
  let lastAt = Number.NEGATIVE_INFINITY
  for (const { ageMs, snapshot } of snapshots) {
    const [sinceLastMs, ...buckets] = snapshot
    const scale = 2 ** (-ageMs / HALF_LIFE_MS)
    for (const [at, weight] of buckets) weights[at] = (weights[at] ?? 0) + weight * scale
    lastAt = Math.max(lastAt, now - ageMs - sinceLastMs)
  }
  percentiles.others = snapshots.length === 0 ? undefined : { weights, at: now, lastAt }
}

/** The measurements of one deployment. */
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

/** Returns the median in milliseconds; of answers of the other kind if this kind has none. */
export function latencyMs({ firstEvent, wholeAnswer }: Measurements, { stream, now }: Reading): number | undefined {
  const [own, other] = stream ? [firstEvent, wholeAnswer] : [wholeAnswer, firstEvent]
  return percentile(own, 0.5, now) ?? percentile(other, 0.5, now)
}

/** Returns the median in tokens a second. */
export function tokensPerSecond({ speed }: Measurements, now: number): number | undefined {
  return percentile(speed, 0.5, now)
}

/** The fewest tokens of an answer that counts: shorter ones say little about speed. */
const LEAST_TOKENS = 16

interface Generated {
  readonly tokens: number
  /** Milliseconds from the first event of a stream, or from the call of a whole answer, to its end. */
  readonly ms: number
  /** Monotonic milliseconds. */
  readonly now: number
}

export function recordSpeed({ speed }: Measurements, { tokens, ms, now }: Generated): void {
  if (tokens >= LEAST_TOKENS && ms > 0) record(speed, (tokens / ms) * 1000, now)
}
