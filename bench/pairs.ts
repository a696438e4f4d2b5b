/**
 * Compares a measurement alone with the same one beside a load. The order alternates from pair to pair, so that drift of the
 * machine affects both; the same number of pairs without the load shows how much two equal runs differ here.
 */
import { percentile } from './processes.ts'

export interface Pairs {
  readonly count: number
  /** Each returns a p99 in milliseconds. */
  readonly alone: () => Promise<number>
  readonly beside: () => Promise<number>
  /** Names the load in the output, such as `in a crowd`. */
  readonly load: string
}

/** Prints every pair. @returns the median ratio of `beside` to `alone`. */
export async function comparePairs({ count, alone, beside, load }: Pairs): Promise<number> {
  const [loaded, equal]: [number[], number[]] = [[], []]
  console.log('p99 of the first byte, ms, of which the provider takes 50:')
  console.log(`         alone, ${load}, change | alone, alone, change`)
  for (let pair = 0; pair < count; pair++) {
    const isAloneFirst = pair % 2 === 0
    const [first, second] = isAloneFirst ? [alone, beside] : [beside, alone]
    const times = [await first(), await second()]
    const [without = 0, withLoad = 0] = isAloneFirst ? times : times.toReversed()
    const [one, other] = [await alone(), await alone()]
    loaded.push(withLoad / without)
    equal.push(other / one)
    console.log(`pair ${pair + 1}:  ${cells(without, withLoad)}   | ${cells(one, other)}`)
  }
  const [ratio, noise] = [percentile(loaded, 50), percentile(equal, 50)]
  console.log(`median of ${count} pairs: ${percent(ratio)} ${load}, ${percent(noise)} between equal runs\n`)
  return ratio
}

function cells(before: number, after: number): string {
  return `${before.toFixed(2).padStart(8)} ${after.toFixed(2).padStart(8)} ${percent(after / before).padStart(8)}`
}

function percent(ratio: number): string {
  return `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(1)} %`
}
