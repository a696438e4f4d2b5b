/** A minute of failure and half a minute of caution after it: slow. Runs on one database: this is about a provider. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { PRESSURE_LIMITS } from '../../src/telemetry/pressure.ts'
import { type OutageModel, startOutage } from './kit/outage.ts'

/**
 * Longer than a multiple of the breaker's half minute, so that it is closed to the provider when that is well again. Both
 * models together have fewer under way than an overloaded process has, since a busy machine must not add rejections.
 */
const LOAD = { perSecond: 20, forMs: 65_000, atLeast: 0, atOnce: PRESSURE_LIMITS.completions / 2 - 1 }
const RECOVERED_WITHIN_MS = 35_000

/** As it is unless the operator says otherwise. */
const outage = await startOutage({ failures: 5, open_ms: 30_000 })
after(() => outage.faulted.stop())

suite('F5: a minute of nothing but 500, at 20 requests a second for each model', { concurrency: true }, () => {
  const MODELS: readonly (readonly [model: OutageModel, share: number])[] = [
    ['alone', 1.2],
    ['pair', 0.05],
  ]
  const failed = Promise.all(MODELS.map(([name]) => outage.fail(name, LOAD)))
  for (const [index, [name, share]] of MODELS.entries()) {
    test(`F5, UP-2, UP-4: ${name}: load at most ${share} times the offered one, served 35 s after recovery`, async () => {
      const figures = (await failed)[index]
      assert.ok(figures)
      const { offered, load, outcomes } = figures
      const recoveredMs = await outage.recover(name, RECOVERED_WITHIN_MS)
      console.log(`F5 ${name}: ${JSON.stringify({ offered, load, outcomes, recoveredMs })}`)
      assert.ok(load <= share * offered + 3, `${load} calls of ${offered} requests`)
      if (name === 'pair') assert.deepEqual(outcomes, { 200: offered })
      assert.ok(recoveredMs, 'it serves again')
    })
  }
})

test('F5, INV-4, INV-6: failed requests were free, answered ones were charged once', () =>
  outage.faulted.assertAgreement())
