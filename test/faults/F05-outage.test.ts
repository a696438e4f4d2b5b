/** Runs on one database: this is about a provider. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { startOutage } from './kit/outage.ts'

const FAILURES = 5
const OPEN_MS = 400
const LOAD = { perSecond: 100, forMs: 1000, atLeast: 80, atOnce: 10 }
/** The breaker's, a request's, and a machine's that is busy. */
const RECOVERED_WITHIN_MS = 60_000

const outage = await startOutage({ failures: FAILURES, open_ms: OPEN_MS })
after(() => outage.faulted.stop())

suite('F5: a provider that answers nothing but 500', () => {
  test('F5, UP-2, UP-4: without another provider it receives at most 1.2 times the offered load, and serves soon after recovery', async () => {
    const { offered, load, outcomes } = await outage.fail('alone', LOAD)
    assert.ok(load <= 1.2 * offered + 3, `${load} calls of ${offered} requests`)
    assert.deepEqual(Object.keys(outcomes), ['provider_error'])
    assert.notEqual((await outage.faulted.deployment('failing', 'up-alone'))?.breaker, 'closed')
    assert.ok(await outage.recover('alone', RECOVERED_WITHIN_MS), 'it serves again')
    assert.equal((await outage.faulted.deployment('failing', 'up-alone'))?.breaker, 'closed')
  })

  test('F5, UP-2, UP-4: with another provider no client notices, and the failing one receives only probes', async () => {
    const { offered, load, outcomes, elapsedMs } = await outage.fail('pair', LOAD)
    assert.deepEqual(outcomes, { 200: offered })
    // Those that open the breaker, those under way with them, and a probe at every opening.
    const most = FAILURES + LOAD.atOnce + Math.ceil(elapsedMs / (OPEN_MS / 2))
    assert.ok(load <= most, `${load} calls of ${offered} requests in ${elapsedMs} ms`)
    assert.notEqual((await outage.faulted.deployment('failing', 'up-pair'))?.breaker, 'closed')
    assert.ok(await outage.recover('pair', RECOVERED_WITHIN_MS), 'it serves again')
    assert.equal((await outage.faulted.deployment('failing', 'up-pair'))?.breaker, 'closed')
  })

  test('F5, INV-4, INV-6: failed requests were free, answered ones were charged once', () =>
    outage.faulted.assertAgreement())
})
