import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createInFlight } from './in-flight.ts'

test('it holds exactly what was added and not taken off, however often something is taken off', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 20 })), (steps) => {
      const inFlight = createInFlight<number>()
      const removals: (() => void)[] = []
      const model = new Set<number>()
      for (const [number, step] of steps.entries()) {
        const remove = removals[step]
        if (remove === undefined) {
          model.add(removals.length)
          removals.push(inFlight.add(removals.length))
        } else {
          remove()
          model.delete(step)
        }
        assert.deepEqual([...inFlight.items()].sort(), [...model].sort(), `after step ${number}`)
        assert.equal(inFlight.size, model.size)
      }
    }),
  )
})
