import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createInFlight, createLruCache, createRotation } from './collections.ts'

test('it holds the entries that were used last, and never more than its capacity', () => {
  const command = fc.tuple(fc.constantFrom('get', 'set', 'delete'), fc.constantFrom(...'abcdef'))
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(command), (capacity, commands) => {
      const cache = createLruCache<number>(capacity)
      let model: [string, number][] = [] // the oldest first
      for (const [index, [name, key]] of commands.entries()) {
        const entry = model.find(([other]) => other === key)
        const rest = model.filter(([other]) => other !== key)
        if (name === 'get') {
          assert.equal(cache.get(key), entry?.[1])
          model = entry === undefined ? rest : [...rest, entry]
        } else if (name === 'set') {
          cache.set(key, index)
          model = [...rest, [key, index] as [string, number]].slice(-capacity)
        } else {
          cache.delete(key)
          model = rest
        }
        assert.deepEqual([...cache.entries()], model)
        assert.equal(cache.size, model.length)
      }
      cache.clear()
      assert.equal(cache.size, 0)
    }),
  )
})

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

test('each owner is served once before any is served again, in the order of its items', () => {
  const rotation = createRotation<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) rotation.add(item.slice(0, 1), item)
  assert.equal(rotation.size, 6)
  assert.deepEqual([rotation.take(), rotation.take()], ['a1', 'b1'])
  rotation.add('d', 'd1')
  assert.deepEqual(
    Array.from({ length: 6 }, () => rotation.take()),
    ['c1', 'a2', 'b2', 'd1', 'a3', undefined],
  )
  assert.equal(rotation.size, 0)
})
