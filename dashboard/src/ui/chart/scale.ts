/** From values to heights, and the round numbers that an axis shows. */

export interface Domain {
  /** 0, or less where values are negative. */
  readonly min: number
  readonly max: number
}

const STEPS = [1, 2, 2.5, 5, 10] as const

/**
 * Round numbers, evenly apart, from at or below the least value to at or above the greatest; zero is one of them.
 * @param count About how many intervals there is room for.
 * @param isWhole Of things that cannot be halved: no step is smaller than 1.
 */
export function niceTicks({ min, max }: Domain, count: number, isWhole = false): readonly number[] {
  const low = Math.min(0, min)
  const high = Math.max(0, max)
  if (low === high) return isWhole || high === 0 ? [0, 1] : [low, high]
  const step = niceStep((high - low) / Math.max(1, count), isWhole)
  const first = Math.floor(tidy(low / step))
  const last = Math.ceil(tidy(high / step))
  return Array.from({ length: last - first + 1 }, (_, index) => tidy((first + index) * step))
}

function niceStep(rough: number, isWhole: boolean): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = STEPS.find((candidate) => candidate >= tidy(rough / power)) ?? 10
  const step = tidy(factor * power)
  return isWhole ? Math.max(1, Math.ceil(step)) : step
}

/** Without what binary fractions leave behind: 0.1 × 3 is 0.3. */
function tidy(value: number): number {
  return Number(value.toPrecision(12))
}

/** The distance of a value from the top of a plot that is `height` high. */
export function heightScale({ min, max }: Domain, height: number): (value: number) => number {
  const span = max - min || 1
  return (value) => height - ((value - min) / span) * height
}

export function domainOf(ticks: readonly number[]): Domain {
  return { min: ticks[0] ?? 0, max: ticks.at(-1) ?? 1 }
}
