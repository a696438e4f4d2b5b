import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Histogram, Registry } from 'prom-client'
import { createHistogram } from './histogram.ts'

const BOUNDS = [0.001, 0.5, 1, 30]

/** What the library writes of the same values. */
async function reference(values: readonly (readonly [label: string, value: number])[]): Promise<string> {
  const registry = new Registry()
  const histogram = new Histogram({
    name: 'times_seconds',
    help: 'Some times.',
    buckets: BOUNDS,
    labelNames: ['kind'],
    registers: [registry],
  })
  for (const [kind, value] of values) histogram.labels(kind).observe(value)
  return (await registry.metrics()).trimEnd()
}

test('what is written is what the library writes of the same values', async () => {
  const values = fc.double({ min: 0, max: 100, noNaN: true })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(values, fc.constantFrom(...BOUNDS))), fc.array(values), async (a, b) => {
      const histogram = createHistogram({ name: 'times_seconds', help: 'Some times.', bounds: BOUNDS })
      const [addA, addB] = [histogram.series('kind="a"'), histogram.series('kind="b"')]
      for (const value of a) addA(value)
      for (const value of b) addB(value)
      const expected = [...a.map((value) => ['a', value] as const), ...b.map((value) => ['b', value] as const)]
      assert.equal(histogram.render(), await reference(expected))
    }),
  )
})

test('a series without labels is there before it has a value', () => {
  const histogram = createHistogram({ name: 'x', help: 'X.', bounds: [1] })
  const add = histogram.series('')
  const zero = [
    '# HELP x X.',
    '# TYPE x histogram',
    'x_bucket{le="1"} 0',
    'x_bucket{le="+Inf"} 0',
    'x_sum 0',
    'x_count 0',
  ]
  assert.deepEqual(histogram.render().split('\n'), zero)
  add(1)
  add(2)
  assert.match(histogram.render(), /x_bucket\{le="1"\} 1\nx_bucket\{le="\+Inf"\} 2\nx_sum 3\nx_count 2$/)
})
