import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createVitalsMonitor } from './vitals.ts'

function monitor(t: TestContext) {
  const time = { clock: 0, cpu: 0, active: 0 }
  const vitals = createVitalsMonitor({
    activeRequests: () => time.active,
    clock: () => time.clock,
    cpuMs: () => time.cpu,
  })
  t.after(() => vitals.close())
  const after = (ms: number, cpuMs: number) => {
    time.clock += ms
    time.cpu += cpuMs
    return vitals.read()
  }
  return { time, vitals, after }
}

test('the load is CPU time of the last minute, and more than 1 when several threads work', (t) => {
  const { after } = monitor(t)
  assert.equal(after(5_000, 5_000).load, 1)
  assert.equal(after(5_000, 0).load, 0.5)
  for (let reading = 0; reading < 12; reading++) after(5_000, 10_000)
  assert.equal(after(5_000, 10_000).load, 2, 'what was before is forgotten')
})

test('a reading in the moment of the start says that nothing was done', (t) => {
  const { vitals, time } = monitor(t)
  time.active = 3
  const { load, lagMs, activeRequests } = vitals.read()
  assert.deepEqual([load, activeRequests], [0, 3])
  assert.ok(lagMs >= 0 && Number.isFinite(lagMs))
})

test('a process counts its own CPU time', (t) => {
  const vitals = createVitalsMonitor({ activeRequests: () => 0, clock: () => performance.now() })
  t.after(() => vitals.close())
  const { load } = vitals.read()
  assert.ok(load >= 0 && Number.isFinite(load))
})
