/**
 * Whether a reader's time grows linearly with what it reads. Measured in CPU time of this thread, as the best of several
 * runs, and again before a fault counts: what else the machine does is not in it.
 */

const SIZE = 16 * 1024
/** Of `SIZE`, and in proportion of larger ones. The machine of a test may be slow; what is quadratic takes seconds. */
const MAX_MS = 50 * 5
/** What is faster has no growth that can be measured. */
const LEAST_MS = 20
const MAX_GROWTH = 2.5
/**
 * Garbage collection and the clock of a thread, which may advance in steps of 4 ms, make single doublings more expensive; four of
 * them in a row show what neither can explain.
 */
const CONFIRMED_DOUBLINGS = 4
/** Of each: what no longer fits the caches of a processor may grow by half more; what is quadratic grows fourfold. */
const CONFIRMED_GROWTH = 3
const ROUNDS = 3
const ATTEMPTS = 4

/** May return a promise. */
export type Run = () => unknown

/** Milliseconds of this thread's own time, the best of several; what is at most `enough` is not measured again. */
async function timeOf(run: Run, rounds: number, enough = 0): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds && best > enough; round += 1) {
    const before = process.threadCpuUsage()
    try {
      await run()
    } catch (error) {
      // A refusal is an answer, too; but an overflow of the stack would be one without a reason that a client can read.
      if (error instanceof RangeError) throw error
    }
    const { user, system } = process.threadCpuUsage(before)
    best = Math.min(best, (user + system) / 1_000)
  }
  return best
}

/**
 * @param make Builds an input of about so many characters, and returns what reads it.
 * @param size Of the smaller input; the larger one has twice as many.
 * @returns What is wrong with its times; undefined: nothing.
 */
export async function linearityFault(make: (size: number) => Run, size = SIZE): Promise<string | undefined> {
  const large = make(2 * size)
  const first = await timeOf(large, 1)
  // Most inputs end here, and most others with one look at the smaller one: only what seems slow is measured again.
  if (first < LEAST_MS) return undefined
  const small = make(size)
  const maxMs = MAX_MS * Math.max(1, size / SIZE)
  const once = await timeOf(small, 1)
  if (once > 4 * maxMs) return `${once.toFixed(0)} ms`
  if (once <= maxMs && isLinear(once, first)) return undefined
  let fault: string | undefined
  let fastest = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const one = await timeOf(small, ROUNDS)
    const two = await timeOf(large, ROUNDS, linearAfter(one))
    if (one <= maxMs && isLinear(one, two)) return undefined
    // A limit that lies between the two sizes is a step, which the next doubling does not have.
    const four = one <= maxMs ? await timeOf(make(4 * size), ROUNDS, linearAfter(two)) : Number.POSITIVE_INFINITY
    if (isLinear(two, four)) return undefined
    fault = `${one.toFixed(1)} ms, twice as long ${two.toFixed(1)} ms, four times ${four.toFixed(1)} ms`
    fastest = Math.min(fastest, one)
  }
  if (fastest > maxMs) return fault
  const huge = await timeOf(make(2 ** CONFIRMED_DOUBLINGS * size), 1)
  return huge <= CONFIRMED_GROWTH ** CONFIRMED_DOUBLINGS * fastest
    ? undefined
    : `${fault}, sixteen times ${huge.toFixed(0)} ms`
}

function isLinear(one: number, two: number): boolean {
  return two <= linearAfter(one)
}

/** Of twice as much, at most. */
function linearAfter(one: number): number {
  return Math.max(LEAST_MS, MAX_GROWTH * one)
}

/** The unit again and again, to at least `size` characters. */
export function repeated(unit: string, size: number): string {
  return unit.repeat(Math.ceil(size / unit.length))
}

/** So many items as have about `size` characters as JSON. */
export function items<T>(size: number, make: (at: number) => T): T[] {
  const length = Math.max(1, JSON.stringify(make(1_000)).length + 1)
  return Array.from({ length: Math.ceil(size / length) }, (_, at) => make(at))
}
