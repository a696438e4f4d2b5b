/**
 * Buckets of milliseconds for histograms that are added up: eight to each power of two, named by their smallest value. The
 * middle of a bucket differs from its values by less than 7 %.
 */

const EXACT_BELOW = 16
const MAX = 2 ** 31 - 1

/** @returns The smallest value of the bucket. */
export function bucketOf(ms: number): number {
  const value = Math.min(MAX, Math.max(0, Math.round(ms)))
  return value - (value % widthOf(value))
}

/** The value that stands for all of a bucket. */
export function middleOf(bucket: number): number {
  return bucket + Math.floor((widthOf(bucket) - 1) / 2)
}

function widthOf(value: number): number {
  return value < EXACT_BELOW ? 1 : 2 ** (28 - Math.clz32(value))
}

/** `bucketOf` of a column of whole numbers, as SQL of both databases. */
export function bucketSql(column: string): string {
  const cases = Array.from({ length: 27 }, (_, index) => {
    const width = 2 ** (index + 1)
    return `when ${column} < ${width * EXACT_BELOW} then ${column} - ${column} % ${width}`
  })
  return `case when ${column} < ${EXACT_BELOW} then ${column} ${cases.join(' ')} else ${bucketOf(MAX)} end`
}

/** How often each bucket was met. */
export type Buckets = ReadonlyMap<number, number>

/**
 * @param ranks In percent.
 * @returns The nearest rank of each, as the middle of its bucket; undefined without any value.
 */
export function percentilesOf(buckets: Buckets, ranks: readonly number[]): readonly number[] | undefined {
  const sorted = [...buckets].toSorted(([one], [other]) => one - other)
  const total = sorted.reduce((sum, [, count]) => sum + count, 0)
  if (total === 0) return undefined
  return ranks.map((percent) => {
    const rank = Math.ceil((total * percent) / 100)
    let passed = 0
    const found = sorted.find(([, count]) => {
      passed += count
      return passed >= rank
    })
    return middleOf(found?.[0] ?? 0)
  })
}
