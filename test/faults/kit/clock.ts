/** Time that tests move by hand, and clocks that are wrong. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'

export interface TestClock {
  /** Unix milliseconds, as the product's `now`. */
  readonly now: () => number
  /** Monotonic milliseconds from 0 on, as the product's `clock`. */
  readonly clock: () => number
  /**
   * Lets so much time pass. Timers fire in their order, each at its own time, and whatever they and their promises
   * start meanwhile takes part. `stepMs` is how long promises may wait to be looked at.
   */
  advance(ms: number, stepMs?: number): Promise<void>
}

const BEGINNING = Date.UTC(2026, 0, 1)

/** For code in the test's own process: `Date` and the global timers go by this clock until the test ends. */
export function createTestClock({ mock }: TestContext, startAt = BEGINNING): TestClock {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: startAt })
  return {
    now: () => Date.now(),
    clock: () => Date.now() - startAt,
    async advance(ms, stepMs = 10) {
      for (let left = ms; left > 0; left -= stepMs) {
        await settled()
        mock.timers.tick(Math.min(stepMs, left))
      }
      await settled()
    },
  }
}

/** Everything that waits for nothing but promises has gone on. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const SKEWED_CLOCK = pathToFileURL(join(import.meta.dirname, 'skewed-clock.ts')).href

/** Environment of a gateway process whose wall clock is wrong by so much. */
export function skewedClock(ms: number): Readonly<Record<string, string>> {
  if (ms === 0) return {}
  return { NODE_OPTIONS: `--import=${SKEWED_CLOCK}`, TURNPIKE_TEST_SKEW_MS: String(ms) }
}
