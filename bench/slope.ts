/** Least squares over samples in time: whether something grows. */

export interface Sample {
  readonly x: number
  readonly y: number
}

export interface Slope {
  /** Of `y` for one more of `x`. */
  readonly slope: number
  /** The true slope is within so much of it, in 95 of 100 cases, if samples err by themselves. */
  readonly margin: number
}

/** NaN of fewer than three samples. */
export function slopeOf(samples: readonly Sample[]): Slope {
  const count = samples.length
  const mean = (of: (sample: Sample) => number): number => samples.reduce((sum, each) => sum + of(each), 0) / count
  const [x, y] = [mean((sample) => sample.x), mean((sample) => sample.y)]
  const spread = samples.reduce((sum, sample) => sum + (sample.x - x) ** 2, 0)
  const slope = samples.reduce((sum, sample) => sum + (sample.x - x) * (sample.y - y), 0) / spread
  const errors = samples.reduce((sum, sample) => sum + (sample.y - y - slope * (sample.x - x)) ** 2, 0)
  return { slope, margin: count < 3 ? Number.NaN : 1.96 * Math.sqrt(errors / (count - 2) / spread) }
}
