/** Least squares over samples in time, to detect growth. */

export interface Sample {
  readonly x: number
  readonly y: number
}

export interface Slope {
  /** Change of `y` per unit of `x`. */
  readonly slope: number
  /** Half-width of the 95 % confidence interval, for independent errors. */
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
